"""Labels of fine-tuned models: those of the task in any order, each of them one that the model has, and finite."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from fairseq_rope_data.manifest import facts
from tests.support.tuned import Tuned, preprocess, rows, two_columns


def relabeled(tuned: Tuned, folder: Path, dictionary: str, labels: list[str]) -> Path:
    """The data of two columns with this dictionary of labels, and these of the 20 examples."""
    data = two_columns(tuned, folder)
    shutil.rmtree(data / "label")
    (folder / "labels.txt").write_text(dictionary)
    (folder / "valid.label").write_text("".join(f"{label}\n" for label in labels))
    files = ["--validpref", str(folder / "valid.label"), "--srcdict", str(folder / "labels.txt")]
    preprocess([*files, "--destdir", str(data / "label")])
    return data


def test_f1_of_a_task_is_of_its_second_label_in_whatever_order_the_dictionary_has_them(
    tuned: Tuned, classify, tmp_path: Path
):
    # as fairseq-preprocess orders labels by itself, the most frequent one first
    data, out = relabeled(tuned, tmp_path, "1 131\n0 69\n", ["1"] * 15 + ["0"] * 5), tmp_path / "predictions.tsv"
    given = ("--path", tuned.classes, "--data", data, "--output", out)
    report = json.loads(classify(*given, "--glue", "MRPC", "--json"))
    pairs = [row[1:3] for row in rows(out)]
    both, either = pairs.count(["1", "1"]), sum(pair.count("1") for pair in pairs)
    assert report["settings"]["classes"] == ["0", "1"]
    assert report["scores"][0]["name"] == "f1"
    assert report["scores"][0]["value"] == pytest.approx(100 * 2 * both / either)
    assert both != pairs.count(["0", "0"])
    for column in ("input0", "input1"):
        for path in (data / column).glob("valid.*"):
            shutil.copy(path, path.with_name(path.name.replace("valid", "test")))
    classify(*given, "--glue", "MRPC", "--subset", "test", "--submission", tmp_path / "out")
    lines = (tmp_path / "out" / "MRPC.tsv").read_text().splitlines()
    assert lines[1:] == [f"{row[0]}\t{row[2]}" for row in rows(out)]


def test_a_task_of_other_labels_than_the_models_is_refused(tuned: Tuned, classify):
    given = ("--data", tuned.data, "--glue")
    assert classify("--path", tuned.classes, *given, "MNLI") == (
        "classify: error: --glue MNLI has the labels contradiction, entailment, neutral, but the model has 0, 1"
    )
    assert classify("--baseline", "majority", "--text", tuned.raw, "--glue", "STS-B") == (
        "classify: error: --glue STS-B has the labels that are numbers, but the model has 0, 1"
    )


@pytest.mark.parametrize(
    ("dictionary", "labels", "message"),
    [
        ("0 1\n1 1\n", ["1", "0", "2"], "the label of line 3 must be 0 or 1, but is <unk>"),
        ("0 1\n1 1\n2 1\n", ["1", "2", "0"], "the label of line 2 must be 0 or 1, but is 2"),
        ("0 1\n1 1\n", ["", "0", "1"], "the label of line 1 must be one word or number, but there are 0"),
        ("0 1\n1 1\n", ["1", "0", "1 0"], "the label of line 3 must be one word or number, but there are 2"),
    ],
)
def test_an_example_that_has_not_one_of_the_models_labels_is_named(
    tuned: Tuned, classify, tmp_path: Path, dictionary: str, labels: list[str], message: str
):
    data = relabeled(tuned, tmp_path, dictionary, labels + ["0"] * 17)
    error = classify("--path", tuned.classes, "--data", data)
    assert error == f"classify: error: --subset valid: {message}"


def test_a_dictionary_of_fewer_labels_than_the_model_has_is_refused(tuned: Tuned, classify, tmp_path: Path):
    data = relabeled(tuned, tmp_path, "0 1\nmadeupword0000 0\n", ["0"] * 20)
    error = classify("--path", tuned.classes, "--data", data)
    assert error == f"classify: error: {data}/label/dict.txt must have the 2 labels of the head, but has 1"


@pytest.mark.parametrize(
    ("kind", "label", "message"),
    [
        ("ranking", "-1", "must be 0 or 1, but is -1"),
        ("ranking", "2", "must be 0 or 1, but is 2"),
        ("number", "nan", "must be a finite number, but is nan"),
        ("number", "-inf", "must be a finite number, but is -inf"),
    ],
)
def test_a_number_that_is_no_label_is_named(
    tuned: Tuned, classify, tmp_path: Path, kind: str, label: str, message: str
):
    data = shutil.copytree(tuned.data.parent / "number" if kind == "number" else tuned.data, tmp_path / "data")
    (data / "label" / "valid.label").write_text("1\n" * 4 + f"{label}\n" + "0\n" * 15)
    error = classify("--path", getattr(tuned, kind), "--data", data)
    assert error == f"classify: error: --subset valid: the label of line 5 {message}"


def test_files_without_a_line_are_named(tuned: Tuned, classify, tmp_path: Path):
    data = shutil.copytree(tuned.data, tmp_path / "data")
    (data / "label" / "valid.label").write_text("")
    error = classify("--path", tuned.ranking, "--data", data)
    assert error == "classify: error: --subset valid: the label of line 1 is missing"
    (data / "input0" / "valid.bin").write_text("")
    error = classify("--path", tuned.ranking, "--data", data)
    assert error == f"classify: error: --subset valid of --data {data} has no examples"


@pytest.mark.parametrize("kind", ["classes", "number", "ranking"])
def test_a_model_that_says_nan_has_no_predictions(tuned: Tuned, classify, tmp_path: Path, kind: str):
    state = torch.load(getattr(tuned, kind), weights_only=False)
    state["model"]["classification_heads.sentence_classification_head.out_proj.bias"][0] = float("nan")
    torch.save(state, tmp_path / "nan.pt")
    data = tuned.data.parent / "number" if kind == "number" else tuned.data
    error = classify("--path", tmp_path / "nan.pt", "--data", data, "--output", tmp_path / "predictions.tsv")
    assert error == f"classify: error: --path {tmp_path}/nan.pt: what it says is not finite: its training has diverged"
    assert not (tmp_path / "predictions.tsv").exists()


@pytest.mark.parametrize("name", ["input0", "input1", "label"])
def test_a_dictionary_that_is_not_as_it_was_recorded_is_refused(tuned: Tuned, classify, tmp_path: Path, name: str):
    data = two_columns(tuned, tmp_path).rename(tmp_path / "data-bin")
    facts_of = {str(path.relative_to(tmp_path)): facts(path) for path in data.glob("*/dict.txt")}
    (tmp_path / "manifest.json").write_text(json.dumps({"files": facts_of}))
    assert "accuracy" in classify("--path", tuned.classes, "--data", data)
    dictionary = data / name / "dict.txt"
    lines = dictionary.read_text().splitlines()
    dictionary.write_text("".join(f"{line}\n" for line in reversed(lines)))
    error = classify("--path", tuned.classes, "--data", data)
    assert error.startswith(f"classify: error: {dictionary} is not the file that was prepared: its SHA-256 is ")

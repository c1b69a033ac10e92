"""Fine-tuned models: predictions are those of each example alone, and what cannot be scored or submitted is named."""

import json
import random
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from fairseq.options import get_preprocessing_parser
from fairseq_cli.preprocess import main as preprocess_main

from fairseq_rope.checkpoints.loading import load_with_task
from fairseq_rope.tools.classify import main
from fairseq_rope_data.errors import run
from fairseq_rope_data.manifest import facts
from tests.support import ROOT
from tests.support.glue import SMALL, WORDS
from tests.support.trained import call

TRAINING = f"""
    --arch roformer_tiny {SMALL} --init-token 0 --max-positions 24 --shorten-method truncate --optimizer adam --lr 1e-2
    --lr-scheduler fixed --max-update 6 --batch-size 8 --cpu --disable-validation --no-epoch-checkpoints --num-workers 0
"""
PREDICTION = "--task sentence_prediction --criterion sentence_prediction"


class Tuned(NamedTuple):
    """Data of 20 examples with three columns of sentences, and a model of each kind."""

    data: Path
    lines: list[list[str]]
    classes: Path
    number: Path
    ranking: Path
    raw: Path


def preprocess(arguments: list[str]) -> None:
    """fairseq-preprocess in this process: a new Python takes time."""
    preprocess_main(get_preprocessing_parser().parse_args(["--only-source", *arguments]))


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Tuned:
    folder = tmp_path_factory.mktemp("tuned")
    raw, dice = folder / "raw", random.Random(4)
    raw.mkdir()
    # of all lengths, and some longer than a model reads
    lines = [[" ".join(dice.choices(WORDS, k=dice.randint(1, 16))) for _ in range(20)] for _ in range(3)]
    for number, column in enumerate(lines):
        for name in ("train", "valid"):
            (raw / f"{name}.input{number}").write_text("".join(f"{line}\n" for line in column))
    labels = [int("good" in line or "fine" in line) for line in lines[0]]
    (raw / "labels.txt").write_text("0 1\n1 1\n")
    data = {"classes": folder / "classes", "number": folder / "number"}
    dictionary: list[str] = []
    for number in range(3):
        files = [word for name in ("train", "valid") for word in (f"--{name}pref", str(raw / f"{name}.input{number}"))]
        files += [*dictionary, "--destdir", str(data["classes"] / f"input{number}")]
        preprocess(files)
        dictionary = ["--srcdict", str(data["classes"] / "input0" / "dict.txt")]
    for name in ("train", "valid"):
        (raw / f"{name}.label").write_text("".join(f"{label}\n" for label in labels))
    files = [word for name in ("train", "valid") for word in (f"--{name}pref", str(raw / f"{name}.label"))]
    srcdict = ["--srcdict", str(raw / "labels.txt"), "--destdir", str(data["classes"] / "label")]
    preprocess([*files, *srcdict])
    shutil.copytree(data["classes"], data["number"], ignore=shutil.ignore_patterns("label"))
    (data["number"] / "label").mkdir()
    for name in ("train", "valid"):
        text = "".join(f"{label}\n" for label in labels)
        (data["number"] / "label" / f"{name}.label").write_text(text)
        (data["classes"] / "label" / f"{name}.label").write_text(text)  # as sentence_ranking reads it
    kinds = {
        "classes": f"{PREDICTION} --num-classes 2",
        "number": f"{PREDICTION} --num-classes 1 --regression-target",
        "ranking": "--task sentence_ranking --criterion sentence_ranking --num-classes 2",
    }
    for kind, options in kinds.items():
        save = ["--user-dir", str(ROOT / "fairseq_rope"), "--save-dir", str(folder / f"model-{kind}")]
        call("fairseq_cli.train", str(data.get(kind, data["classes"])), *save, *TRAINING.split(), *options.split())
    models = [folder / f"model-{kind}" / "checkpoint_last.pt" for kind in kinds]
    return Tuned(data["classes"], lines, *models, raw)


@pytest.fixture
def classify(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the tool; return what it prints, or its error."""

    def program(*arguments: object) -> str:
        monkeypatch.setattr("sys.argv", ["classify", *map(str, arguments)])
        try:
            run("classify", main)
        except SystemExit:
            return capsys.readouterr().err.strip().splitlines()[-1]
        return capsys.readouterr().out

    return program


def rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().splitlines()[1:]]


def alone(path: Path, data: Path, texts: list[list[str]]) -> list[list[float]]:
    """The head's output for each text, of one or two sentences, without a batch."""
    model, task = load_with_task(str(path), data=str(data))
    outputs = []
    with torch.no_grad():
        for sentences in texts:
            ids = [0, *(x for line in sentences for x in task.source_dictionary.encode_line(line).tolist())]
            logits, _ = model(
                torch.tensor([ids[:24]]), features_only=True, classification_head_name="sentence_classification_head"
            )
            outputs.append(logits[0].tolist())
    return outputs


def test_each_example_has_the_class_that_it_has_alone(tuned: Tuned, classify, tmp_path: Path):
    out = tmp_path / "predictions.tsv"
    # few tokens a batch, so that there are many batches
    given = ("--path", tuned.classes, "--data", two_columns(tuned, tmp_path), "--output", out, "--max-tokens", 60)
    report = json.loads(classify(*given, "--json"))
    expected = torch.tensor(alone(tuned.classes, given[3], [[a, b] for a, b in zip(*tuned.lines[:2], strict=True)]))
    found = rows(out)
    assert [int(row[0]) for row in found] == [*range(20)]
    assert [int(row[2]) for row in found] == expected.argmax(1).tolist()
    probabilities = torch.tensor([float(row[3]) for row in found])
    torch.testing.assert_close(probabilities, expected.softmax(1).max(1).values, atol=1e-5, rtol=0)
    labels = (tuned.raw / "valid.label").read_text().split()
    assert [row[1] for row in found] == labels
    right = sum(row[1] == row[2] for row in found)
    assert report["scores"][0]["value"] == pytest.approx(100 * right / 20)
    cut = sum(len(f"{a} {b}".split()) + 3 > 24 for a, b in zip(*tuned.lines[:2], strict=True))
    assert cut > 0 and report["notes"][0] == f"{cut} of 20 examples are cut to 24 tokens"


def two_columns(tuned: Tuned, folder: Path) -> Path:
    """The data without the third column, and without labels that only a ranking reads."""
    return Path(shutil.copytree(tuned.data, folder / "two", ignore=shutil.ignore_patterns("input2", "*.label")))


def test_a_number_is_that_of_the_example_alone_and_glue_gets_it_on_its_scale(tuned: Tuned, classify, tmp_path: Path):
    data = tuned.data.parent / "number"
    out = tmp_path / "predictions.tsv"
    report = json.loads(classify("--path", tuned.number, "--data", data, "--output", out, "--json"))
    expected = alone(tuned.number, data, [[a, b] for a, b in zip(*tuned.lines[:2], strict=True)])
    assert [float(row[2]) for row in rows(out)] == pytest.approx([value for (value,) in expected], abs=1e-5)
    assert [each["name"] for each in report["scores"]] == ["pearson", "spearman"]
    for path in (data / "input0").glob("valid.*"):
        for column in ("input0", "input1"):
            shutil.copy(data / column / path.name, data / column / path.name.replace("valid", "test"))
    given = ("--path", tuned.number, "--data", data, "--subset", "test", "--glue", "STS-B")
    text = classify(*given, "--submission", tmp_path / "submission")
    assert "note: no scores: the examples have no labels" in text
    lines = (tmp_path / "submission" / "STS-B.tsv").read_text().splitlines()
    assert lines[0] == "index\tprediction" and lines[1] == f"0\t{5 * expected[0][0]:.3f}" and len(lines) == 21


def test_a_choice_is_that_of_the_higher_score(tuned: Tuned, classify, tmp_path: Path):
    out = tmp_path / "predictions.tsv"
    classify("--path", tuned.ranking, "--data", tuned.data, "--output", out)
    first, second = (
        alone(tuned.ranking, tuned.data, [[b, a] for a, b in zip(tuned.lines[0], tuned.lines[i], strict=True)])
        for i in (1, 2)
    )
    assert [int(row[2]) for row in rows(out)] == [int(b > a) for (a,), (b,) in zip(first, second, strict=True)]
    assert [row[1] for row in rows(out)] == (tuned.raw / "valid.label").read_text().split()


def test_classes_are_submitted_under_glues_names(tuned: Tuned, classify, tmp_path: Path):
    data = two_columns(tuned, tmp_path)
    for column in ("input0", "input1"):
        for path in (data / column).glob("valid.*"):
            shutil.copy(path, path.with_name(path.name.replace("valid", "test")))
    given = ("--path", tuned.classes, "--data", data, "--submission", tmp_path / "out", "--glue")
    out = tmp_path / "predictions.tsv"
    classify(*given, "MRPC", "--subset", "test", "--output", out)
    lines = (tmp_path / "out" / "MRPC.tsv").read_text().splitlines()
    assert lines == ["index\tprediction", *(f"{row[0]}\t{row[2]}" for row in rows(out))]
    assert all(row[1] == "" for row in rows(out))
    error = classify(*given, "MRPC", "--subset", "valid")
    assert error == "classify: error: --submission to MRPC is of the subset test, but --subset is valid"
    error = classify(*given, "RTE", "--subset", "test")
    assert error == "classify: error: --glue RTE has the labels entailment, not_entailment, but the model has 0, 1"


def test_baselines_learn_from_the_training_set(tuned: Tuned, classify, tmp_path: Path):
    out = tmp_path / "predictions.tsv"
    labels = (tuned.raw / "valid.label").read_text().split()
    classify("--baseline", "majority", "--text", tuned.raw, "--output", out)
    assert {row[2] for row in rows(out)} == {max("01", key=labels.count)}
    classify("--baseline", "bag-of-words", "--text", tuned.raw, "--output", out)
    # what it has learned by heart
    assert [row[2] for row in rows(out)] == labels == [row[1] for row in rows(out)]


def test_what_cannot_be_scored_is_named(tuned: Tuned, classify, tmp_path: Path):
    given = ("--path", tuned.classes, "--data", tuned.data)
    assert classify("--path", "x") == "classify: error: --path needs --data"
    assert classify("--baseline", "majority") == "classify: error: --baseline needs --text"
    assert classify("--path", "x.pt", "--data", tuned.data).startswith("classify: error: cannot load x.pt: there is no")
    error = classify(*given, "--subset", "valid7")
    assert error.startswith(f"classify: error: --subset valid7 cannot be read from --data {tuned.data}: ")
    error = classify(*given, "--metrics", "spearman")
    assert error == "classify: error: --metrics spearman compares numbers, but the model predicts the other"
    error = classify("--baseline", "majority", "--text", tmp_path)
    assert error.startswith(f"classify: error: cannot read {tmp_path}/train.label: ")


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


def test_a_pretrained_model_gives_its_own_options_once_it_fits(tuned: Tuned, classify, tmp_path: Path):
    words = tuned.data / "input0" / "dict.txt"
    given = ("--pretrained", tuned.classes, "--dictionary")
    printed = classify(*given, words).split()
    sizes = SMALL.split()
    assert printed[:2] == ["--arch", "roformer_tiny"]
    assert {tuple(printed[i : i + 2]) for i in range(2, len(printed), 2)} >= {
        tuple(sizes[i : i + 2]) for i in range(0, len(sizes), 2)
    }
    other = tmp_path / "dict.txt"
    other.write_text(f"{words.read_text()}more 1\n")
    rows_there = len(words.read_text().splitlines()) + 5
    assert classify(*given, other) == (
        f"classify: error: --dictionary {other} has {rows_there + 1} words with fairseq's own, but --pretrained "
        f"{tuned.classes} has {rows_there}: it is of another vocabulary"
    )
    state = torch.load(tuned.classes, weights_only=False)
    state["cfg"]["model"].position_method = "learned"
    torch.save(state, tmp_path / "learned.pt")
    assert classify("--pretrained", tmp_path / "learned.pt", "--dictionary", words) == (
        f"classify: error: --length must be 24, the positions that --pretrained {tmp_path}/learned.pt has learned, but "
        "is 512: a table ends where its training did"
    )
    assert classify("--pretrained", tmp_path / "learned.pt", "--dictionary", words, "--allow", "other-length") == ""
    state["cfg"]["model"].arch = "transformer_rope"
    torch.save(state, tmp_path / "other.pt")
    error = classify("--pretrained", tmp_path / "other.pt", "--dictionary", words)
    assert error.endswith("must be a model of masked_lm such as roformer, but its arch is transformer_rope")


def test_the_nearer_text_by_tf_idf_is_chosen_and_of_equal_ones_the_first(classify, tmp_path: Path):
    texts = {"input0": ["借款利息", "房屋租金", "甲"], "input1": ["借款利率", "借款本金", "乙"]}
    texts["input2"] = ["房屋合同", "房屋押金", "丙"]
    for name in ("train", "valid"):
        for column, lines in texts.items():
            (tmp_path / f"{name}.{column}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        (tmp_path / f"{name}.label").write_text("0\n1\n1\n")
    (tmp_path / "labels.txt").write_text("0 1\n1 1\n")
    out = tmp_path / "predictions.tsv"
    classify("--baseline", "tf-idf", "--text", tmp_path, "--output", out)
    assert [row[2] for row in rows(out)] == ["0", "1", "0"]
    (tmp_path / "valid.input2").unlink()
    assert classify("--baseline", "tf-idf", "--text", tmp_path) == (
        f"classify: error: tf-idf ranks texts, a class each, but --text {tmp_path} has no valid.input2"
    )


def test_examples_that_are_cut_by_their_option_are_counted(tuned: Tuned, classify, tmp_path: Path):
    state = torch.load(tuned.ranking, weights_only=False)
    # of the second and third columns 4 tokens with <s>, whatever stays of the first
    args = state["cfg"]["task"]
    args.max_option_length, args.max_positions = 4, 512
    torch.save(state, tmp_path / "cut.pt")
    report = json.loads(classify("--path", tmp_path / "cut.pt", "--data", tuned.data, "--json"))
    cut = sum(max(len(b.split()), len(c.split())) + 2 > 4 for b, c in zip(*tuned.lines[1:], strict=True))
    assert 0 < cut < 20 and report["notes"][0] == f"{cut} of 20 examples are cut to 512 tokens"

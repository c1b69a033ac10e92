"""Fine-tuned models: predictions are those of each example alone, and what cannot be scored or submitted is named."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from fairseq_rope import RoformerModel
from fairseq_rope.checkpoints.loading import load_with_task
from tests.support import ROOT
from tests.support.glue import SMALL
from tests.support.tuned import Tuned, rows, two_columns


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


def test_a_pair_is_encoded_in_python_as_the_docs_say(tuned: Tuned, tmp_path: Path):
    data = two_columns(tuned, tmp_path)
    model = RoformerModel.from_pretrained(str(tuned.classes.parent), tuned.classes.name, str(data)).eval()
    assert "`model.encode(first, second, no_separator=True)`" in (ROOT / "docs" / "encoder.md").read_text()
    for first, second in zip(*tuned.lines[:2], strict=True):
        tokens = model.encode(first, second, no_separator=True)[:24]
        found = model.predict("sentence_classification_head", tokens, return_logits=True)
        torch.testing.assert_close(found, torch.tensor(alone(tuned.classes, data, [[first, second]])))


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


def test_predictions_are_not_written_over_what_they_are_made_of(tuned: Tuned, classify, tmp_path: Path):
    model = ("--path", Path(shutil.copy(tuned.classes, tmp_path / "model.pt")), "--data", two_columns(tuned, tmp_path))
    baseline = ("--baseline", "majority", "--text", shutil.copytree(tuned.raw, tmp_path / "raw"))
    link = tmp_path / "link"
    link.symlink_to(model[1])
    data, text = model[3], baseline[3]
    for given, output, read in (
        (model, model[1], model[1]),
        (model, link, model[1]),
        (model, data / "input0" / "dict.txt", data / "input0" / "dict.txt"),
        (model, data / "label" / "valid.bin", data / "label" / "valid.bin"),
        (baseline, text / "valid.input1", text / "valid.input1"),
        (baseline, text / "train.label", text / "train.label"),
        (baseline, text / "labels.txt", text / "labels.txt"),
    ):
        before = read.read_bytes()
        error = classify(*given, "--output", output)
        assert error == f"classify: error: {output} would be written in the place of {read}, which is read"
        assert read.read_bytes() == before
    for given, folder in ((model, data), (baseline, text)):
        for _ in range(2):  # what was written there before is not read
            classify(*given, "--output", folder / "predictions.tsv")
            assert len(rows(folder / "predictions.tsv")) == 20


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


def test_an_output_that_cannot_be_written_is_named_before_a_model_is_loaded(classify, tmp_path: Path):
    given = ("--path", tmp_path / "missing.pt", "--data", tmp_path, "--output")
    for output, problem in (
        (tmp_path / "no" / "out", f"there is no folder {tmp_path}/no"),
        (tmp_path, "it is a folder"),
    ):
        assert classify(*given, output) == f"classify: error: cannot write {output}: {problem}"


def test_a_submission_that_cannot_be_written_is_named_before_a_model_is_loaded(classify, tmp_path: Path):
    file = tmp_path / "file"
    file.touch()
    given = ("--path", tmp_path / "missing.pt", "--data", tmp_path, "--glue", "MRPC", "--subset", "test")
    problem = f"--submission must be a folder, but {file} is a file"
    assert classify(*given, "--submission", file) == f"classify: error: {problem}"


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
    note = f"{cut} of 20 examples are cut to 512 tokens, and each text to choose to 4 of these"
    assert 0 < cut < 20 and report["notes"][0] == note


def test_texts_to_choose_are_cut_as_in_the_training_whatever_cuts_the_example(tuned: Tuned, classify, tmp_path: Path):
    state = torch.load(tuned.ranking, weights_only=False)
    args, out = state["cfg"]["task"], tmp_path / "predictions.tsv"
    args.max_positions = 512  # of which no example is left out
    found = []
    for length, shorten in ((None, "none"), (4, "none"), (4, "truncate")):
        args.max_option_length, args.shorten_method = length, shorten
        torch.save(state, tmp_path / "cut.pt")
        classify("--path", tmp_path / "cut.pt", "--data", tuned.data, "--output", out)
        found.append(rows(out))
    whole, *cut = found
    assert cut[0] == cut[1] != whole

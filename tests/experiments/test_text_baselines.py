"""Baselines: files that do not fit each other are named."""

from pathlib import Path

import pytest

from fairseq_rope.experiments.text_baselines import BASELINES, baseline_predictions
from fairseq_rope_data.errors import UserError

FILES = {
    "labels.txt": "0 1\n1 1\n",
    "train.input0": "good\nbad\nfine\n",
    "train.input1": "film\nplot\nplay\n",
    "train.input2": "a\nb\nc\n",
    "train.label": "1\n0\n1\n",
    "valid.input0": "good\nbad\n",
    "valid.input1": "plot\nfilm\n",
    "valid.input2": "c\nd\n",
    "valid.label": "1\n0\n",
}
BAD = {
    "fewer labels": (
        "valid.label",
        "1\n",
        "HERE/valid.input0 and HERE/valid.label must have as many lines, but have 2, 1",
    ),
    "fewer labels to train": (
        "train.label",
        "1\n0\n",
        "HERE/train.input0 and HERE/train.label must have as many lines, but have 3, 2",
    ),
    "another label": ("valid.label", "1\n2\n", "HERE/valid.label:2: the label must be 0 or 1, but is '2'"),
    "another label to train": ("train.label", "1\n0\n2\n", "HERE/train.label:3: the label must be 0 or 1, but is '2'"),
    "words, no classes": (
        "train.label",
        "yes\n0\n1\n",
        "HERE/train.label:1: the label must be a number, for there is no HERE/labels.txt, but is 'yes'",
    ),
    "not a number": (
        "valid.label",
        "1\nnan\n",
        "HERE/valid.label:2: the label must be a number, for there is no HERE/labels.txt, but is 'nan'",
    ),
    "one column to train": (
        "train.input2",
        None,
        "--text HERE: train and valid must have as many files of sentences, but have 2 and 3",
    ),
    "blank": ("train.input1", "\n \n\t\n", "HERE/train.input1 has nothing but blank lines"),
}


NUMBERS = ("words, no classes", "not a number")  # of texts to rank there are classes


@pytest.mark.parametrize(
    ("name", "bad"), [(name, bad) for name in BASELINES for bad in BAD if not (name == "tf-idf" and bad in NUMBERS)]
)
def test_files_that_do_not_fit_are_named(name: str, bad: str, tmp_path: Path):
    changed, content, message = BAD[bad]
    for file, text in (FILES | {changed: content}).items():
        if text is not None and not (file == "labels.txt" and bad in NUMBERS):
            (tmp_path / file).write_text(text)
    with pytest.raises(UserError) as error:
        baseline_predictions(name, tmp_path, "valid")
    assert str(error.value) == message.replace("HERE", str(tmp_path))

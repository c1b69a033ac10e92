"""The table and the picture of an experiment, and the log that both are read from."""

import json
from pathlib import Path

import pytest

from fairseq_rope.tools._common import ToolError
from fairseq_rope.tools.plot import draw
from fairseq_rope.tools.results import figures, model_folders, table
from fairseq_rope.tools.train_log import Validation, read_train_log

LOG = """num. shared model params: 2,568,192 (num. trained: 2,568,192)
epoch 001 | valid on 'valid' subset | loss 9.5 | nll_loss 8.9 | ppl 477 | bsz 168 | num_updates 124
epoch 001 | loss 11.2 | nll_loss 10.9 | num_updates 124 | train_wall 60 | wall 61
epoch 002 | valid on 'valid' subset | loss 8.5 | nll_loss 7.9 | ppl 77 | bsz 168 | num_updates 248 | best_loss 8.5
epoch 002 | loss 9.2 | nll_loss 8.9 | num_updates 248 | train_wall 60 | wall 122
epoch 002 | valid on 'valid' subset | loss 8.25 | nll_loss 7.9 | ppl 77 | bsz 168 | num_updates 248 | best_loss 8.25
epoch 002 | loss 9.2 | nll_loss 8.9 | num_updates 248 | train_wall 60 | wall 150
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    for name in ("sinusoidal", "rope"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.log").write_text(LOG)
    score = {"name": "BLEU4", "value": 41.234, "text": "BLEU4 = 41.23", "signature": "tok:as-is"}
    (tmp_path / "rope" / "score-test.json").write_text(json.dumps({"scores": [score]}))
    return tmp_path


def test_a_log_gives_each_validation_as_it_last_was(work: Path):
    log = read_train_log(work / "rope" / "train.log")
    assert log.validations == [Validation(1, 124, 9.5), Validation(2, 248, 8.25)]
    assert (log.parameters, log.seconds) == (2568192, 150)


def test_the_table_has_a_column_a_model_rotary_first(work: Path):
    folders = model_folders(work)
    lines = table({folder.name: figures(folder) for folder in folders}).splitlines()
    assert [cell.strip() for cell in lines[0].strip("|").split("|")] == ["", "rope", "sinusoidal"]
    assert [cell.strip() for cell in lines[-1].strip("|").split("|")] == ["test: BLEU4", "41.23", ""]
    assert len({len(line) for line in lines}) == 1


def test_the_picture_is_a_png(work: Path):
    pytest.importorskip("matplotlib", reason="the extra `plot` is not installed")
    draw({folder.name: read_train_log(folder / "train.log") for folder in model_folders(work)}, work / "curves.png")
    assert (work / "curves.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("text", "message"), [(None, "there is no training log"), ("nothing\n", "no validation")])
def test_a_log_that_says_nothing_is_named(tmp_path: Path, text: str | None, message: str):
    if text is not None:
        (tmp_path / "train.log").write_text(text)
    with pytest.raises(ToolError, match=f"{message}|train.log: {message}"):
        read_train_log(tmp_path / "train.log")

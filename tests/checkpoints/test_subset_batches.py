"""Sentence pairs of a data folder as batches: which ones, in which order, and what is refused."""

import shutil
from pathlib import Path

import pytest
import torch

from fairseq_rope.checkpoints.loading import load_with_task
from fairseq_rope.checkpoints.subset_batches import SubsetBatches
from fairseq_rope_data.errors import UserError
from tests.support.trained import Trained


def lengths(trained: Trained) -> list[int]:
    """The tokens of each source sentence, with </s>."""
    return [len(line.split()) + 1 for line in (trained.codes.parent / "bpe.en").read_text().splitlines()]


def load(trained: Trained, data: Path | None = None, *, longest: int = 1024):
    model, task = load_with_task(str(trained.checkpoint), data=str(data or trained.data))
    task.cfg.max_source_positions = longest
    return task, model


def test_each_sentence_comes_once_and_those_of_a_batch_are_about_as_long(trained: Trained):
    batches = SubsetBatches(*load(trained), "valid", data=str(trained.data), max_tokens=100)
    found = [*batches]
    assert len(found) == len(batches) > 5 and batches.sentences == 300 and batches.skipped == 0
    assert sorted(torch.cat([batch["id"] for batch in found]).tolist()) == [*range(300)]
    assert all(batch["net_input"]["src_tokens"].numel() <= 100 for batch in found)
    assert [*map(str, found)] == [*map(str, batches)]


def test_the_first_sentences_are_those_of_the_text_and_not_the_shortest(trained: Trained):
    batches = SubsetBatches(*load(trained), "valid", data=str(trained.data), max_sentences=7)
    assert sorted(torch.cat([batch["id"] for batch in batches]).tolist()) == [*range(7)]


def test_sentences_that_the_model_cannot_take_are_counted(trained: Trained):
    fitting = sum(length <= 9 for length in lengths(trained))
    assert 0 < fitting < 300
    batches = SubsetBatches(*load(trained, longest=9), "valid", data=str(trained.data))
    assert (batches.sentences, batches.skipped) == (fitting, 300 - fitting)


def test_a_sentence_longer_than_a_batch_is_one_of_its_own(trained: Trained):
    batches = SubsetBatches(*load(trained), "valid", data=str(trained.data), max_tokens=2)
    assert sum(len(batch["id"]) for batch in batches) == 300


def test_a_subset_where_nothing_fits_or_has_a_target_is_refused(trained: Trained, tmp_path: Path):
    with pytest.raises(UserError, match=r"^--subset valid of --data .* has no sentences of up to \(2, 1024\) tokens$"):
        SubsetBatches(*load(trained, longest=2), "valid", data=str(trained.data))
    data = tmp_path / "data"
    shutil.copytree(trained.data, data)
    for name in ("bin", "idx"):
        (data / f"valid.en-de.de.{name}").unlink()
    with pytest.raises(UserError, match=r"^--subset valid of --data .*data has no target side$"):
        SubsetBatches(*load(trained, data), "valid", data=str(data))

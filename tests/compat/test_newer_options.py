"""A checkpoint whose task and criterion have options that this fairseq does not know."""

from argparse import Namespace
from pathlib import Path

import pytest
import torch
from fairseq import checkpoint_utils, tasks
from fairseq.models.transformer import TransformerConfig

import fairseq_rope  # noqa: F401  applies the quirks
from tests.support.checkpoint_files import fairseq_checkpoint


@pytest.mark.parametrize("name", ["masked_lm", "sentence_prediction"])
def test_what_is_unknown_is_left_out_and_the_rest_kept(name: str, tmp_path: Path) -> None:
    options = {
        "task": dict(_name=name, data=str(tmp_path), seed=7, of_a_newer_fairseq=True),
        "criterion": dict(_name=name, tpu=True, of_a_newer_fairseq=True),
        "model": Namespace(arch="roformer_tiny", of_a_newer_fairseq=True),
    }
    torch.save({**fairseq_checkpoint({"w": torch.arange(3.0)}), "cfg": options}, tmp_path / "model.pt")
    cfg = checkpoint_utils.load_checkpoint_to_cpu(str(tmp_path / "model.pt"))["cfg"]
    assert cfg.task == dict(_name=name, data=str(tmp_path), seed=7)
    assert "of_a_newer_fairseq" not in cfg.criterion and cfg.criterion._name == name
    assert cfg.model.of_a_newer_fairseq


def test_a_task_is_set_up_with_what_is_left(tmp_path: Path) -> None:
    (tmp_path / "dict.txt").write_text("a 1\n", encoding="utf-8")
    task = dict(_name="masked_lm", data=str(tmp_path), of_a_newer_fairseq=True)
    checkpoint = {**fairseq_checkpoint({}), "cfg": {"task": task, "model": Namespace(arch="roformer_tiny")}}
    torch.save(checkpoint, tmp_path / "model.pt")
    cfg = checkpoint_utils.load_checkpoint_to_cpu(str(tmp_path / "model.pt"))["cfg"]
    assert "a" in tasks.setup_task(cfg.task).dictionary


@pytest.mark.parametrize("is_used", [False, True])
def test_a_model_option_that_is_used_stays(is_used: bool, tmp_path: Path) -> None:
    model = {"_name": "transformer_rope", "dropout": 0.3, "merge_src_tgt_embed": is_used}  # as hydra leaves it
    torch.save({**fairseq_checkpoint({}), "cfg": {"model": model}}, tmp_path / "model.pt")
    kept = checkpoint_utils.load_checkpoint_to_cpu(str(tmp_path / "model.pt"))["cfg"]["model"]
    is_known = "merge_src_tgt_embed" in TransformerConfig.__dataclass_fields__
    assert ("merge_src_tgt_embed" in kept) == (is_used or is_known)
    assert kept["dropout"] == 0.3

"""Overrides of what a rotary model cannot change after its training."""

from argparse import Namespace
from pathlib import Path

import pytest
import torch
from fairseq import checkpoint_utils

from fairseq_rope.compat.fixed_options import FIXED, refuse_fixed_overrides
from fairseq_rope_data.errors import UserError
from tests.support.checkpoint_files import fairseq_checkpoint

OURS = dict(arch="transformer_rope", rope_base=500.0, rope_fraction=1.0, rope_layout="half", encoder_attention_heads=4)
LOAD = checkpoint_utils.load_checkpoint_to_cpu


def written(path: Path, options: dict, form: str = "cfg") -> str:
    model = Namespace(**options)
    state = {**fairseq_checkpoint({"w": torch.arange(3.0)}), "cfg": None, "args": None}
    state[form] = {"model": model} if form == "cfg" else model
    torch.save(state, path)
    return str(path)


@pytest.mark.parametrize("form", ["cfg", "args"])
@pytest.mark.parametrize(
    ("name", "value", "before"),
    [
        ("rope_base", 10000.0, 500.0),
        ("rope_fraction", 0.5, 1.0),
        ("rope_layout", "interleaved", "half"),
        ("position_method", "alibi", "rope"),
        ("ffn", "swiglu", None),
        ("encoder_attention_heads", 8, 4),
    ],
)
def test_another_value_is_refused_by_name(tmp_path: Path, form: str, name: str, value: object, before: object) -> None:
    path = written(tmp_path / "model.pt", OURS, form)
    with pytest.raises(UserError) as error:
        LOAD(path, {"dropout": 0.0, name: value})
    expected = f"--model-overrides: {name} must stay {before!r}, as {path} was trained with it, but is {value!r}"
    assert str(error.value) == expected


def test_the_same_value_and_other_options_are_taken(tmp_path: Path) -> None:
    path = written(tmp_path / "model.pt", OURS)
    overrides = {"rope_base": 500, "position_method": "rope", "rope_scaling": "ntk", "max_source_positions": 2048}
    overrides |= {"encoder_attention_heads": 4, "activation_fn": "relu"}  # of the second nothing is known
    options = vars(LOAD(path, overrides)["cfg"]["model"])
    assert options == {**OURS, **overrides}
    assert vars(LOAD(path)["cfg"]["model"]) == vars(LOAD(path, {})["cfg"]["model"]) == OURS


def test_a_misspelt_option_is_refused_with_those_that_can_change(tmp_path: Path) -> None:
    path = written(tmp_path / "model.pt", OURS)
    with pytest.raises(UserError) as error:
        LOAD(path, {"rope_scalling": "ntk"})
    assert str(error.value) == (
        "--model-overrides: there is no option rope_scalling; after training rope_scaling, rope_scaling_factor, "
        "rope_original_length can change"
    )


def test_a_model_that_is_not_rotary_is_left_alone(tmp_path: Path) -> None:
    path = written(tmp_path / "model.pt", dict(arch="transformer", ffn="x"))
    assert LOAD(path, {"ffn": "y", "rope_base": 1.0})["cfg"]["model"].ffn == "y"


def test_it_is_applied_once() -> None:
    before = checkpoint_utils.load_checkpoint_to_cpu
    refuse_fixed_overrides()
    assert checkpoint_utils.load_checkpoint_to_cpu is before


def test_the_file_is_read_once_unless_a_fixed_option_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, read, reads = written(tmp_path / "model.pt", OURS), torch.load, []
    monkeypatch.setattr(torch, "load", lambda *args, **kwargs: (reads.append(1), read(*args, **kwargs))[1])
    LOAD(path, {"rope_scaling": "ntk"})
    assert len(reads) == 1
    LOAD(path, dict.fromkeys(["rope_base"], 500.0))
    assert len(reads) == 3 and "rope_base" in FIXED

"""Checkpoints that are read: damaged, old, foreign and malicious ones, which leave no output."""

import os
import random
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from fairseq_rope.checkpoints.averaging import write_average
from fairseq_rope.checkpoints.files import load_checkpoint
from fairseq_rope_data.errors import UserError
from tests.support.checkpoint_files import fairseq_checkpoint, save_all


class Attack:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.system, (f"touch {self.mark}",)


class Evaluation:
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return eval, ("1",)


def damage(path: Path, how: str) -> None:
    data = path.read_bytes()
    middle = data.index(torch.ones(500).numpy().tobytes()) + 100
    changed = {
        "truncated": data[: len(data) // 2],
        "cut at the end": data[:-1],
        "empty": b"",
        "text": b"not a checkpoint\n",
        "one bit": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
    }
    path.write_bytes(changed[how])


# torch's old format has no checksums: a changed bit can't be seen there
@pytest.mark.parametrize(
    ("how", "old_format"),
    [("one bit", False)]
    + [(how, old) for how in ("truncated", "cut at the end", "empty", "text") for old in (False, True)],
)
def test_a_damaged_file_is_named(how: str, old_format: bool, tmp_path: Path) -> None:
    paths = save_all(tmp_path, [{"w": torch.ones(500)}] * 2)
    state = fairseq_checkpoint({"w": torch.ones(500)})
    torch.save(state, paths[1], _use_new_zipfile_serialization=not old_format)
    damage(paths[1], how)
    with pytest.raises(UserError, match=r"cannot load .*checkpoint2.pt: it is (truncated(,| or) )?corrupt") as caught:
        write_average(paths, tmp_path / "out.pt")
    assert "\n" not in str(caught.value)
    assert sorted(os.listdir(tmp_path)) == ["checkpoint1.pt", "checkpoint2.pt"]


@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_directory_is_named_or_does_no_harm(seed: int, tmp_path: Path) -> None:
    rng, path = random.Random(seed), tmp_path / "checkpoint1.pt"
    torch.save(fairseq_checkpoint({"w": torch.arange(500)}), path)
    data = bytearray(path.read_bytes())
    for _ in range(rng.randint(1, 8)):
        data[rng.randrange(len(data) - 2500, len(data))] = rng.randrange(256)
    path.write_bytes(data)
    try:
        assert torch.equal(load_checkpoint(path)["model"]["w"], torch.arange(500))
    except UserError as error:
        assert str(error).startswith(f"cannot load {path}: it ") and "\n" not in str(error)


def test_the_format_of_old_torch_is_read(tmp_path: Path) -> None:
    path = tmp_path / "old.pt"
    torch.save(fairseq_checkpoint({"w": torch.ones(3)}), path, _use_new_zipfile_serialization=False)
    write_average([path], tmp_path / "out.pt")
    assert torch.load(tmp_path / "out.pt")["model"]["w"].tolist() == [1.0] * 3


@pytest.mark.parametrize("state", [[1, 2], {"weights": {}}, {"model": torch.ones(1)}], ids=["list", "keys", "tensor"])
def test_another_file_of_torch_is_no_checkpoint(state: object, tmp_path: Path) -> None:
    torch.save(state, tmp_path / "other.pt")
    with pytest.raises(UserError, match=r"other.pt: it is not a checkpoint of fairseq"):
        write_average([tmp_path / "other.pt"], tmp_path / "out.pt")


def test_a_malicious_checkpoint_is_refused_and_says_what_it_wanted(tmp_path: Path) -> None:
    mark = tmp_path / "attacked"
    for evil, name in (Attack(mark), r"\w+\.system"), (Evaluation(), "eval"):
        state = {**fairseq_checkpoint({"w": torch.ones(2)}), "task_state": evil}
        torch.save(state, tmp_path / "evil.pt")
        with pytest.raises(UserError, match=rf"evil.pt: it wants to run {name}, which a checkpoint never needs"):
            write_average([tmp_path / "evil.pt"], tmp_path / "out.pt")
        assert os.listdir(tmp_path) == ["evil.pt"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"args": "x"}, "its args must be options, but is a str"),
        ({"cfg": Namespace(model=Namespace())}, "its cfg must be a dictionary of options, but is a Namespace"),
        ({"cfg": [1]}, "its cfg must be a dictionary of options, but is a list"),
        ({"cfg": {"model": 5}}, "its cfg.model must be options, but is a int"),
        ({"cfg": {"task": "translation"}}, "its cfg.task must be options, but is a str"),
        ({"cfg": {"criterion": "mine"}}, "its cfg.criterion must be options, but is a str"),
        ({"cfg": {"model": {1: 2}}}, "its cfg.model must be options, but is a dict"),
        ({"extra_state": ["epoch", 1]}, "its extra_state must be a dictionary, but is a list"),
        ({"optimizer_history": {"num_updates": 1}}, "its optimizer_history must be a list of dictionaries"),
        ({"optimizer_history": [1]}, "its optimizer_history must be a list of dictionaries"),
    ],
)
def test_a_record_of_another_form_is_refused(change: dict[str, object], message: str, tmp_path: Path) -> None:
    torch.save({**fairseq_checkpoint({"w": torch.ones(2)}), **change}, tmp_path / "odd.pt")
    with pytest.raises(UserError, match=f"cannot load .*odd.pt: {message}"):
        write_average([tmp_path / "odd.pt"], tmp_path / "out.pt")
    assert os.listdir(tmp_path) == ["odd.pt"]

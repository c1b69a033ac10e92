"""The command line of `average`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from fairseq_rope.tools import average
from fairseq_rope_data.errors import UserError
from tests.support import forked
from tests.support.checkpoint_files import save, save_all


def run_main(monkeypatch: pytest.MonkeyPatch, *options: object) -> None:
    monkeypatch.setattr(sys, "argv", ["average", *map(str, options)])
    average.main()


NAMES = [
    *("checkpoint2.pt", "checkpoint9.pt", "checkpoint10.pt", "checkpoint11.pt"),
    *("checkpoint_1_900.pt", "checkpoint_2_1000.pt", "checkpoint_3_20000.pt"),
    *("checkpoint_best.pt", "checkpoint_last.pt", "checkpoint12.pt.tmp", "checkpoint7-shard0.pt", "old_checkpoint5.pt"),
]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--num-epoch-checkpoints", 3], ["checkpoint11.pt", "checkpoint10.pt", "checkpoint9.pt"]),
        (["--num-epoch-checkpoints", 2, "--checkpoint-upper-bound", 10], ["checkpoint10.pt", "checkpoint9.pt"]),
        (["--num-update-checkpoints", 2], ["checkpoint_3_20000.pt", "checkpoint_2_1000.pt"]),
        (["--num-update-checkpoints", 2, "--checkpoint-upper-bound", 1000], NAMES[5:3:-1]),
    ],
)
def test_the_last_checkpoints_are_taken_by_number(
    options: list[object], expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in NAMES:
        (tmp_path / name).touch()
    taken: list[Path] = []
    monkeypatch.setattr(average, "write_average", lambda paths, output: taken.extend(paths))
    run_main(monkeypatch, "--inputs", tmp_path, *options, "--output", "x.pt")
    assert [path.name for path in taken] == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["{d}", "--num-epoch-checkpoints", 4],
            r"is 4, but \S+ has 2 epoch checkpoints: checkpoint2.pt, checkpoint1.pt",
        ),
        (["{d}", "--num-update-checkpoints", 1], "has 0 update checkpoints: none"),
        (
            ["{d}", "--num-epoch-checkpoints", 2, "--checkpoint-upper-bound", 1],
            "has 1 epoch checkpoints up to --checkpoint-upper-bound 1: checkpoint1.pt",
        ),
        (["{d}", "--num-epoch-checkpoints", 0], "--num-epoch-checkpoints must be at least 1, but is 0"),
        (["{d}", "--num-update-checkpoints", -2], "--num-update-checkpoints must be at least 1, but is -2"),
        (["{d}", "{d}", "--num-epoch-checkpoints", 1], "must be one folder with a --num option, but 2 are given"),
        (["{d}/checkpoint1.pt", "--num-epoch-checkpoints", 1], "checkpoint1.pt is not a folder"),
        (["{d}", "--num-epoch-checkpoints", 1, "--num-update-checkpoints", 1], "exclude each other"),
        (["{d}/checkpoint1.pt", "--checkpoint-upper-bound", 5], "--checkpoint-upper-bound needs --num-epoch"),
        (["{d}"], "say how many with --num-epoch-checkpoints N"),
        (["{d}/checkpoint1.pt", "{d}/none.pt"], "cannot load .*none.pt: there is no such file"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(
    options: list[object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = tmp_path / "in"
    inputs.mkdir()
    save_all(inputs, [{"w": torch.ones(2)}] * 2)
    with pytest.raises(UserError, match=message):
        run_main(monkeypatch, "--output", tmp_path / "out.pt", "--inputs", *(str(o).format(d=inputs) for o in options))
    assert os.listdir(tmp_path) == ["in"]


def command(*options: object) -> subprocess.CompletedProcess[str]:
    return forked.run("fairseq_rope.tools.average", *options)


def test_the_command_tells_what_it_averaged(tmp_path: Path) -> None:
    for epoch in (1, 2, 3):
        save(tmp_path / f"checkpoint{epoch}.pt", {"w": torch.full((1000, 2), epoch)}, updates=100 * epoch, epoch=epoch)
    done = command("--inputs", tmp_path, "--num-epoch-checkpoints", 2, "--output", tmp_path / "out.pt")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[1] == ["3", "300", "3.2500", str(tmp_path / "checkpoint3.pt")]
    assert rows[2] == ["2", "200", "3.2500", str(tmp_path / "checkpoint2.pt")]
    assert done.stdout.splitlines()[3].startswith("averaged 2 checkpoints (1 keys, 2,000 numbers, int64) into")


def test_the_command_fails_in_one_line(tmp_path: Path) -> None:
    done = command("--inputs", tmp_path / "none.pt", "--output", tmp_path / "out.pt")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last == f"average: error: cannot load {tmp_path / 'none.pt'}: there is no such file"
    assert "Traceback" not in done.stderr and os.listdir(tmp_path) == []

"""A training never starts from nothing, or with a new optimizer, in the folder of an earlier one without saying so."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from fairseq import checkpoint_utils
from fairseq.dataclass.configs import CheckpointConfig

from fairseq_rope.checkpoints.averaging import write_average
from fairseq_rope.compat.silent_restart import check_resume, check_start, stop_silent_restarts
from tests.integration.test_training import command, train
from tests.support import forked
from tests.support.trained import Trained

LAST = "checkpoint_last.pt"


def options(folder: Path, **changed: object) -> CheckpointConfig:
    return CheckpointConfig(save_dir=str(folder), **changed)


def refusal(data: Path, *arguments: str, arch: str) -> str:
    """The last line of fairseq-train, which must fail and leave the folder as it is."""
    folder = Path(arguments[-1])
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.iterdir()}
    done = forked.run(*command(data, "--max-update", "5", *arguments, arch=arch))
    assert done.returncode != 0
    assert before == {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.iterdir()}
    return done.stderr.strip().splitlines()[-1]


def test_fairseq_train_stops_where_it_would_forget_a_training(trained: Trained, tmp_path: Path):
    stock = "transformer_wmt_en_de"
    arguments = ("--max-tokens", "500", "--disable-validation", "--save-dir", str(tmp_path))
    train(trained.data, "--max-update", "3", "--save-interval-updates", "2", *arguments, arch=stock)
    assert sorted(os.listdir(tmp_path)) == ["checkpoint_1_2.pt", LAST]
    (tmp_path / LAST).unlink()
    told = refusal(trained.data, *arguments, arch="transformer_rope_tiny")
    assert told.startswith(f"ValueError: --save-dir {tmp_path} holds an earlier training (checkpoint_1_2.pt), but ")
    write_average([tmp_path / "checkpoint_1_2.pt"], tmp_path / LAST)
    told = refusal(trained.data, *arguments, arch=stock)
    assert told.startswith(f"ValueError: {tmp_path / LAST} has made 2 updates, but has no optimizer state, as an av")


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["checkpoint1.pt"], "(checkpoint1.pt)"),
        (["checkpoint_1_20.pt", "checkpoint_best.pt"], "(checkpoint_1_20.pt, checkpoint_best.pt)"),
        ([f"checkpoint{epoch}.pt" for epoch in range(1, 6)], "checkpoint3.pt and 2 more)"),
        (["checkpoint.best_loss_3.1230.pt"], "(checkpoint.best_loss_3.1230.pt)"),
        (["checkpoint_last-shard0.pt"], "(checkpoint_last-shard0.pt)"),
        ([f"{LAST}.broken-2", f"{LAST}.older"], "move them elsewhere to start anew"),
    ],
)
def test_checkpoints_of_an_earlier_training_are_named(names: list[str], shown: str, tmp_path: Path):
    for name in names:
        (tmp_path / name).touch()
    for changed in ({}, {"finetune_from_model": "other.pt"}, {"restore_file": "missing.pt"}):
        with pytest.raises(ValueError, match=f"--save-dir {tmp_path} holds an earlier training") as caught:
            check_start(options(tmp_path, **changed), "")
        assert shown in str(caught.value) and "\n" not in str(caught.value)


def test_a_training_of_its_own_folder_starts_or_goes_on(tmp_path: Path):
    check_start(options(tmp_path / "none"), "")
    for name in ("settings", "train.log", "averaged.pt", "checkpoint_avg.pt", "checkpoint1.pt.tmp", "crash.pt"):
        (tmp_path / name).touch()
    check_start(options(tmp_path), "")
    (tmp_path / "checkpoint1.pt").touch()
    check_start(options(tmp_path, no_save=True), "")
    check_start(options(tmp_path, restore_file=str(tmp_path / "checkpoint1.pt")), "")
    (tmp_path / "checkpoint_last-shard0.pt").touch()
    check_start(options(tmp_path), "-shard0")
    with pytest.raises(ValueError, match=f"but there is no {tmp_path}/{LAST}, so that"):
        check_start(options(tmp_path), "")
    (tmp_path / LAST).touch()
    check_start(options(tmp_path), "")


def test_a_file_that_fairseq_looks_for_in_the_working_folder_is_not_said_to_be_missing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "save").mkdir()
    (tmp_path / "save" / "checkpoint1.pt").touch()
    monkeypatch.chdir(tmp_path)
    message = rf"\(checkpoint1.pt\), but there is no checkpoint1.pt in the working folder, {tmp_path}, so that"
    with pytest.raises(ValueError, match=message):
        check_start(options(tmp_path / "save", restore_file="checkpoint1.pt"), "")


@pytest.mark.parametrize(
    "changed", [{"reset_optimizer": True}, {"no_save_optimizer_state": True}, {"restore_file": "a.pt"}]
)
def test_a_new_optimizer_is_allowed_where_an_option_says_so(changed: dict[str, object], tmp_path: Path):
    (tmp_path / LAST).touch()
    trainer = SimpleNamespace(checkpoint_suffix="", _optim_history=[{"num_updates": 7}], get_num_updates=lambda: 0)
    check_resume(options(tmp_path, **changed), trainer)
    with pytest.raises(ValueError, match="has made 7 updates, but has no optimizer state"):
        check_resume(options(tmp_path), trainer)


def test_it_is_applied_once():
    before = checkpoint_utils.load_checkpoint
    stop_silent_restarts()
    assert checkpoint_utils.load_checkpoint is before

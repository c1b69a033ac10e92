"""`repair`: nothing is lost whatever is broken, and the newest checkpoint that can resume becomes the last one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from fairseq_rope.checkpoints.averaging import write_average
from fairseq_rope.checkpoints.health import examine
from fairseq_rope.checkpoints.repair import repair
from fairseq_rope_data.errors import UserError
from tests.support import forked
from tests.support.checkpoint_files import fairseq_checkpoint, save
from tests.support.save_dirs import DAMAGES, LAST, cut, digests, empty, names, put


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_broken_last_checkpoint_is_set_aside_and_the_newest_takes_its_place(damage, tmp_path: Path):
    put(tmp_path / "checkpoint_1_20.pt", 20)
    put(tmp_path / "checkpoint2.pt", 40)
    damage(put(tmp_path / LAST, 40))
    before = digests(tmp_path)
    done = list(repair(tmp_path))
    assert done[0].startswith(f"renamed {tmp_path / LAST} to {LAST}.broken: cannot load") and len(done) == 2
    assert done[1] == f"made {tmp_path / LAST} from checkpoint2.pt at 40 updates"
    assert before < digests(tmp_path) and examine(tmp_path / LAST).updates == 40
    assert list(repair(tmp_path)) == []


@pytest.mark.parametrize("damage", [cut, empty])
def test_the_format_of_old_torch_is_whole_until_it_is_cut(damage, tmp_path: Path):
    put(tmp_path / "checkpoint1.pt", 20, old_format=True)
    put(tmp_path / LAST, 20, old_format=True)
    before = names(tmp_path)
    assert list(repair(tmp_path)) == [] and names(tmp_path) == before
    damage(tmp_path / LAST)
    assert len(list(repair(tmp_path))) == 2
    assert examine(tmp_path / LAST).updates == 20


def test_what_is_set_aside_never_overwrites_what_was_set_aside_before(tmp_path: Path):
    put(tmp_path / "checkpoint1.pt", 20)
    for text in ("first", "second", "third"):
        (tmp_path / LAST).write_text(text)
        list(repair(tmp_path))
    aside = [tmp_path / f"{LAST}.broken{number}" for number in ("", "-2", "-3")]
    assert [path.read_text() for path in aside] == ["first", "second", "third"]


def test_a_missing_last_checkpoint_is_made(tmp_path: Path):
    put(tmp_path / "checkpoint1.pt", 20)
    assert len(list(repair(tmp_path))) == 1
    assert examine(tmp_path / LAST).updates == 20


@pytest.mark.parametrize(
    "newest", ["checkpoint_best.pt", "checkpoint3.pt", "checkpoint_3_60.pt", "checkpoint.best_bleu_-1.50023.pt"]
)
def test_the_newest_has_the_most_updates_whatever_its_name_and_date(newest: str, tmp_path: Path):
    put(tmp_path / newest, 60)
    for name, updates in (("checkpoint1.pt", 20), ("checkpoint_9_40.pt", 40), ("checkpoint_avg.pt", 90)):
        os.utime(put(tmp_path / name, updates), (2e9, 2e9))
    assert list(repair(tmp_path)) == [f"made {tmp_path / LAST} from {newest} at 60 updates"]


def test_an_average_is_never_the_newest(tmp_path: Path):
    put(tmp_path / "checkpoint1.pt", 20)
    put(tmp_path / "checkpoint2.pt", 40)
    for name in ("checkpoint_best.pt", "checkpoint9.pt"):
        write_average([tmp_path / "checkpoint2.pt"], tmp_path / name)
    (tmp_path / "checkpoint2.pt").unlink()
    assert list(repair(tmp_path)) == [f"made {tmp_path / LAST} from checkpoint1.pt at 20 updates"]


def test_an_average_in_the_place_of_the_last_is_refused_by_name(tmp_path: Path):
    put(tmp_path / "checkpoint1.pt", 20)
    write_average([tmp_path / "checkpoint1.pt"], tmp_path / LAST)
    before = digests(tmp_path)
    message = f"{LAST} has no optimizer state, .* move it elsewhere to go on from checkpoint1.pt at 20 updates"
    with pytest.raises(UserError, match=message):
        list(repair(tmp_path))
    assert digests(tmp_path) == before


@pytest.mark.parametrize("copy", [shutil.copyfile, shutil.copy2, os.link, os.rename])
def test_going_back_to_an_earlier_checkpoint_is_a_choice_that_is_kept(copy, tmp_path: Path):
    put(tmp_path / "checkpoint1.pt", 20)
    put(tmp_path / "checkpoint2.pt", 40)
    copy(tmp_path / "checkpoint1.pt", tmp_path / LAST)
    before = digests(tmp_path)
    (done,) = repair(tmp_path)
    assert done.startswith(f"left {tmp_path / LAST} at 20 updates") and digests(tmp_path) == before


def test_a_half_written_file_is_left_and_named(tmp_path: Path):
    put(tmp_path / LAST, 20)
    (tmp_path / "checkpoint2.pt.tmp").write_bytes(b"PK")
    (done,) = repair(tmp_path)
    assert done.startswith(f"left {tmp_path / 'checkpoint2.pt.tmp'}")
    assert names(tmp_path) == ["checkpoint2.pt.tmp", LAST]


def test_names_that_are_not_fairseqs_and_shards_are_left_alone(tmp_path: Path):
    put(tmp_path / LAST, 20)
    for name in ("checkpoint_last-shard0.pt", "checkpoint_avg.pt", "averaged.pt", "settings"):
        (tmp_path / name).write_bytes(b"broken")
    assert list(repair(tmp_path)) == [] and len(names(tmp_path)) == 5


def test_an_unreadable_checkpoint_is_not_a_broken_one(tmp_path: Path):
    put(tmp_path / "checkpoint1.pt", 20)
    empty(tmp_path / "checkpoint2.pt")
    (tmp_path / LAST).symlink_to("/proc/self/mem")  # an error of input and output, for root too
    before = names(tmp_path)
    with pytest.raises(OSError, match="Input/output error"):
        list(repair(tmp_path))
    assert names(tmp_path) == before


def test_what_wants_to_run_something_is_refused_and_left(tmp_path: Path):
    torch.save({**fairseq_checkpoint({"w": torch.ones(2)}), "task_state": Path("x")}, tmp_path / "checkpoint1.pt")
    with pytest.raises(UserError, match=r"cannot load .*checkpoint1.pt: it wants to run pathlib"):
        list(repair(tmp_path))
    assert names(tmp_path) == ["checkpoint1.pt"]


def test_a_folder_without_a_checkpoint_to_resume_from_says_so_until_it_is_emptied(tmp_path: Path):
    (tmp_path / "settings").touch()
    assert list(repair(tmp_path)) == []
    cut(put(tmp_path / "checkpoint1.pt", 20))
    for _ in range(2):
        with pytest.raises(UserError, match=r"no checkpoint .* can go on from, .* move checkpoint1.pt.broken els"):
            list(repair(tmp_path))
        assert names(tmp_path) == ["checkpoint1.pt.broken", "settings"]


def test_a_full_disk_changes_nothing(tmp_path: Path):
    put(tmp_path / "checkpoint1.pt", 20)
    cut(put(tmp_path / LAST, 20))
    before = names(tmp_path), digests(tmp_path)
    command = [sys.executable, "-m", "fairseq_rope.tools.repair", str(tmp_path)]
    done = subprocess.run(
        ["bash", "-c", 'ulimit -f 20; exec "$@"', "limited", *command], capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[-1] == f"repair: error: cannot write {tmp_path / LAST}: File too large"
    assert done.returncode == 1
    assert (names(tmp_path), digests(tmp_path)) == before


def test_what_is_not_a_folder_is_refused_and_a_broken_file_is_named_by_the_command(tmp_path: Path):
    cut(put(tmp_path / "checkpoint1.pt", 20))
    for name, what in (("checkpoint1.pt", "is a file"), ("typo", "does not exist")):
        done = forked.run("fairseq_rope.tools.repair", tmp_path / name)
        told = f"DIR must be a folder, the --save-dir of fairseq-train, but {tmp_path / name} {what}"
        assert done.returncode == 1 and done.stderr.splitlines()[-1] == f"repair: error: {told}"
    done = forked.run("fairseq_rope.tools.repair", tmp_path)
    assert done.returncode == 1 and done.stdout.startswith(
        f"renamed {tmp_path / 'checkpoint1.pt'} to checkpoint1.pt.br"
    )


def test_the_tests_damages_are_damages(tmp_path: Path):
    for damage in DAMAGES:
        assert examine(save(tmp_path / "c.pt", {"w": torch.ones(30_000)})).damage is None
        damage(tmp_path / "c.pt")
        assert "c.pt: it is" in (examine(tmp_path / "c.pt").damage or "")

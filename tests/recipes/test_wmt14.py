"""WMT14's recipe on a small mirror: archives to the table, run again, and killed in every stage."""

import json
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
import torch

from tests.support.environment import real_corpora
from tests.support.mirror import TEST, make_archives, served
from tests.support.process_groups import kill_group
from tests.support.wmt14 import CONF, STAGES, command, run, settings

MADE = {  # stage -> what it leaves in the work folder
    "fetch": ("raw", "archives.sha256"),
    "prepare": ("text", "data-bin", "data-bin.settings", "manifest.json"),
    "train": ("rope",),
    "average": ("rope/averaged.pt",),
    "evaluate": ("rope/generate-test.log", "rope/score-test.json"),
}
UNDER_WAY = {  # stage -> what is there only while it works
    "fetch": "raw/corpora/*.part",
    "prepare": "text/*.part",
    "train": "rope/checkpoint_*_4.pt",
    "average": "rope/averaged.pt.part*",
    "evaluate": "rope/generate-test.log.part",
}


@pytest.fixture(scope="module")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mirror")
    make_archives(folder, real_corpora())
    (folder / "conf.env").write_text(CONF)
    return folder


@pytest.fixture(scope="module")
def done(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A work folder in which the whole recipe has run for both models, and the table it printed."""
    work = tmp_path_factory.mktemp("done")
    finished = run(mirror, work, MODELS="")
    assert finished.returncode == 0, finished.stderr[-4000:]
    return work, finished.stdout


def test_archives_become_a_table_of_both_models_with_signatures(done):
    work, table = done
    header = next(line for line in table.splitlines() if line.startswith("|"))
    assert [cell.strip() for cell in header.split("|")[2:-1]] == ["rope", "sinusoidal"]
    for name in ("BLEU4", "compound", "BLEU", "chrF2"):
        assert re.search(rf"\| test: {name}.*\| +\d+\.\d\d +\| +\d+\.\d\d +\|", table), name
    assert "tok:13a" in table and "tok:as-is" in table and "bootstrap" in table
    manifest = json.loads((work / "manifest.json").read_text())
    assert "sacremoses" in json.dumps(manifest) and "37000" not in json.dumps(manifest)
    assert list((work / "rope" / "tensorboard").rglob("events*"))
    assert len((work / "rope" / "hyp-test.de").read_text(encoding="utf-8").splitlines()) == TEST


def test_a_second_run_makes_nothing_again(done, mirror: Path):
    work, table = done
    times = {path: path.stat().st_mtime_ns for path in work.rglob("*") if path.is_file()}
    page = (work / "report.html").read_bytes()
    again = run(mirror, work, MODELS="")
    assert again.returncode == 0, again.stderr[-4000:]
    assert again.stdout == table
    new = {path: path.stat().st_mtime_ns for path in work.rglob("*") if path.is_file()}
    # the page is written again, and is the same
    assert {path for path in new if new[path] != times.get(path)} == {work / "report.html"}
    assert new.keys() == times.keys() and (work / "report.html").read_bytes() == page


def test_every_symbol_of_the_training_text_is_in_the_dictionary(done):
    work, _ = done
    known = {line.split(" ")[0] for line in (work / "data-bin" / "dict.en.txt").read_text("utf-8").splitlines()}
    for lang in ("en", "de"):
        text = (work / "text" / f"train.{lang}").read_text(encoding="utf-8")
        assert set(text.split()) <= known
    assert (work / "data-bin" / "dict.en.txt").read_bytes() == (work / "data-bin" / "dict.de.txt").read_bytes()


def outputs(work: Path, stage: str) -> dict[str, object]:
    """What a stage made, as far as it is the same whenever it is made."""
    if stage == "train":
        log = (work / "rope" / "train.log").read_text()
        return {
            "updates": re.findall(r"num_updates[\"= :]+(\d+)", log)[-1],
            "done": (work / "rope" / "trained").exists(),
        }
    if stage == "average":
        model = torch.load(work / "rope" / "averaged.pt", weights_only=True)["model"]
        return {name: value.tolist() for name, value in model.items()}
    if stage == "evaluate":
        return {"scores": (work / "rope" / "score-test.json").read_text()}
    files = [path for name in MADE[stage] for path in (work / name, *(work / name).rglob("*")) if path.is_file()]
    quiet = ("preprocess.log", "manifest.json")  # they hold the time or the place
    return {str(path.relative_to(work)): path.read_bytes() for path in files if path.name not in quiet}


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_killed_at_work_gives_the_same_when_run_again(done, mirror: Path, tmp_path: Path, stage: str):
    finished, _ = done
    for earlier in STAGES[: STAGES.index(stage)]:
        for name in MADE[earlier]:
            copy = shutil.copytree if (finished / name).is_dir() else shutil.copy
            copy(finished / name, tmp_path / name)
        if earlier == "train":
            for name in ("averaged.pt", "generate-test.log", "score-test.json", "hyp-test.de"):
                (tmp_path / "rope" / name).unlink(missing_ok=True)
    with served(mirror) as (address, _):
        process = subprocess.Popen(
            command(mirror / "conf.env", stage),
            **settings(tmp_path, address),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        while not list(tmp_path.glob(UNDER_WAY[stage])) and process.poll() is None:
            time.sleep(0.005)
        assert kill_group(process) == -signal.SIGKILL, f"{stage} was done before it could be killed"
    again = run(mirror, tmp_path, stage)
    assert again.returncode == 0, again.stderr[-4000:]
    assert outputs(tmp_path, stage) == outputs(finished, stage)
    assert not list(tmp_path.rglob("*.part")) and not list(tmp_path.rglob("*.part-*"))

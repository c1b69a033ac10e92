"""fairseq_rope_data.provenance: where a run comes from, a line for each start."""

import json
import os
import platform
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from tests.support.program import run_program


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "ein klön"
    folder.mkdir()
    (folder / "file").write_text("one")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        git(folder, *command)
    return folder


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_each_start_is_a_line_that_names_commit_command_versions_and_hardware(
    monkeypatch: pytest.MonkeyPatch, repository: Path, tmp_path: Path
):
    file = tmp_path / "provenance.jsonl"
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    git(repository, "tag", "-a", "v1", "-m", "a tag is no commit")
    command = "X='a b' bash scripts/run.sh --ö"
    for content in ("one", "two"):
        (repository / "file").write_text(content)
        words = ["--source", repository, "--command", command, "--precision", "bf16"]
        done = run_program(monkeypatch, "provenance", file, *words)
        assert done.status == 0
    first, second = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    head = git(repository, "rev-parse", "--short=7", "HEAD").strip()
    assert (first["commit"], second["commit"]) == (head, f"{head}-dirty")
    assert (first["command"], first["threads"], first["precision"]) == (command, "3", "bf16")
    assert first["versions"]["torch"] == metadata.version("torch")
    assert first["versions"]["python"] == platform.python_version()
    (cores,) = subprocess.run(["nproc", "--all"], capture_output=True, text=True, check=True).stdout.split()
    assert 1 <= first["cores"] <= int(cores)
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert first["memory_gib"] == pytest.approx(total / 2**30, abs=0.06)
    assert first["processor"] and first["date"].endswith("+00:00")


def test_a_folder_that_is_no_repository_has_no_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert run_program(monkeypatch, "provenance", tmp_path / "file", "--source", tmp_path).status == 0
    assert json.loads((tmp_path / "file").read_text())["commit"] is None


def test_without_git_a_run_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("git") is None
    assert run_program(monkeypatch, "provenance", tmp_path / "file", "--source", tmp_path).status == 0
    line = json.loads((tmp_path / "file").read_text())
    assert line["commit"] is None and line["gpus"] == []

"""fairseq_rope_data.check_manifest: a file that is not what manifest recorded is told, whatever was changed in it."""

from pathlib import Path

import pytest

from tests.support.program import run_program

FILES = {"raw/a": b"x\n", "text/b": b"y\n" * 3, "data-bin/c.bin": bytes(100)}


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(content)
    assert run_program(monkeypatch, "manifest", tmp_path).status == 0
    return tmp_path


def test_files_as_they_were_pass_in_silence(monkeypatch: pytest.MonkeyPatch, work: Path) -> None:
    (work / "data-bin" / "new").write_bytes(b"not recorded")
    assert run_program(monkeypatch, "check_manifest", work) == (0, b"", "")


@pytest.mark.parametrize("name", FILES)
def test_a_changed_bit_a_lost_byte_and_a_missing_file_are_told(
    monkeypatch: pytest.MonkeyPatch, work: Path, name: str
) -> None:
    path, content = work / name, FILES[name]
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    done = run_program(monkeypatch, "check_manifest", work)
    assert done.status == 1
    assert f"error: {path} is not the file that was prepared: its SHA-256 is " in done.error
    path.write_bytes(content[1:])
    error = run_program(monkeypatch, "check_manifest", work).error
    assert f"{path} is not the file that was prepared: its size is {len(content) - 1}, but {len(content)} in " in error
    path.unlink()
    assert (
        f"{path} is missing, though {work}/manifest.json has it"
        in run_program(monkeypatch, "check_manifest", work).error
    )


def test_only_the_folders_that_are_named_are_read(monkeypatch: pytest.MonkeyPatch, work: Path) -> None:
    (work / "raw" / "a").unlink()
    assert run_program(monkeypatch, "check_manifest", work, "text", "data-bin").status == 0


@pytest.mark.parametrize(
    "content", ["{", "[]", "{}", '{"files": {"raw/a": {}}}', '{"files": {"raw/a": 1}}', "[" * 10**5]
)
def test_a_damaged_manifest_is_told(monkeypatch: pytest.MonkeyPatch, work: Path, content: str) -> None:
    (work / "manifest.json").write_text(content)
    done = run_program(monkeypatch, "check_manifest", work)
    assert (done.status, done.stdout) == (1, b"")
    assert done.error.startswith(f"check_manifest: error: {work}/manifest.json is damaged: ")


def test_a_missing_manifest_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    error = run_program(monkeypatch, "check_manifest", tmp_path).error
    assert error == f"check_manifest: error: cannot read {tmp_path}/manifest.json: No such file or directory"

"""fairseq_rope_data.manifest: what other programs say of the same files, byte for byte the same each time."""

import json
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from fairseq_rope_data import manifest
from tests.support.program import run_program

FILES = {
    "raw/train.de": "Über\u2028Straßen\n\nohne Ende".encode(),
    "raw/empty": b"",
    "text/train.de": b"ein Haus\n" * 9_999,
    "data-bin/train.en-de.de.bin": bytes(range(256)) * 4_096 + b"no byte 0 in the last chunk",
    "data-bin/shard1/dict.de.txt": b"ein 5\n",
}
OTHERS = ("text/make.log", "text/train.en.part", "raw/a.part-17", "rope/checkpoint1.pt", "notes.txt")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    for name, content in {**FILES, **dict.fromkeys(OTHERS, b"other")}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def test_sizes_lines_and_checksums_are_those_of_other_programs(monkeypatch: pytest.MonkeyPatch, work: Path) -> None:
    assert run_program(monkeypatch, "manifest", work).status == 0
    files = json.loads((work / "manifest.json").read_text(encoding="utf-8"))["files"]
    assert set(files) == set(FILES)
    for name, facts in files.items():
        path = str(work / name)
        shasum, size, lines = (
            subprocess.run([*command, path], capture_output=True, check=True, text=True).stdout.split()[0]
            for command in (["sha256sum"], ["wc", "-c"], ["wc", "-l"])
        )
        assert (facts["sha256"], facts["bytes"]) == (shasum, int(size))
        assert facts.get("lines") == (None if name.endswith(".bin") else int(lines))


def test_a_file_is_read_in_chunks(monkeypatch: pytest.MonkeyPatch, work: Path) -> None:
    path = work / "text" / "train.de"
    whole = manifest.facts(path)
    monkeypatch.setattr(manifest, "CHUNK", 7)
    assert manifest.facts(path) == whole


def test_settings_and_versions_are_kept(monkeypatch: pytest.MonkeyPatch, work: Path) -> None:
    assert run_program(monkeypatch, "manifest", work, "BPE=subword_nmt", "MOSES=-a x=y", "CLEAN=").status == 0
    found = json.loads((work / "manifest.json").read_text(encoding="utf-8"))
    assert found["settings"] == {"BPE": "subword_nmt", "MOSES": "-a x=y", "CLEAN": ""}
    for package in ("sacremoses", "subword-nmt", "sentencepiece"):
        assert found["versions"][package] == metadata.version(package)
    assert {"python", "torch"} < set(found["versions"])


def test_the_same_files_elsewhere_and_later_give_the_same_bytes_and_others_do_not(
    monkeypatch: pytest.MonkeyPatch, work: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(work, copy)
    contents = []
    for folder, settings in ((work, ("a=1", "b=2")), (copy, ("b=2", "a=1")), (copy, ("a=1", "b=2"))):
        run_program(monkeypatch, "manifest", folder, *settings)
        contents.append((folder / "manifest.json").read_bytes())
    assert contents[0] == contents[1] == contents[2]
    (copy / "raw" / "train.de").write_bytes(FILES["raw/train.de"].replace(b"O", b"0").replace(b"E", b"e"))
    run_program(monkeypatch, "manifest", copy, "a=1", "b=2")
    assert (copy / "manifest.json").read_bytes() != contents[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["a=1", "b"], "a setting must be KEY=VALUE, each key once, but is 'b'"),
        (["=1"], "a setting must be KEY=VALUE, each key once, but is '=1'"),
        (["a=1", "a=2"], "a setting must be KEY=VALUE, each key once, but is 'a=2'"),
    ],
    ids=["no value", "no key", "twice"],
)
def test_a_bad_setting_is_named_and_the_old_manifest_stays(
    monkeypatch: pytest.MonkeyPatch, work: Path, settings: list[str], message: str
) -> None:
    (work / "manifest.json").write_bytes(b"old")
    done = run_program(monkeypatch, "manifest", work, *settings)
    assert (done.status, done.stderr) == (1, f"manifest: error: {message}\n")
    assert (work / "manifest.json").read_bytes() == b"old"


def test_a_folder_without_a_corpus_is_named_and_left_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done = run_program(monkeypatch, "manifest", tmp_path)
    assert (done.status, done.stderr) == (1, f"manifest: error: {tmp_path} has no file in raw, text, data-bin\n")
    assert not list(tmp_path.iterdir())

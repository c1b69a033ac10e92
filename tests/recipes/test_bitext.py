"""scripts/run_bitext.sh on one's own files: seeds, shards, sentencepiece, and text that is no corpus."""

import gzip
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.environment import environment

CONF = """# Models that learn nothing in no time.
# shellcheck shell=bash disable=SC2034
source "$ROOT/scripts/conf/tiny.env"
BPE_MERGES=200
MODEL_ROPE+=(--encoder-layers 1 --decoder-layers 1 --encoder-embed-dim 32 --decoder-embed-dim 32)
BATCH_TOKENS=1024
TRAIN+=(--max-update 10)
SAVE=(--save-interval-updates 2 --keep-interval-updates 3 --no-epoch-checkpoints)
AVERAGE=(--num-update-checkpoints 2)
GENERATE+=(--max-len-b 5)
"""
SIZES = {"train": 300, "valid": 30, "test": 20}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the first pairs of the embedded corpus, the training text compressed, and a conf.env."""
    folder = tmp_path_factory.mktemp("corpus")
    whole = folder / "whole"
    subprocess.run([sys.executable, "-m", "fairseq_rope_data.grammar", str(whole)], cwd=ROOT, check=True)
    for name, size in SIZES.items():
        for lang in ("en", "de"):
            lines = (whole / f"{name}.{lang}").read_bytes().splitlines(keepends=True)[:size]
            (folder / f"{name}.{lang}").write_bytes(b"".join(lines))
    for lang in ("en", "de"):
        plain = folder / f"train.{lang}"
        (folder / f"train.{lang}.gz").write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
        plain.unlink()
    (folder / "conf.env").write_text(CONF)
    return folder


def bitext(work: Path, corpus: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    prefixes = [word for name in SIZES for word in (f"--{name}", str(corpus / name))]
    command = ["bash", "scripts/run_bitext.sh", *prefixes, "-s", "en", "-t", "de"]
    return subprocess.run(
        [*command, "--conf", str(corpus / "conf.env"), *arguments],
        **{"cwd": ROOT, "env": environment(work, **settings), "capture_output": True, "text": True, "check": False},
    )


def test_seeds_shards_and_sentencepiece_end_in_a_table_and_a_translator(corpus: Path, tmp_path: Path):
    for lang in ("en", "de"):
        (tmp_path / f"other.{lang}").write_bytes((corpus / f"valid.{lang}").read_bytes())
    more = ("--test", str(tmp_path / "other"))
    work = tmp_path / "ein wörk 'folder'"
    done = bitext(work, corpus, *more, "--seeds", "1,2", BPE="sentencepiece", SHARDS="2")
    assert done.returncode == 0, done.stderr[-4000:]
    assert "rope (2 seeds)" in done.stdout
    assert re.search(r"\| valid loss, best +\| \d+\.\d+ ± \d+\.\d+", done.stdout), done.stdout
    assert "| test: chrF2 " in done.stdout and "| other: chrF2 " in done.stdout
    assert "BLEU4" not in done.stdout  # sentencepiece leaves no tokens as Moses makes them
    for shard in ("data-bin", "data-bin/shard1"):
        assert f"{work}/{shard} train en-de 150 examples" in done.stderr
    assert len(translate_as_printed(done.stdout, tmp_path, environment(work))) == 1


def translate_as_printed(printed: str, folder: Path, env: dict[str, str]) -> list[str]:
    """Copy what a recipe printed into a shell in `folder`, for one sentence; give the translation."""
    (folder / "mine.en").write_text("Yesterday the man saw the house.\n")
    lines = printed.split("Translate your own text")[1].splitlines()[1:]
    done = subprocess.run(
        ["bash", "-e"], input="\n".join(lines), env=env, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return (folder / "mine.de").read_text(encoding="utf-8").splitlines()


def replace_line(path: Path, number: int, line: bytes) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines[number - 1] = line
    path.write_bytes(b"".join(lines))


def swap(folder: Path) -> None:
    english = (folder / "valid.en").read_bytes()
    (folder / "valid.en").write_bytes((folder / "valid.de").read_bytes())
    (folder / "valid.de").write_bytes(english)


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "unaligned": (lambda folder: replace_line(folder / "valid.de", 30, b""), "valid.de:30: there is no such line"),
    "not UTF-8": (lambda folder: replace_line(folder / "test.en", 7, b"caf\xe9\n"), "test.en:7: not valid UTF-8"),
    "empty": (lambda folder: (folder / "test.de").write_bytes(b""), "test.de"),
    "swapped": (swap, "look swapped"),
    "missing": (lambda folder: (folder / "test.de").unlink(), "--test"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_text_that_is_no_corpus_is_named_before_anything_is_learned_and_mended_text_is_taken(
    corpus: Path, tmp_path: Path, change: Callable[[Path], object], message: str
):
    folder, work = tmp_path / "corpus", tmp_path / "work"
    folder.mkdir()
    for path in corpus.glob("*.*"):
        (folder / path.name).write_bytes(path.read_bytes())
    change(folder)
    bad = bitext(work, folder, "fetch", "prepare")
    assert bad.returncode != 0
    assert message in bad.stderr, bad.stderr[-2000:]
    assert not (work / "text" / "codes").exists()
    for name in ("valid", "test"):
        for lang in ("en", "de"):
            (folder / f"{name}.{lang}").write_bytes((corpus / f"{name}.{lang}").read_bytes())
    good = bitext(work, folder, "fetch")
    assert good.returncode == 0, good.stderr[-2000:]
    for name in ("valid", "test"):
        for lang in ("en", "de"):
            assert (work / "raw" / f"{name}.{lang}").read_bytes() == (folder / f"{name}.{lang}").read_bytes()

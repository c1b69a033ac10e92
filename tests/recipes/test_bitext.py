"""scripts/run_bitext.sh on one's own files: seeds, shards, sentencepiece, and text that is no corpus."""

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.environment import environment, forking_environment

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
        **{
            "cwd": ROOT,
            "env": forking_environment(work, **settings),
            "capture_output": True,
            "text": True,
            "check": False,
        },
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


def train_again(folder: Path) -> None:
    for lang in ("en", "de"):
        (folder / f"valid.{lang}").write_bytes(gzip.decompress((folder / f"train.{lang}.gz").read_bytes()))


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "unaligned": (lambda folder: replace_line(folder / "valid.de", 30, b""), "valid.de:30: there is no such line"),
    "not UTF-8": (lambda folder: replace_line(folder / "test.en", 7, b"caf\xe9\n"), "test.en:7: not valid UTF-8"),
    "empty": (lambda folder: (folder / "test.de").write_bytes(b""), "test.de"),
    "swapped": (swap, "look swapped"),
    "training text": (train_again, "/raw/valid is the training text again: valid must be other text"),
    "a log for references": (
        lambda folder: replace_line(folder / "test.de", 3, b"S-3\tein Haus\n"),
        "test.de:3 is no raw text, which scores are made with: S-3\tein Haus",
    ),
    "tokens for references": (
        lambda folder: replace_line(folder / "test.de", 3, b"ein @-@ zwei\n"),
        "test.de:3 is no raw text, which scores are made with: ein @-@ zwei",
    ),
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


def test_a_last_line_may_lack_its_end_and_a_line_too_long_for_the_model_is_named_before_its_training(
    corpus: Path, tmp_path: Path
):
    folder, work = tmp_path / "corpus", tmp_path / "work"
    folder.mkdir()
    for path in corpus.glob("*.*"):
        (folder / path.name).write_bytes(path.read_bytes())
    english = (folder / "test.en").read_bytes()
    (folder / "test.en").write_bytes(english.removesuffix(b"\n"))
    replace_line(folder / "test.de", 6, b"S-300 ist eine Rakete, A-3 eine Autobahn .\n")
    replace_line(folder / "test.de", 7, b"ja " * 1030 + b"\n")
    prepared = bitext(work, folder, "fetch", "prepare")
    assert prepared.returncode == 0, prepared.stderr[-2000:]
    trained = bitext(work, folder, "train")
    assert trained.returncode == 1 and not list(work.rglob("*.pt"))
    message = (
        rf"{work}/text/test\.de:7 has [0-9]+ tokens, but the model takes 1024: give it more with --max-target-positions"
    )
    assert re.search(message, trained.stderr), trained.stderr[-2000:]


def test_scores_are_asked_for_by_the_code_of_a_language_alone():
    script = (
        "source scripts/lib/evaluate_translation.sh; LOWERCASE=0 BPE=subword_nmt TARGET_LANG=pt_BR; "
        'score_options found; echo "${found[@]}"'
    )
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("--target-lang pt --allow empty\n", "")


WINDOWS = """
WINDOWS=(--size 3 --random --singles) TEST_WINDOWS=(2 5) WINDOW_OPTIONS=(--any-order --separator '|||')
CLEAN=(--max-length 22)
"""


def test_a_model_of_windows_is_tested_on_lines_and_in_windows(corpus: Path, tmp_path: Path):
    (tmp_path / "conf.env").write_text(CONF + WINDOWS)
    work = tmp_path / "work"
    done = bitext(work, corpus, "--conf", str(tmp_path / "conf.env"))
    assert done.returncode == 0, done.stderr[-4000:]
    text = work / "text"
    kept = json.loads((text / "train.lines.clean.json").read_text())["kept"]
    lines = [line.count("|||") + 1 for line in (text / "train.de").read_text(encoding="utf-8").splitlines()]
    assert 0 < kept < 300 and lines.count(1) == kept and set(lines) == {1, 2, 3}
    assert "||| " in (work / "data-bin" / "dict.en.txt").read_text(encoding="utf-8")
    for name, sizes in (("test", None), ("test-w2", [2] * 10), ("test-w5", [5] * 4)):
        report = json.loads((work / "rope" / f"score-{name}.json").read_text())
        assert report["sentences"] == (20 if sizes is None else len(sizes))
        found = report["windows"]["positions"] if sizes else []
        assert [place["sentences"] for place in found] == ([] if sizes is None else [len(sizes)] * sizes[0])
        log = (work / "rope" / f"generate-{name}.log").read_text(encoding="utf-8")
        targets = [line.split("\t")[1] for line in log.splitlines() if line.startswith("T-")]
        assert {target.count("|||") + 1 for target in targets} == {sizes[0] if sizes else 1}
        # by line, so that all can be compared with each other
        assert len((work / "rope" / f"hyp-{name}.de").read_text(encoding="utf-8").split("\n")) == 21
        assert f"| {name}: BLEU " in done.stdout
        assert (f"| {name}: windows of another number " in done.stdout) == (sizes is not None)
    again = bitext(work, corpus, "--conf", str(tmp_path / "conf.env"))
    assert again.returncode == 0 and " make " not in again.stderr
    (tmp_path / "conf.env").write_text(CONF + WINDOWS.replace("--size 3", "--size 4"))
    other = bitext(work, corpus, "--conf", str(tmp_path / "conf.env"))
    assert other.returncode == 1 and '+WINDOWS=([0]="--size" [1]="4"' in other.stderr


@pytest.mark.parametrize(
    ("conf", "message"),
    [
        ("WINDOWS=(--random)", "WINDOWS must have --size N, but is --random"),
        ("TEST_WINDOWS=(2)", "TEST_WINDOWS needs WINDOWS: a model that was not trained on windows does not know"),
        ("WINDOWS=(--size 2) TEST_WINDOWS=(2 x)", "TEST_WINDOWS must be whole numbers from 1 to 9999, but has x"),
        ("WINDOWS=(--size 2) TEST_WINDOWS=(2 2)", "TEST_SETS and TEST_WINDOWS make a name twice: test test-w2 test-w2"),
    ],
)
def test_settings_of_windows_are_checked_before_any_work(corpus: Path, tmp_path: Path, conf: str, message: str):
    (tmp_path / "conf.env").write_text(f"{CONF}{conf}\n")
    done = bitext(tmp_path / "work", corpus, "--conf", str(tmp_path / "conf.env"))
    assert done.returncode == 1 and f"error: {message}" in done.stderr
    assert not (tmp_path / "work" / "raw").exists()

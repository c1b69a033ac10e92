"""scripts/run_mlm.sh: running text to masked language models, their lengths and scalings, and text that is none."""

import ast
import gzip
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.corpora import sentences
from tests.support.environment import forking_environment
from tests.support.stubs import Stubs

SCRIPT = str(ROOT / "scripts" / "run_mlm.sh")
CONF = """# Models that learn nothing in no time.
# shellcheck shell=bash disable=SC2034
MAX_UPDATE=${MAX_UPDATE:-4}
source "$ROOT/scripts/conf/mlm.env"
BPE_MERGES=100 BLOCK=16 TEST_LENGTHS=(16 32) BATCH_TOKENS=256
SMALL=(--encoder-layers 1 --encoder-embed-dim 16 --encoder-ffn-embed-dim 16 --encoder-attention-heads 2)
MODEL_ROFORMER+=("${SMALL[@]}") MODEL_BERT+=("${SMALL[@]}" --max-positions 16) MODEL_SINUSOIDAL+=("${SMALL[@]}")
TRAIN+=(--tokens-per-sample "$BLOCK" --warmup-updates 2)
SAVE=(--save-interval-updates 2 --validate-interval-updates 2 --keep-interval-updates 1 --no-epoch-checkpoints)
"""
TWINS = ("roformer", "bert")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with text in three files, one of them packed and one without its last line end, and a conf.env."""
    folder = tmp_path_factory.mktemp("a 'text'\n-ö")
    lines = sentences(240, seed=4)
    (folder / "one.txt").write_text("\n".join(lines[:120]))
    (folder / "two.txt.gz").write_bytes(gzip.compress("\n".join([*lines[120:200], ""]).encode()))
    (folder / "valid.txt").write_text("\n".join([*lines[200:], ""]))
    (folder / "conf.env").write_text(CONF)
    return folder


def command(text: Path, *arguments: str) -> list[str]:
    train = ["--train", str(text / "one.txt"), str(text / "two.txt")]
    return ["bash", SCRIPT, *train, "--valid", str(text / "valid.txt"), "--conf", str(text / "conf.env"), *arguments]


def value(call: list[str], option: str) -> str:
    return call[len(call) - 1 - call[::-1].index(option) + 1]


def without(call: list[str], *options: str) -> list[str]:
    return [word for word, before in zip(call, ["", *call[:-1]], strict=True) if not {word, before} & {*options}]


def test_twins_are_trained_alike_and_read_at_every_length(stubs: Stubs, text: Path, tmp_path: Path):
    work = tmp_path / "work"
    done = stubs.run(work, *command(text, "--models", "roformer bert roformer_yarn", "--seeds", "1,2"))
    assert done.returncode == 0, done.stderr
    lines = (work / "raw" / "train.en").read_text().split("\n")
    assert len(lines) == 201 and not {path.name for path in (work / "raw").iterdir()} - {"train.en", "valid.en"}
    calls = {Path(value(call, "--save-dir")).name: call for call in stubs.calls("fairseq-train")}
    assert calls.keys() == {"roformer", "bert", "roformer-seed2", "bert-seed2"}
    for seed in ("", "-seed2"):
        calls_of = {name: without(calls[name + seed], "--position-method", "--max-positions") for name in TWINS}
        ours, theirs = ([word.replace(name, "MODEL") for word in call] for name, call in calls_of.items())
        assert [word.replace("MODEL_tiny", "roformer_tiny") for word in ours] == theirs
        assert "--source-lang" not in ours and value(ours, "--task") == "masked_lm"
    averages = [call[2:] for call in stubs.calls("fairseq_rope.tools.average")]
    assert ["--inputs", f"{work}/bert/checkpoint_last.pt", "--output", f"{work}/bert/averaged.pt"] in averages
    masked = stubs.calls("fairseq_rope.tools.masked")
    assert len(masked) == 3 * 2 * 2 and {value(call, "--length") for call in masked} == {"16", "32"}
    scaled = [call for call in masked if "--model-overrides" in call]
    assert {Path(value(call, "--path")).parent.name for call in scaled} == {"roformer", "roformer-seed2"}
    yarn = {"rope_scaling": "yarn", "rope_scaling_factor": 4, "rope_original_length": 16}
    assert all(ast.literal_eval(value(call, "--model-overrides")) == yarn for call in scaled)
    assert (work / "roformer_yarn-seed2" / "score-valid-32.json").exists()

    again = stubs.run(work, *command(text, "--models", "roformer bert roformer_yarn", "--seeds", "1,2"))
    assert again.returncode == 0 and " make " not in again.stderr and not stubs.calls("fairseq-train"), again.stderr
    other = stubs.run(work, *command(text, "evaluate", "--models", "roformer"), FACTOR="8")
    removed = other.stderr.partition("remove this")[0]
    assert other.returncode == 1 and "roformer_yarn/score-valid-16.json" in removed and "bert/" not in removed
    swapped = ["--train", str(text / "two.txt"), str(text / "one.txt")]
    other = stubs.run(work, *command(text, *swapped[:1], str(text / "one.txt"), "prepare"))
    assert other.returncode == 1 and "+raw/train.en: 320 lines" in other.stderr, other.stderr


def test_scores_of_a_length_that_is_read_no_more_are_of_todays_checkpoint_too(stubs: Stubs, text: Path, tmp_path: Path):
    work, conf = tmp_path / "work", tmp_path / "conf.env"
    words = command(text, "--models", "roformer", "--conf", str(conf))
    conf.write_text(CONF)
    assert stubs.run(work, *words).returncode == 0
    conf.write_text(f"{CONF}TEST_LENGTHS=(16)\n")
    done = stubs.run(work, *words)
    assert done.returncode == 0 and (work / "roformer" / "score-valid-32.json").exists(), done.stderr
    for setting, averaged in (
        ("AVERAGE=(--num-update-checkpoints 1)", {"averaged.pt"}),
        ("GENERATE=(--mask-share 0.4)", set()),
    ):
        conf.write_text(f"{CONF}TEST_LENGTHS=(16)\n{setting}\n")
        done = stubs.run(work, *words, "average", "evaluate")
        removed = shlex.split(done.stderr.partition(", + now): ")[2].partition("; remove this")[0])
        names = {*averaged, "score-valid-16.json", "score-valid-32.json"}
        assert done.returncode == 1 and set(removed) == {f"{work}/roformer/{name}" for name in names}, done.stderr


def test_text_with_a_nul_has_as_many_lines_as_other_tools_count(stubs: Stubs, text: Path, tmp_path: Path):
    odd = tmp_path / "odd.txt"
    odd.write_bytes(b"a\0b c\nd e f\n" + (text / "one.txt").read_bytes())
    work = tmp_path / "work"
    done = stubs.run(work, *command(text, "--train", str(odd), "fetch", "prepare"))
    assert done.returncode == 0, done.stderr
    assert (work / "text" / "train.en").read_bytes().count(b"\n") == 202 + 120


BAD = {  # arguments after the others, settings -> the error
    "no files": (["--train", "fetch"], {}, "--train needs a file, but is followed by the stage fetch"),
    "an empty name": (["--train", "a", ""], {}, "--train must name files, but has an empty name"),
    "a missing file": (["--valid", "nowhere.txt"], {}, "--valid nowhere.txt: there is no such file"),
    "a folder": (["--valid", "."], {}, "--valid . is a folder: name the files in it"),
    "less than a block": ([], {"MAX_TOKENS": "15"}, "MAX_TOKENS must hold a block of roformer, 16 tokens, but is 15"),
    "GPUs that do not divide the batch": (
        [],
        {"GPUS": "3"},
        "BATCH_TOKENS must be shared evenly by 3 GPUs, but is 16 block(s) of 16 tokens for roformer",
    ),
    "a factor": ([], {"FACTOR": "abc"}, "FACTOR must be a number of at least 1, such as 4 or 1.5, but is abc"),
    "a factor below 1": ([], {"FACTOR": "0.5"}, "FACTOR must be a number of at least 1, such as 4 or 1.5, but is 0.5"),
    "shards": ([], {"SHARDS": "2"}, "SHARDS must be 1 with running text, whose lines belong together, but is 2"),
    "BLEU": ([], {"VALID_BLEU": "1"}, "VALID_BLEU must be 0 with running text, which is not translated, but is 1"),
    "a language": (["--lang", "../en"], {}, "SOURCE_LANG must be of letters, digits, _ and -, but is ../en"),
    "a conf": (["--conf", "none"], {}, "--conf none: there is no "),
    "a model": (
        ["--models", "rope"],
        {},
        "--models must be of bert roformer sinusoidal roformer_ntk roformer_yarn, but is",
    ),
    "a stage": (["learn"], {}, "a stage must be of fetch prepare train average evaluate, but is learn"),
    "an option of pairs": (["-s", "en"], {}, "there is no option -s, see --help"),
}


@pytest.mark.parametrize(("arguments", "settings", "message"), BAD.values(), ids=BAD)
def test_a_bad_option_is_named_and_leaves_nothing(
    stubs: Stubs, text: Path, tmp_path: Path, arguments, settings, message
):
    done = stubs.run(tmp_path / "work", *command(text, *arguments), **settings)
    assert done.returncode == 1 and message in done.stderr and done.stderr.count(": error: ") == 1, done.stderr
    assert not list((tmp_path / "work").rglob("*"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"good\nb\xe9d\n", "bad.txt:2: not valid UTF-8, byte 2 is 0xe9"),
        (b"\n \n", "bad.txt has no text"),
        (None, "are the same text"),
    ],
    ids=["not UTF-8", "blank", "the training text"],
)
def test_text_that_is_none_is_named_by_file_and_line_and_mended_text_is_taken(
    stubs: Stubs, text: Path, tmp_path: Path, data: bytes | None, message: str
):
    bad = tmp_path / "bad.txt"
    bad.write_bytes((text / "one.txt").read_bytes() if data is None else data)
    words = [
        "--train",
        str(text / "one.txt"),
        "--valid",
        str(bad),
        "--conf",
        str(text / "conf.env"),
        "fetch",
        "prepare",
    ]
    done = stubs.run(tmp_path / "work", "bash", SCRIPT, *words)
    assert done.returncode == 1 and message in done.stderr, done.stderr
    assert not (tmp_path / "work" / "text" / "codes").exists()
    bad.write_bytes((text / "valid.txt").read_bytes())
    done = stubs.run(tmp_path / "work", "bash", SCRIPT, *words)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "work" / "raw" / "valid.en").read_bytes() == bad.read_bytes()


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ("(16 1)", "be whole numbers from 2 to 999999, but has 1"),
        ("(16 x)", "be whole numbers from 2 to 999999, but has x"),
        ("()", "have a length"),
    ],
)
def test_lengths_are_numbers(stubs: Stubs, text: Path, tmp_path: Path, lengths: str, message: str):
    (tmp_path / "conf.env").write_text(f"{CONF}TEST_LENGTHS={lengths}\n")
    done = stubs.run(tmp_path / "work", *command(text, "--conf", str(tmp_path / "conf.env")))
    assert done.returncode == 1 and f"error: TEST_LENGTHS must {message}\n" in done.stderr, done.stderr
    assert not (tmp_path / "work").exists()


def test_a_validation_text_shorter_than_a_test_length_is_named_before_any_training(
    stubs: Stubs, text: Path, tmp_path: Path
):
    (tmp_path / "conf.env").write_text(f"{CONF}TEST_LENGTHS=(99999 16)\n")
    done = stubs.run(tmp_path / "work", *command(text, "--conf", str(tmp_path / "conf.env"), "--models", "roformer"))
    message = r"error: the validation text has (\d+) tokens, but a block of TEST_LENGTHS 99999: give a longer one "
    found = re.search(message, done.stderr)
    assert done.returncode == 1 and found and not stubs.calls("fairseq-train"), done.stderr
    tokens = int(found[1])
    assert tokens == sum(len(line.split()) + 1 for line in (tmp_path / "work" / "text" / "valid.en").open())
    # a block has <s> in front
    (tmp_path / "conf.env").write_text(f"{CONF}TEST_LENGTHS=(16 {tokens + 1})\n")
    words = command(text, "--conf", str(tmp_path / "conf.env"), "--models", "roformer", "prepare")
    done = stubs.run(tmp_path / "work", *words)
    assert done.returncode == 0, done.stderr
    (tmp_path / "conf.env").write_text(f"{CONF}TEST_LENGTHS=(16 {tokens + 2})\n")
    assert stubs.run(tmp_path / "work", *words).returncode == 1


@pytest.mark.parametrize("conf", ["mlm", "bert_base"])
def test_the_confs_are_taken(stubs: Stubs, text: Path, tmp_path: Path, conf: str):
    done = stubs.run(tmp_path / "work", *command(text, "--conf", conf, "--check"))
    assert (done.returncode, done.stderr) == (0, "")


def test_text_becomes_models_a_table_pictures_and_a_page(text: Path, tmp_path: Path):
    work = tmp_path / "work"
    words = command(text, "--models", "roformer bert")
    done = subprocess.run(
        words,
        cwd=ROOT,
        env=forking_environment(work),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert re.search(r"\| valid-16: bits +\| \d\.\d{3} +\| \d\.\d{3} +\|", done.stdout), done.stdout
    assert re.search(r"\| valid-32: bits +\| \d\.\d{3} +\| +\|", done.stdout), done.stdout
    assert (
        "note on valid-32 of bert: --allow beyond-table: not read, for its learned positions are a table" in done.stdout
    )
    assert "roformer to reach bert" in done.stdout
    for name in ("learning_curves.png", "lengths-valid.png"):
        assert (work / name).read_bytes().startswith(b"\x89PNG")
    assert "bits on valid-16" in (work / "report.html").read_text(encoding="utf-8")
    report = json.loads((work / "roformer" / "score-valid-16.json").read_text())
    tokens = sum(report["blocks"]["tokens"])
    assert tokens > 50 and (report["length"], report["trained_length"]) == (16, 16)
    # the loss that fairseq logged has other masks, of the same text
    logged = re.findall(r"valid on 'valid' subset \| loss (\S+)", (work / "roformer" / "train.log").read_text())
    assert report["scores"][0]["value"] == pytest.approx(float(logged[-1]), abs=0.5)
    assert (work / "data-bin" / "dict.txt").is_file()

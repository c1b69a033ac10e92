"""scripts/lib/records.sh: a work folder is made from today's text and settings, or a run says so before it works."""

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.stubs import Stubs
from tests.support.work_folders import named, state

SETS = ("test", "other")


def test_a_moved_folder_has_nothing_left_to_do(stubs: Stubs, work: Path):
    before = state(work)
    done = stubs.run(work, *stubs.command())
    assert done.returncode == 0, done.stderr
    assert state(work) == before and " make " not in done.stderr


def test_damaged_data_is_told_before_any_work(stubs: Stubs, work: Path):
    (work / "data-bin" / "dict.de.txt").write_bytes(b"another")
    before = state(work)
    done = stubs.run(work, *stubs.command())
    assert done.returncode == 1 and state(work) == before
    assert f"error: {work}/data-bin/dict.de.txt is not the file that was prepared: its size is 7, but 0" in done.stderr


def test_the_printed_command_is_the_same_words_to_a_shell(stubs: Stubs, finished: Path, tmp_path: Path):
    printed = stubs.run(finished, *stubs.command()).stdout
    line = next(line for line in printed.splitlines() if "tools.translate" in line)
    (tmp_path / "mine.en").write_text("A sentence.\n")
    done = stubs.run(finished, "bash", "-c", f"cd {shlex.quote(str(tmp_path))} && {line}")
    assert done.returncode == 0 and (tmp_path / "mine.de").read_text() == "A sentence.\n", done.stderr
    (call,) = stubs.calls("fairseq_rope.tools.translate")
    assert call[2:5] == [f"{finished}/data-bin", "--path", f"{finished}/rope/averaged.pt"]
    assert f"{finished}/text/codes" in call


ALL = {"text", "data-bin", "rope"}
TRANSLATED = {"rope/generate-test.log", "rope/score-test.json"}
OTHER = {  # arguments, settings, conf -> what is named, a line of the difference
    "training text": (["prepare"], {"train": "other"}, {}, "", ALL - {"rope"}, "+raw/train.en: 41 lines"),
    "validation text, trained already": (["train"], {"valid": "other"}, {}, "", ALL, "+raw/valid.en: 41 lines"),
    "text of the test set": (
        [],
        {"test": "../other/test"},
        {},
        "",
        {"text", "data-bin", *TRANSLATED},
        "+raw/test.de: 41 lines",
    ),
    "another test set": (["evaluate"], {"test": "other"}, {}, "", {"text", "data-bin"}, '+TEST_SETS=([0]="other")'),
    "segmentation": (["train"], {}, {"BPE": "sentencepiece"}, "", ALL, '+BPE="sentencepiece"'),
    "shards": (["train"], {}, {"SHARDS": "2"}, "", {"data-bin", "rope"}, "+SHARDS=2"),
    "training, evaluated alone": (["evaluate"], {}, {"MAX_EPOCH": "46"}, "", {"rope"}, "+--max-epoch 46"),
    "batch": (["average"], {}, {}, "BATCH_TOKENS=512", {"rope"}, "+BATCH_TOKENS=512"),
    "the other model is of other settings": (
        ["train"],
        {},
        {"MODELS": "sinusoidal"},
        "TRAIN+=(--lr 1)",
        {"rope"},
        "+--lr 1",
    ),
    "average": (
        ["average", "evaluate"],
        {},
        {},
        "AVERAGE=(--num-epoch-checkpoints 7)",
        {"rope/averaged.pt", *TRANSLATED},
        "+--num-epoch-checkpoints 7",
    ),
    "search": (["evaluate"], {}, {}, "GENERATE=(--beam 1)", TRANSLATED, "+--beam 1"),
}


@pytest.mark.parametrize(
    ("stages", "prefixes", "settings", "conf", "products", "difference"), OTHER.values(), ids=OTHER
)
def test_other_text_or_settings_are_refused_before_work_and_what_is_made_from_others_is_named(
    stubs: Stubs, work: Path, stages, prefixes, settings, conf, products: set[str], difference: str
):
    elsewhere = stubs.text.parent / "other"
    elsewhere.mkdir(exist_ok=True)
    for lang in ("en", "de"):
        shutil.copy(stubs.text / f"other.{lang}", elsewhere / f"test.{lang}")
    before = state(work)
    done = stubs.run(work, *stubs.command(*stages, conf=conf, **prefixes), **settings)
    assert done.returncode == 1 and named(done.stderr) == products, done.stderr
    assert difference in done.stderr.splitlines() or f"\n{difference}" in done.stderr
    assert state(work) == before and not stubs.calls("fairseq-train")


def test_a_training_does_not_depend_on_how_it_will_be_evaluated(stubs: Stubs, work: Path):
    done = stubs.run(work, *stubs.command("train", conf="GENERATE=(--beam 1)\nAVERAGE=(--num-epoch-checkpoints 7)"))
    assert done.returncode == 0, done.stderr


def test_a_new_test_set_takes_no_new_training_once_what_is_named_is_removed(stubs: Stubs, work: Path):
    given = stubs.command(test="other")
    done = stubs.run(work, *given)
    for name in named(done.stderr):
        shutil.rmtree(work / name)
    done = stubs.run(work, *given)
    assert done.returncode == 0, done.stderr
    assert not stubs.calls("fairseq-train") and (work / "rope" / "score-other.json").exists()
    assert '"TEST_SETS": "other"' in (work / "manifest.json").read_text()


def test_scores_of_a_set_that_is_tested_no_more_are_of_todays_checkpoint_too(stubs: Stubs, work: Path):
    given = stubs.command(test="other")
    for name in named(stubs.run(work, *given).stderr):
        shutil.rmtree(work / name)
    shutil.rmtree(work / "raw")  # the text of the old set is not there any more
    assert stubs.run(work, *given).returncode == 0
    again = stubs.run(work, *given)
    assert again.returncode == 0 and (work / "rope" / "score-test.json").exists(), again.stderr
    both = {f"rope/{name}-{set_}.{end}" for name, end in (("generate", "log"), ("score", "json")) for set_ in SETS}
    done = stubs.run(work, *stubs.command("evaluate", test="other", conf="GENERATE=(--beam 1)"))
    assert done.returncode == 1 and named(done.stderr) == both, done.stderr
    done = stubs.run(work, *stubs.command("average", "evaluate", test="other", conf="AVERAGE=()"))
    assert done.returncode == 1 and named(done.stderr) == {"rope/averaged.pt", *both}, done.stderr


def test_text_that_was_only_copied_is_taken_again(stubs: Stubs, tmp_path: Path):
    assert stubs.run(tmp_path, *stubs.command("fetch")).returncode == 0
    done = stubs.run(tmp_path, *stubs.command("prepare", train="other"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "raw" / "train.en").read_bytes() == (stubs.text / "other.en").read_bytes()
    assert "raw/train.en: 41 lines" in (tmp_path / "text" / "settings").read_text()


def test_raw_text_that_was_removed_is_what_it_was(stubs: Stubs, work: Path):
    shutil.rmtree(work / "raw")
    (work / "rope" / "score-test.json").unlink()
    done = stubs.run(work, *stubs.command("train", "average", "evaluate", train="", valid="", test=""))
    assert done.returncode == 0, done.stderr


def test_one_side_of_the_text_that_was_removed_is_made_again(stubs: Stubs, tmp_path: Path):
    work = tmp_path / "removed"
    windows = "WINDOWS=(--size 2) TEST_WINDOWS=(2) WINDOW_OPTIONS=(--any-order)"
    command = stubs.command("fetch", "prepare", conf=f"CLEAN=(--max-length 30)\n{windows}\n")
    assert stubs.run(work, *command).returncode == 0
    sides = {work / "text" / name: b"" for name in ("train.lines.en", "train.de", "test-w2.en")}
    for side in sides:
        sides[side] = side.read_bytes()
        side.unlink()
    shutil.rmtree(work / "data-bin")
    done = stubs.run(work, *command)
    assert done.returncode == 0, done.stderr
    assert {side: side.read_bytes() for side in sides} == sides


def test_more_shards_than_lines_are_refused(stubs: Stubs, tmp_path: Path):
    done = stubs.run(tmp_path / "work", *stubs.command("fetch", "prepare"), SHARDS="41")
    text = tmp_path / "work" / "text" / "train.en"
    assert done.returncode == 1 and f"error: SHARDS must be at most 40, the lines of {text}, but is 41" in done.stderr


def test_raw_text_that_was_edited_is_refused(stubs: Stubs, work: Path):
    (work / "raw" / "valid.de").write_text("etwas anderes\n")
    done = stubs.run(work, *stubs.command("average", train="", valid="", test=""))
    assert done.returncode == 1 and named(done.stderr) == ALL


def test_an_average_whose_checkpoints_were_removed_is_not_taken_for_another(stubs: Stubs, work: Path):
    for name in ("checkpoint_last.pt", "trained"):
        (work / "rope" / name).unlink()
    done = stubs.run(work, *stubs.command("evaluate"), MAX_EPOCH="46")
    assert done.returncode == 1 and named(done.stderr) == {"rope/averaged.pt", *TRANSLATED}
    assert stubs.run(work, *stubs.command("evaluate")).returncode == 0


def test_a_training_that_made_nothing_refuses_no_good_value(stubs: Stubs, work: Path):
    shutil.rmtree(work / "rope")
    assert stubs.run(work, *stubs.command("train", conf="TRAIN+=(--lr abc)")).returncode != 0
    done = stubs.run(work, *stubs.command("train"))
    assert done.returncode == 0, done.stderr
    assert "--lr abc" not in (work / "rope" / "settings").read_text()


def test_an_exported_setting_is_the_same_setting(stubs: Stubs, work: Path):
    done = stubs.run(work, *stubs.command(), BPE="subword_nmt", SHARDS="1", MAX_EPOCH="45")
    assert done.returncode == 0 and " make " not in done.stderr, done.stderr


@pytest.fixture
def prepared(stubs: Stubs, tmp_path: Path) -> Path:
    """A folder for PREPARED."""
    folder = tmp_path / "prepared"
    folder.mkdir()
    for name, to in (("train", "train"), ("valid", "valid"), ("test", "test.2016")):
        for lang in ("en", "de"):
            shutil.copy(stubs.text / f"{name}.{lang}", folder / f"{to}.{lang}")
    return folder


MULTI30K = ("bash", str(ROOT / "scripts" / "run_multi30k.sh"))


def test_other_prepared_text_is_refused(stubs: Stubs, prepared: Path, tmp_path: Path):
    done = stubs.run(tmp_path / "moved", *MULTI30K, PREPARED=str(prepared))
    assert done.returncode == 0, done.stderr
    shutil.copy(stubs.text / "other.en", prepared / "train.en")
    done = stubs.run(tmp_path / "moved", *MULTI30K, PREPARED=str(prepared))
    assert done.returncode == 1 and named(done.stderr) == {"data-bin", "rope"}
    assert "+text/train.en: 41 lines" in done.stderr


def test_raw_and_prepared_text_are_not_mixed_in_a_folder(stubs: Stubs, prepared: Path, tmp_path: Path):
    work = tmp_path / "moved"
    assert stubs.run(work, *MULTI30K, PREPARED=str(prepared)).returncode == 0
    done = stubs.run(work, *MULTI30K, MULTI30K_URL="http://localhost:9")
    assert done.returncode == 1
    assert f"{work} was made from prepared text: name it with PREPARED, or choose" in done.stderr
    assert stubs.run(work, *MULTI30K, "train", "average", "evaluate").returncode == 0
    shutil.rmtree(work)
    (work / "raw").mkdir(parents=True)
    (work / "raw" / "train.en").write_text("Raw text.\n")
    done = stubs.run(work, *MULTI30K, PREPARED=str(prepared))
    assert done.returncode == 1
    assert f"{work} has raw text, and PREPARED is other text: choose another folder with WORK" in done.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: b"\xff" + text, "/text/train.en:1: not valid UTF-8, byte 1 is 0xff"),
        (lambda text: b"\xef\xbb\xbf" + text, "/text/train.en:1: must begin with a word, but has a byte order mark"),
        (lambda text: text.replace(b" ", b"\r", 1), "/text/train.en:1: must have no carriage return but at its end"),
    ],
)
def test_prepared_text_that_fairseq_reads_in_another_way_is_named(
    stubs: Stubs, prepared: Path, tmp_path: Path, change: Callable[[bytes], bytes], message: str
):
    train = prepared / "train.en"
    windows = train.read_bytes().replace(b"\n", b"\r\n")
    train.write_bytes(change(windows))
    done = stubs.run(tmp_path / "moved", *MULTI30K, PREPARED=str(prepared))
    assert done.returncode == 1 and message in done.stderr
    train.write_bytes(windows)
    done = stubs.run(tmp_path / "moved", *MULTI30K, PREPARED=str(prepared))
    assert done.returncode == 0, done.stderr

"""Options of the recipes: every option and setting is checked before a recipe does anything."""

from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.stubs import Stubs


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Stubs:
    return Stubs(tmp_path_factory.mktemp("stubs") / "place")


BITEXT = {  # arguments, settings -> the error
    "shards that are no number": ([], {"SHARDS": "abc"}, "SHARDS must be a whole number from 1 to 9999, but is abc"),
    "no shards": ([], {"SHARDS": "0"}, "SHARDS must be a whole number from 1 to 9999, but is 0"),
    "shards by command": (
        [],
        {"SHARDS": "a[$(touch pwned)]"},
        "SHARDS must be a whole number from 1 to 9999, but is a",
    ),
    "an octal number": ([], {"SHARDS": "08"}, "SHARDS must be a whole number from 1 to 9999, but is 08"),
    "jobs": ([], {"JOBS": "-1"}, "JOBS must be a whole number from 1 to 4096, but is -1"),
    "epochs": ([], {"MAX_EPOCH": "4.5"}, "MAX_EPOCH must be a whole number from 1, but is 4.5"),
    "fewer epochs than are averaged": (
        [],
        {"MAX_EPOCH": "9"},
        "--max-epoch (MAX_EPOCH) must be at least 10, for so many checkpoints are averaged (AVERAGE), but is 9",
    ),
    "updates": ([], {"MAX_UPDATE": "1e5"}, "MAX_UPDATE must be a whole number from 1, but is 1e5"),
    "tokens": ([], {"MAX_TOKENS": "0"}, "MAX_TOKENS must be a whole number from 1, but is 0"),
    "a number too long": (
        [],
        {"MAX_TOKENS": "99999999999999999999"},
        "MAX_TOKENS must be a whole number from 1, but is 99999999999999999999",
    ),
    "BLEU of validation": ([], {"VALID_BLEU": "yes"}, "VALID_BLEU must be 0 or 1, but is yes"),
    "GPUs": ([], {"GPUS": "all"}, "GPUS must be a number, but is all"),
    "precision": ([], {"PRECISION": "fp8"}, "PRECISION must be bf16, fp16 or fp32, but is fp8"),
    "nodes": ([], {"NODES": "two"}, "NODES must be a number from 1, but is two"),
    "rank": (
        ["train"],
        {"NODES": "2", "NODE_RANK": "2", "MASTER_ADDR": "a"},
        "NODE_RANK must be a number from 0 to NODES - 1, but is 2 with 2 nodes",
    ),
    "port": (["train"], {"MASTER_PORT": "70000"}, "MASTER_PORT must be a number from 1 to 65535, but is 70000"),
    "stages of several nodes": (
        ["train", "average"],
        {"NODES": "2", "MASTER_ADDR": "a"},
        "on several nodes run the stage train alone, the others on one node",
    ),
    "segmentation": ([], {"BPE": "bpe"}, "BPE must be subword_nmt or sentencepiece, but is bpe"),
    "dashes": ([], {"DASH_SPLITS": "yes"}, "DASH_SPLITS must be 0 or 1, but is yes"),
    "model": ([], {"MODELS": "rope alibi"}, "--models must be of rope sinusoidal, but is rope\\ alibi"),
    "models by glob": ([], {"MODELS": "*"}, "--models must be of rope sinusoidal, but is \\*"),
    "no model": ([], {"MODELS": " "}, "--models must be of rope sinusoidal, but is \\ "),
    "seed": (["--seeds", "1,x"], {}, "--seeds must be numbers with commas between, as 1,2,3, but is 1\\,x"),
    "a seed twice": (["--seeds", "1,2,1"], {}, "--seeds must each be named once, but are 1,2,1"),
    "a seed with a zero before": (
        ["--seeds", "01"],
        {},
        "--seeds must be numbers with commas between, as 1,2,3, but is 01",
    ),
    "a seed too large": (
        ["--seeds", "4294967296"],
        {},
        "--seeds must be numbers with commas between, as 1,2,3, but is 4294967296",
    ),
    "stage": (["learn"], {}, "a stage must be of fetch prepare train average evaluate, but is learn"),
    "empty stage": ([""], {}, "a stage must be of fetch prepare train average evaluate, but is ''"),
    "unknown option": (["--beam", "4"], {}, "there is no option --beam, see --help"),
    "no value": (["--conf"], {}, "--conf needs a name"),
    "an option for a value": (
        ["--test", "-s"],
        {},
        "--test needs a prefix, but is followed by -s (a path may begin with ./)",
    ),
    "an empty value": (["--train", ""], {}, "--train needs a prefix"),
    "equal languages": (["-t", "en"], {}, "source and target language must differ, but are both en"),
    "language": (["-t", "../de"], {}, "TARGET_LANG must be of letters, digits, _ and -, but is ../de"),
    "a language without a code": (
        ["-t", "german"],
        {},
        "TARGET_LANG must begin with the two or three letters of a language, which scores ask for, but is german",
    ),
    "configuration": (["--conf", "huge"], {}, "--conf huge: there is no "),
    "a test set's name": (["--test", "data/a b"], {}, "--test data/a b: test sets are named by their files"),
    "a test set twice": (["--test", "elsewhere/test"], {}, "--test elsewhere/test: test sets are named by their files"),
    "a missing file": (["--valid", "nowhere"], {}, "--valid nowhere: there is no nowhere.en or nowhere.en.gz"),
}
OTHERS = {  # recipe, settings -> the error
    "PREPARED": ("run_multi30k", {"PREPARED": "nowhere"}, "PREPARED must be a folder that can be read, but is nowhere"),
    "an empty PREPARED": ("run_multi30k", {"PREPARED": "."}, "PREPARED must hold train.en or train.en.gz, but is ."),
    "MULTI30K_DIR": (
        "run_multi30k",
        {"MULTI30K_DIR": "nowhere"},
        "MULTI30K_DIR must be a folder that can be read, but is nowhere",
    ),
    "BASELINE": ("run_multi30k", {"BASELINE": "yes"}, "BASELINE must be 0 or 1, but is yes"),
    "WMT14_ARCHIVES": (
        "run_wmt14_ende",
        {"WMT14_ARCHIVES": "nowhere"},
        "WMT14_ARCHIVES must be a folder that can be read, but is nowhere",
    ),
    "DASH_SPLITS": ("run_wmt14_ende", {"DASH_SPLITS": "no"}, "DASH_SPLITS must be 0 or 1, but is no"),
    "IWSLT14_ARCHIVES": (
        "../data-prep/prepare_iwslt14_deen",
        {"IWSLT14_ARCHIVES": "nowhere"},
        "IWSLT14_ARCHIVES must be a folder that can be read, but is nowhere",
    ),
}


def check(stubs: Stubs, work: Path, command: list[str], settings: dict[str, str], message: str) -> None:
    done = stubs.run(work, *command, **settings)
    assert done.returncode == 1, done.stderr
    errors = [line for line in done.stderr.splitlines() if ": error: " in line]
    assert len(errors) == 1 and message in errors[0], done.stderr
    assert not stubs.record.exists() and not (stubs.folder / "pwned").exists()
    assert not list(work.rglob("*"))


@pytest.mark.parametrize(("arguments", "settings", "message"), BITEXT.values(), ids=BITEXT)
def test_a_bad_option_is_named_and_leaves_nothing(stubs: Stubs, tmp_path: Path, arguments, settings, message: str):
    check(stubs, tmp_path / "work", stubs.command(*arguments), settings, message)


@pytest.mark.parametrize(("recipe", "settings", "message"), OTHERS.values(), ids=OTHERS)
def test_a_bad_setting_of_another_recipe_is_named(stubs: Stubs, tmp_path: Path, recipe: str, settings, message: str):
    check(stubs, tmp_path / "work", ["bash", str(ROOT / "scripts" / f"{recipe}.sh")], settings, message)


@pytest.mark.parametrize("name", ["a:b", "a,b", "a\\b", "a$b", "a\nb"])
def test_a_path_that_fairseq_would_take_for_another_is_refused(stubs: Stubs, tmp_path: Path, name: str):
    check(stubs, tmp_path / name, stubs.command(), {}, "WORK must be a path without : , \\ $ and control characters")
    assert not (tmp_path / name).exists()


def test_a_work_folder_that_is_a_file_is_named(stubs: Stubs, tmp_path: Path):
    (tmp_path / "file").touch()
    done = stubs.run(tmp_path / "file", *stubs.command())
    assert f"WORK must be a folder that can be written, but is {tmp_path}/file" in done.stderr


@pytest.mark.parametrize("name", ["raw", "text", "data-bin"])
def test_a_file_in_the_place_of_a_folder_is_named(stubs: Stubs, tmp_path: Path, name: str):
    (tmp_path / name).touch()
    done = stubs.run(tmp_path, *stubs.command("--check"))
    assert done.returncode == 1 and done.stderr.endswith(
        f"error: {tmp_path}/{name} must be a folder, but is a file: move it, or choose another folder with WORK\n"
    )


def test_options_of_a_model_in_updates_are_numbers(stubs: Stubs, tmp_path: Path):
    conf = "TRAIN+=(--warmup-updates 1e3)\n"
    done = stubs.run(tmp_path, *stubs.command("--check", conf=conf))
    message = (
        "--warmup-updates of the model rope must be a whole number from 0, but is 1e3: see MODEL_ROPE and TRAIN of"
    )
    assert done.returncode == 1 and message in done.stderr


def test_text_that_makes_no_windows_is_named_before_it_is_segmented(stubs: Stubs, tmp_path: Path):
    conf = "WINDOWS=(--size 2)\nWINDOW_OPTIONS=(--any-order --separator sentence)\n"
    done = stubs.run(tmp_path / "work", *stubs.command(conf=conf))
    assert done.returncode == 1
    assert "train.en:1: the text holds the separator sentence: choose another --separator" in done.stderr
    assert not list((tmp_path / "work").rglob("*.tok.*"))


def test_a_conf_without_a_path_is_told_how_it_is_named(stubs: Stubs, tmp_path: Path):
    (stubs.folder / "own.env").write_text("")
    done = stubs.run(tmp_path / "work", *stubs.command("--check"), "--conf", "own.env")
    message = "--conf own.env is no name of scripts/conf: a file of your own needs a path with /, as ./own.env\n"
    assert (done.returncode, done.stderr) == (1, f"run_bitext.sh: error: {message}")

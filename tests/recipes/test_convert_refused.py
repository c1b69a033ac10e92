"""scripts/convert_to_rope.sh: what is refused, by name and before anything is done."""

import subprocess
from pathlib import Path

import pytest

from tests.recipes.test_lock import wait_for
from tests.support.conversion import SCRIPT, SETTINGS, convert
from tests.support.process_groups import kill_group
from tests.support.stubs import Stubs

BAD: dict[str, tuple[tuple[str, ...], dict[str, str], str]] = {
    "no updates": (("--updates", "0"), {}, "--updates must be a whole number from 1, but is 0"),
    "a share": (("--updates", "10%"), {}, r"--updates must be a whole number from 1, but is 10%"),
    "BLEU": ((), {"VALID_BLEU": "yes"}, "VALID_BLEU must be 0 or 1, but is yes"),
    "seeds": (("--seeds", "1,2"), {}, "--seeds cannot be used here, but is 1,2"),
    "a stage": (("fetch",), {}, "a stage must be of prepare train average evaluate, but is fetch"),
    "an option": (("--beam", "4"), {}, "there is no option --beam, see --help"),
    "no value": (("--data",), {}, "--data needs a folder"),
    "windows of one": (("--windows", "1"), {}, "--windows must be a whole number from 2 to 9999, but is 1"),
    "order for nothing": (("--ordered", "a"), {}, "--ordered is text for --windows, which is not given"),
    "a model": (
        ("--models", "rope"),
        {},
        "--models must be of continued converted, but is rope; a model is a MODEL_NAME=(...) of --conf convert",
    ),
    "a colon": (
        ("--from", "a:b.pt"),
        {},
        "--from must be a path without : , \\ $ and control characters, which fairseq does not take as they are,"
        " but is a:b.pt",
    ),
}


@pytest.mark.parametrize(("arguments", "settings", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_named_before_anything_is_done(
    place: Stubs, tmp_path: Path, arguments: tuple[str, ...], settings: dict[str, str], message: str
):
    done = convert(place, tmp_path / "w", *arguments, **settings)
    assert done.returncode == 1 and done.stderr == f"convert_to_rope.sh: error: {message}\n"
    assert not list((tmp_path / "w").rglob("*")) and not place.record.exists()


@pytest.mark.parametrize("missing", ["--from", "--data"])
def test_what_must_be_given_is_named(place: Stubs, tmp_path: Path, missing: str):
    given = [word for option in ("--from", "--data") if option != missing for word in (option, "x")]
    done = place.run(tmp_path / "w", "bash", SCRIPT, *given)
    what = {"--from": "the checkpoint to convert", "--data": "the folder of fairseq-preprocess that it was trained on"}
    assert done.stderr == f"convert_to_rope.sh: error: {missing} must name {what[missing]}\n" and done.returncode == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [("BATCH_TOKENS", "2048.5"), ("BATCH_TOKENS", "-8"), ("BATCH_TOKENS", "inf"), ("ORIGINAL_UPDATES", f"1{30 * '0'}")],
)
def test_numbers_of_a_checkpoint_that_a_shell_cannot_compute_with_are_named(
    place: Stubs, tmp_path: Path, name: str, value: str
):
    (place.folder / "settings").write_text(f"{SETTINGS}{name}={value}\n")
    done = convert(place, tmp_path / "w")
    assert done.returncode == 1 and not list((tmp_path / "w").iterdir())
    expected = f"convert_to_rope.sh: error: {name} must be a whole number from 1, but is {value}\n"
    assert done.stderr.endswith(expected) and "fairseq-train" not in done.stderr


def test_a_separator_that_no_dictionary_has_is_refused(place: Stubs, tmp_path: Path):
    (place.folder / "data" / "dict.en.txt").write_text("a 3\nmadeupword0000 0\n")
    done = convert(place, tmp_path / "w", "--windows", "2")
    assert done.returncode == 1 and not list((tmp_path / "w").iterdir())
    expected = f"dictionaries, but {place.folder}/data/dict.de.txt has no madeupword0000: choose a rare word"
    assert expected in done.stderr


def test_the_folder_of_another_recipe_is_not_taken(place: Stubs, tmp_path: Path):
    (tmp_path / "w" / "data-bin").mkdir(parents=True)
    done = convert(place, tmp_path / "w")
    expected = f"WORK must be a folder of its own, but {tmp_path}/w has a data-bin of another recipe"
    assert done.stderr == f"convert_to_rope.sh: error: {expected}\n"


def test_text_that_the_recipe_has_not_made_is_not_removed(place: Stubs, tmp_path: Path):
    ordered = tmp_path / "w" / "text" / "ordered.en"
    ordered.parent.mkdir(parents=True)
    ordered.write_text("a line\n")
    done = convert(place, tmp_path / "w", "--windows", "3", "--ordered", str(ordered.with_suffix("")))
    expected = f"WORK must be a folder of its own, but {tmp_path}/w has a text that is not of this recipe"
    assert done.stderr == f"convert_to_rope.sh: error: {expected}\n" and ordered.exists()


def test_a_second_run_beside_it_is_refused(place: Stubs, tmp_path: Path):
    env = place.environment(tmp_path / "w", TRAINING="60", SETTINGS=str(place.folder / "settings"))
    command = ["bash", SCRIPT, "--from", str(place.folder / "original.pt"), "--data", str(place.folder / "data")]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, env=env, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        wait_for(lambda: (tmp_path / "w" / "converted" / "train.log").exists(), process)
        done = convert(place, tmp_path / "w")
        assert done.returncode == 1 and f"another run works in {tmp_path}/w: process {process.pid}, " in done.stderr
    finally:
        kill_group(process)

"""scripts/convert_to_rope.sh: a stock checkpoint is converted, trained on and compared with itself."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.recipes.test_lock import wait_for
from tests.support import ROOT
from tests.support.process_groups import kill_group
from tests.support.stubs import PYTHON, Stubs

SCRIPT = str(ROOT / "scripts" / "convert_to_rope.sh")
# what tools.convert --settings prints of a checkpoint
SETTINGS = """SOURCE_LANG=en
TARGET_LANG=de
TEST_SETS=(test test1)
BPE=subword_nmt
ORIGINAL_UPDATES=4000
PEAK_RATE=0.0005
MODEL_CONVERTED=(--arch transformer_rope --encoder-layers 2)
MODEL_CONTINUED=(--arch transformer --encoder-layers 2)
TRAIN=(--criterion cross_entropy --optimizer adam --adam-betas '(0.9, 0.98)')
BATCH_TOKENS=8192
"""
CONVERT = """  *tools.convert*--settings*) cat "$SETTINGS" ;;
  *tools.convert*) echo converted >"${{!#}}" ;;
"""
# one epoch has 80 updates: at its end the checkpoint has another name
TRAIN = """#!{bash}
record-call fairseq-train "$@"
while (($#)); do
  case $1 in --save-dir) save=$2 ;; --max-update) most=$2 ;; --save-interval-updates) interval=$2 ;; esac
  shift
done
for ((update = 1; update <= most; update++)); do
  name=checkpoint_1_$update.pt
  ((update % interval == 0)) || name=checkpoint_last.pt
  ((update % 80)) || name=checkpoint$((update / 80)).pt
  ((update == most || update % 80 == 0)) || ((update % interval == 0)) || continue
  echo weights >"$save/$name"
  ((update % 80 && update < most)) ||
    printf 'epoch %03d | loss 3.1 | num_updates %d | lr 1\n' "$(((update + 79) / 80))" "$update" >>"$save/train.log"
done
sleep "${{TRAINING:-0}}"
"""
VALIDATE = """#!{bash}
record-call fairseq-validate "$@"
echo "a loss"
"""
GENERATE = VALIDATE.replace("validate", "generate")


@pytest.fixture
def place(tmp_path: Path) -> Stubs:
    """Stubs of all programs, a checkpoint and a DATA folder, whose contents nothing reads."""
    stubs = Stubs(tmp_path / "a 'place'")
    texts = {"fairseq-train": TRAIN, "fairseq-validate": VALIDATE, "fairseq-generate": GENERATE}
    texts["python"] = PYTHON.replace("  *tools.average*", f"{CONVERT}  *tools.average*")
    original = (stubs.bin / "python").read_text()
    python = re.search(r"exec (.*) \"\$@\"", original)
    assert python
    for name, text in texts.items():
        path = stubs.bin / name
        path.write_text(text.format(bash=shutil.which("bash"), python=python[1]))
        path.chmod(0o755)
    (stubs.folder / "settings").write_text(SETTINGS)
    (stubs.folder / "original.pt").write_text("weights\n")
    (stubs.folder / "data").mkdir()
    for name in ("dict.en.txt", "dict.de.txt", "train.en-de.en.bin", "train.en-de.en.idx"):
        (stubs.folder / "data" / name).write_text(f"{name}\n")
    return stubs


def convert(stubs: Stubs, work: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    given = ("--from", str(stubs.folder / "original.pt"), "--data", str(stubs.folder / "data"))
    settings = {"SETTINGS": str(stubs.folder / "settings"), **settings}
    return stubs.run(work, "bash", SCRIPT, *given, *arguments, **settings)


def value(call: list[str], option: str) -> str:
    return call[call.index(option) + 1]


def test_both_models_are_trained_alike_from_where_they_are_and_for_a_tenth_of_the_updates(place: Stubs, tmp_path: Path):
    work = tmp_path / "w"
    done = convert(place, work)
    assert done.returncode == 0, done.stderr
    converted, continued = place.calls("fairseq-train")
    start = converted.index("--arch")
    assert converted[start:] == [
        *("--arch", "transformer_rope", "--encoder-layers", "2"),
        *("--criterion", "cross_entropy", "--optimizer", "adam", "--adam-betas", "(0.9, 0.98)"),
        *("--lr-scheduler", "fixed", "--lr", "0.0001", "--warmup-updates", "40", "--max-update", "400"),
        *("--seed", "1", "--save-interval-updates", "40", "--validate-interval-updates", "40"),
        *("--log-file", f"{work}/converted/train.log", "--tensorboard-logdir", f"{work}/converted/tensorboard"),
        *("--distributed-world-size", "1", "--cpu"),
    ]
    assert value(converted, "--finetune-from-model") == f"{work}/converted.pt"
    assert value(continued, "--finetune-from-model") == f"{work}/original.pt"
    assert (value(converted, "--max-tokens"), value(converted, "--update-freq")) == ("4096", "2")
    swapped = [word.replace("converted", "continued") for word in converted]
    swapped[swapped.index("transformer_rope")] = "transformer"
    swapped[swapped.index("--finetune-from-model") + 1] = value(continued, "--finetune-from-model")
    assert continued == swapped
    averages = place.calls("fairseq_rope.tools.average")
    # 320 and 400 are ends of epochs
    names = ("checkpoint5", "checkpoint_1_360", "checkpoint4")
    assert [call[3:] for call in averages] == [
        [*(f"{work}/{model}/{name}.pt" for name in names), "--output", f"{work}/{model}/averaged.pt"]
        for model in ("converted", "continued")
    ]
    page = f"The page of this experiment: {work}/report.html"
    assert done.stdout == f"The original had 4000 updates.\n\na table\n\n{page}\n"


def test_the_test_sets_are_translated_by_both_at_each_point_and_by_the_averages(place: Stubs, tmp_path: Path):
    work = tmp_path / "w"
    assert convert(place, work).returncode == 0
    point = ("checkpoint_1_40", "checkpoint1", "checkpoint_1_200", "checkpoint5", "averaged")
    files = [f"{work}/original.pt", f"{work}/converted.pt"]
    files += [f"{work}/{model}/{name}.pt" for model in ("converted", "continued") for name in point]
    translated = [(value(call, "--path"), value(call, "--gen-subset")) for call in place.calls("fairseq-generate")]
    assert translated == [(file, subset) for file in files for subset in ("test", "test1")]
    validated = [value(call, "--path") for call in place.calls("fairseq-validate")]
    assert validated == [file for file in files if "checkpoint" not in file]
    folders = {path.parent.name for path in work.glob("*/score-test1.json")}
    points = {f"{model}-{updates}" for model in ("converted", "continued") for updates in (40, 80, 200, 400)}
    assert folders == {"original", "converted-0", "converted", "continued", *points}


def test_both_models_are_made_at_once_where_asked(place: Stubs, tmp_path: Path):
    programs = ("fairseq-train", "fairseq-generate", "fairseq-validate", "fairseq_rope.tools.average")
    calls = []
    for parallel in ("1", "2"):
        done = convert(place, tmp_path / parallel, PARALLEL=parallel)
        assert done.returncode == 0, done.stderr
        text = [
            [word.replace(f"{tmp_path}/2", f"{tmp_path}/1") for word in call]
            for p in programs
            for call in place.calls(p)
        ]
        calls.append(sorted(text))
        place.record.unlink()
    assert calls[0] == calls[1]
    for model in ("converted", "continued"):
        assert {path.stem for path in (tmp_path / "2" / model).glob("*.out")} == {"train", "average", "evaluate"}


def test_few_updates_have_the_points_up_to_them_and_no_first_half_in_the_average(place: Stubs, tmp_path: Path):
    work = tmp_path / "w"
    done = convert(place, work, "--updates", "90", "--models", "converted")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in work.glob("*-*")} >= {"converted-0", "converted-40", "converted-80", "converted-90"}
    (train,) = place.calls("fairseq-train")
    assert value(train, "--max-update") == "90" and not (work / "continued").exists()
    (average,) = place.calls("fairseq_rope.tools.average")
    assert average[3:-2] == [f"{work}/converted/checkpoint_last.pt", f"{work}/converted/checkpoint1.pt"]


@pytest.mark.parametrize(
    ("shares", "updates", "interval"),
    [
        ("1 2 5 10", 4000, 40),
        ("10 20", 2000, 200),
        ("10 20", 400, 40),
        ("4 10", 4000, 80),
        ("", 2000, 200),
        ("", 7, 40),
    ],
)
def test_checkpoints_are_as_few_as_points_and_ten_in_all_allow(
    place: Stubs, tmp_path: Path, shares: str, updates: int, interval: int
):
    conf = tmp_path / "few.env"
    conf.write_text(f'source "$ROOT/scripts/conf/convert.env"\nSHARES=({shares})\n')
    done = convert(place, tmp_path / "w", "--conf", str(conf), "--updates", str(updates), "--models", "converted")
    assert done.returncode == 0, done.stderr
    (training,) = place.calls("fairseq-train")
    options = ("--save-interval-updates", "--validate-interval-updates", "--warmup-updates")
    assert [value(training, option) for option in options] == [str(interval), str(interval), "40"]
    points = {int(path.name.split("-")[1]) for path in (tmp_path / "w").glob("converted-*")}
    assert points == {0, updates, *(int(share) * 40 for share in shares.split() if int(share) * 40 < updates)}


def test_a_second_run_has_nothing_left_and_a_moved_checkpoint_is_the_same(place: Stubs, tmp_path: Path):
    assert convert(place, tmp_path / "w").returncode == 0
    (place.folder / "data").rename(place.folder / "moved")
    (place.folder / "original.pt").rename(place.folder / "moved.pt")
    moved = ("--from", str(place.folder / "moved.pt"), "--data", str(place.folder / "moved"))
    (tmp_path / "w").rename(tmp_path / "v")
    done = convert(place, tmp_path / "v", *moved)
    assert done.returncode == 0, done.stderr
    assert not any(place.calls(name) for name in ("fairseq-train", "fairseq-generate", "fairseq-validate"))
    assert (tmp_path / "v" / "data-bin").resolve() == place.folder / "moved"


def test_other_updates_another_checkpoint_and_other_data_are_refused(place: Stubs, tmp_path: Path):
    assert convert(place, tmp_path / "w").returncode == 0
    done = convert(place, tmp_path / "w", "--updates", "200")
    assert done.returncode == 1 and "+--max-update 200" in done.stderr
    # what stays is not named: the original, the model before its training
    named = [f"{model}{point}" for model in ("converted", "continued") for point in ("", "-200", "-40", "-400", "-80")]
    assert f"now): {' '.join(f'{tmp_path}/w/{name}' for name in named)}; remove this" in done.stderr, done.stderr
    for name in ("original.pt", "data/train.en-de.en.bin"):
        path = place.folder / name
        path.write_text("other\n")
        done = convert(place, tmp_path / "w")
        assert done.returncode == 1 and f"(above, - then, + now): {tmp_path}/w; remove this" in done.stderr, done.stderr
        path.write_text("weights\n" if name == "original.pt" else "train.en-de.en.bin\n")
    assert convert(place, tmp_path / "w").returncode == 0


def test_of_another_average_the_loss_is_made_anew_too(place: Stubs, tmp_path: Path):
    work, conf = tmp_path / "w", tmp_path / "conf.env"
    conf.write_text('source "$ROOT/scripts/conf/convert.env"\nAVERAGED=2\n')
    assert convert(place, work).returncode == 0
    done = convert(place, work, "--conf", str(conf))
    assert done.returncode == 1
    named = done.stderr.rpartition("now): ")[2].partition(";")[0].split()
    for model in ("converted", "continued"):
        assert {str(work / model / name) for name in ("averaged.pt", "validate.log", "score-test.json")} <= set(named)
    for name in named:
        Path(name).unlink()
    done = convert(place, work, "--conf", str(conf))
    assert done.returncode == 0, done.stderr
    assert len(place.calls("fairseq-validate")) == 2


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

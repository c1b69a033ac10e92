"""scripts/convert_to_rope.sh: a stock checkpoint is converted, trained on and compared with itself."""

from pathlib import Path

import pytest

from tests.support.conversion import convert
from tests.support.stubs import Stubs


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


def test_a_loss_that_the_disk_has_no_room_for_is_an_error_and_made_when_there_is_some(place: Stubs, tmp_path: Path):
    work = tmp_path / "w"
    # as logging does, it goes on when a line cannot be written
    stub = place.bin / "fairseq-validate"
    stub.write_text("#!/usr/bin/env bash\nfor ((i = 0; i < 1000; i++)); do echo 'a loss' || true; done 2>/dev/null\n")
    stub.chmod(0o755)
    full = convert(place, work, "prepare", most_bytes=4096)
    assert full.returncode == 1 and "cat: write error: File too large" in full.stderr, full.stderr
    assert not list(work.rglob("validate.log"))
    done = convert(place, work, "prepare")
    assert done.returncode == 0, done.stderr
    logs = [path.read_text() for path in work.rglob("validate.log*") if path.suffix != ".settings"]
    assert logs == ["a loss\n" * 1000] * 2

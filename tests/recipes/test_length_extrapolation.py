"""scripts/length_extrapolation.sh: windows in training and test, and models that are another one decoded otherwise."""

import ast
import subprocess
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.environment import environment
from tests.support.stubs import Stubs

SCRIPT = str(ROOT / "scripts" / "length_extrapolation.sh")
SIZES = (1, 2, 4, 8, 12)
SETS = ["test", *(f"test-w{size}" for size in SIZES[1:])]


def value(call: list[str], option: str) -> str:
    return call[call.index(option) + 1]


def own_text(stubs: Stubs) -> list[str]:
    given = [word for name in ("train", "valid", "test") for word in (f"--{name}", str(stubs.text / name))]
    return ["bash", SCRIPT, *given, "-s", "en", "-t", "de"]


@pytest.fixture
def work(stubs: Stubs, tmp_path: Path) -> Path:
    """Two seeds of rope, decoded in two ways."""
    done = stubs.run(tmp_path, *own_text(stubs), "--models", "rope rope_ntk rope_yarn", "--seeds", "1,2")
    assert done.returncode == 0, done.stderr
    return tmp_path


def test_a_scaling_is_another_way_to_decode_the_model_of_the_same_seed(stubs: Stubs, work: Path):
    trained = [value(call, "--save-dir") for call in stubs.calls("fairseq-train")]
    assert sorted(trained) == [f"{work}/rope", f"{work}/rope-seed2"]
    calls = stubs.calls("fairseq-generate")
    assert len(calls) == 3 * 2 * len(SIZES)
    lines = [line.split() for lang in ("en", "de") for line in (work / "text" / f"train.{lang}").open(encoding="utf-8")]
    assert any("<sep>" in line for line in lines)
    scalings = {
        "ntk": {"rope_scaling": "ntk", "rope_scaling_factor": 4},
        "yarn": {
            "rope_scaling": "yarn",
            "rope_scaling_factor": 4,
            "rope_original_length": max(map(len, lines)) + 1,
        },
    }
    for seed in ("", "-seed2"):
        own = [call for call in calls if value(call, "--path") == f"{work}/rope{seed}/averaged.pt"]
        overrides = [ast.literal_eval(value(call, "--model-overrides")) for call in own if "--model-overrides" in call]
        assert len(own) == 3 * len(SIZES) and len(overrides) == 2 * len(SIZES)
        assert all(overrides.count(scaling) == len(SIZES) for scaling in scalings.values())
        for name in scalings:
            folder = work / f"rope_{name}{seed}"
            assert (folder / "train.log").samefile(work / f"rope{seed}" / "train.log")
            assert all((folder / f"score-{name}.json").exists() for name in SETS)
            assert not (folder / "averaged.pt").exists()


def test_the_table_is_of_all_sizes_and_the_picture_of_each_test_set(stubs: Stubs, work: Path):
    models = ["rope", "rope_ntk", "rope_yarn"]
    (results,) = stubs.calls("results")
    names = [*(f"{name}: BLEU" for name in SETS), "valid loss, best"]
    assert results[3:] == [str(work), "--models", *models, "--statistics", *names]
    (plot,) = stubs.calls("plot")
    picture = ["--windows=test", "--source-lang", "en", "--output", f"{work}/lengths-test.png"]
    assert plot[3:] == [str(work), "--models", *models, *picture]


def test_it_goes_on_and_what_another_factor_would_change_is_named(stubs: Stubs, work: Path):
    done = stubs.run(work, "bash", SCRIPT, "--models", "rope rope_ntk rope_yarn", "--seeds", "1,2")
    assert done.returncode == 0 and not stubs.calls("fairseq-generate") and " make " not in done.stderr, done.stderr
    done = stubs.run(work, "bash", SCRIPT, FACTOR="8")
    removed = done.stderr.partition("remove this")[0]
    assert done.returncode == 1 and "rope_ntk/generate-test.log" in removed and "rope/" not in removed


def test_a_decoded_model_needs_the_one_that_is_trained(stubs: Stubs, tmp_path: Path):
    done = stubs.run(tmp_path, *own_text(stubs), "--models", "rope_ntk", "--seeds", "1", PARALLEL="1")
    message = f"{tmp_path}/rope/averaged.pt is missing: run the stage average of rope first"
    assert done.returncode == 1 and message in done.stderr


def test_without_text_of_ones_own_it_is_the_embedded_corpus(stubs: Stubs, tmp_path: Path):
    done = stubs.run(tmp_path, "bash", SCRIPT, "fetch", "prepare")
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "text" / "test-w12.en").read_text().splitlines()
    assert {line.split().count("<sep>") for line in lines[:-1]} == {11}
    lines = (tmp_path / "text" / "train.en").read_text().splitlines()
    assert {line.split().count("<sep>") for line in lines} == {0, 1, 2}


@pytest.mark.parametrize(
    ("trouble", "status"),
    [("awk() { echo 3; kill -9 $$; }", -9), ("trap '' XFSZ; ulimit -f 0", 1)],
    ids=["killed", "no room"],
)
def test_where_the_longest_example_cannot_be_counted_nothing_is_left(tmp_path: Path, trouble: str, status: int):
    text = tmp_path / "text"
    text.mkdir()
    names = {text / "train.en", text / "train.de"}
    for name in names:
        name.write_text("two words\n")
    script = "ROOT=$PWD; source scripts/lib/base.sh; source scripts/lib/models.sh; SOURCE_LANG=en TARGET_LANG=de"
    command = ["bash", "-c", f"set -euo pipefail; {script}; {trouble}; longest_example"]
    done = subprocess.run(command, cwd=ROOT, env=environment(tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode == status and {*text.iterdir()} == names, done.stderr
    assert status < 0 or f"error: cannot write {text}/longest\n" in done.stderr

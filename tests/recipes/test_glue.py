"""run_glue.sh on small files: the whole chain, a second run, and what is refused before anything is trained."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.environment import forking_environment
from tests.support.glue import pretrained_work, sst2, stsb

CONF = """# a training in no time
# shellcheck shell=bash disable=SC2034
LENGTH=32
source "$ROOT/scripts/conf/glue.env"
RATES=(1e-3)
MAX_EPOCH=1
"""


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pretrained_work(tmp_path_factory.mktemp("pretrained") / "mlm", {"roformer": ""})


def glue(
    work: Path, *arguments: object, script: str = "scripts/run_glue.sh", conf: str = CONF
) -> subprocess.CompletedProcess[str]:
    (work.parent / "conf.env").write_text(conf)
    words = ["bash", script, *map(str, arguments), "--conf", str(work.parent / "conf.env")]
    env = forking_environment(work, JOBS="1")
    return subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def test_a_task_runs_to_its_table_and_a_second_run_has_nothing_left_to_do(pretrained: Path, tmp_path: Path):
    work, data = tmp_path / "a wörk", sst2(tmp_path / "SST-2")
    given = ("--task", "SST-2", "--data", data, "--from", pretrained, "--sample")
    done = glue(work, *given)
    assert done.returncode == 0, done.stderr[-3000:]
    header = next(line for line in done.stdout.splitlines() if "majority" in line)
    assert [cell.strip() for cell in header.split("|")[2:-1]] == ["roformer", "majority", "bag_of_words"]
    assert re.search(r"\| valid: accuracy +\|( +\d+\.\d\d +\|){3}", done.stdout), done.stdout
    assert "accuracy on valid" in (work / "report.html").read_text(encoding="utf-8")
    assert (work / "roformer" / "rate").read_text() == "1e-3\n"
    assert (work / "roformer" / "train.log").resolve() == (work / "roformer" / "lr-1e-3" / "train.log").resolve()
    submission = (work / "roformer" / "submission" / "SST-2.tsv").read_text().splitlines()
    assert submission[0] == "index\tprediction" and len(submission) == 5
    assert all(re.fullmatch(r"\d\t[01]", line) for line in submission[1:])
    # a quote is text, escaped and in pieces as in the pre-training
    assert "&@@ q@@ u@@ o@@ t@@ ;" in (work / "text" / "test.input0").read_text()
    made = {path: path.stat().st_mtime_ns for path in work.rglob("*.pt")}
    assert made
    again = glue(work, *given)
    assert again.stdout == done.stdout, again.stderr[-2000:]
    assert made == {path: path.stat().st_mtime_ns for path in work.rglob("*.pt")}
    data_bin = work / "data-bin" / "input0" / "train.bin"
    whole = data_bin.read_bytes()
    data_bin.write_bytes(bytes([whole[0] ^ 1, *whole[1:]]))
    for stages in ((), ("train", "evaluate"), ("prepare",)):
        damaged = glue(work, *given, *stages)
        assert damaged.returncode == 1 and f"error: {data_bin} is not the file that was prepared" in damaged.stderr
    alone = glue(work, *given, script="data-prep/prepare_glue.sh")
    assert alone.returncode == 1 and f"error: {data_bin} is not the file that was prepared" in alone.stderr
    data_bin.write_bytes(whole)
    # scores of a set that the data had once, beside those of today
    for name in ("roformer", "majority"):
        report = work / name / "score-valid.json"
        shutil.copy(report, work / name / "score-old.json")
        record = Path(f"{report}.settings").read_text().replace("SST-2", "RTE")
        (work / name / "score-old.json.settings").write_text(record)
    stale = glue(work, *given)
    assert stale.returncode == 1 and "/roformer/score-old.json; remove this" in stale.stderr, stale.stderr
    (work / "roformer" / "score-old.json").unlink()
    assert glue(work, *given).stdout == done.stdout
    assert not (work / "majority" / "score-old.json").exists()
    (data / "dev.tsv").write_text((data / "dev.tsv").read_text().replace("\t1\n", "\t0\n", 1))
    other = glue(work, *given)
    assert other.returncode == 1 and "made from other text or settings (above, - then, + now): " in other.stderr


def test_all_seeds_of_a_table_have_the_same_settings_and_baselines_todays_data(pretrained: Path, tmp_path: Path):
    work, data = tmp_path / "work", sst2(tmp_path / "SST-2")
    given = ("--task", "SST-2", "--data", data, "--from", pretrained, "--sample", "--models", "roformer")
    done = glue(work, *given, "--seeds", "2")
    assert done.returncode == 0, done.stderr[-3000:]
    other = glue(work, *given, conf=CONF.replace("MAX_EPOCH=1", "MAX_EPOCH=2"))
    assert other.returncode == 1 and f"now): {work}/roformer-seed2" in other.stderr, other.stderr[-3000:]
    lines = (data / "train.tsv").read_text().splitlines()
    flipped = [line[:-1] + {"0": "1", "1": "0"}[line[-1]] for line in lines[1:]]
    (data / "train.tsv").write_text("\n".join([lines[0], *flipped, ""]))
    before = (work / "bag_of_words-seed2" / "predictions-valid.tsv").read_text()
    shutil.rmtree(work / "data-bin")
    assert glue(work, *given).returncode == 1  # the model's turn
    shutil.rmtree(work / "roformer-seed2")
    done = glue(work, *given, "--seeds", "2")
    assert done.returncode == 0, done.stderr[-3000:]
    assert (work / "bag_of_words-seed2" / "predictions-valid.tsv").read_text() != before
    done = glue(work, *given, "--seeds", "1,2")
    assert done.returncode == 0, done.stderr[-3000:]
    assert (work / "bag_of_words-seed2").is_symlink() and not (work / "bag_of_words" / "bag_of_words").exists()


def test_the_best_rate_is_that_of_the_highest_score_and_of_equal_ones_the_first(tmp_path: Path):
    for rate, value in (("1e-5", 70.5), ("3e-5", 81.25), ("2e-5", 81.25), ("5e-5", 9.75)):
        (tmp_path / f"lr-{rate}").mkdir()
        report = {"sentences": 8, "settings": {"classes": ["0", "1"]}, "scores": [{"name": "f1", "value": value}] * 2}
        (tmp_path / f"lr-{rate}" / "score-valid.json").write_text(json.dumps(report))
    script = 'ROOT=$PWD; source scripts/lib/fine_tuning.sh; RATES=(1e-5 3e-5 2e-5 5e-5); best_rate "$1"'
    done = subprocess.run(["bash", "-c", script, "-", tmp_path], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("3e-5\n", "")


@pytest.mark.parametrize("there", [(1, 2), (2, 3), (3,)], ids=str)
def test_pretrained_models_of_the_seeds_that_there_are_take_turns(tmp_path: Path, there: tuple[int, ...]):
    folder = tmp_path / "a *[x] wörk"
    checkpoints = {seed: folder / ("bert" if seed == 1 else f"bert-seed{seed}") / "averaged.pt" for seed in there}
    for file in checkpoints.values():
        file.parent.mkdir(parents=True)
        file.write_text("weights")
    script = """
        ROOT=$PWD; source scripts/lib/pretrained.sh; PRETRAINED[bert]=$1
        for seed in {1..9}; do pretrained_checkpoint bert "$seed" && echo; done
    """
    command = ["bash", "-euc", script, "-", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    chosen = dict(enumerate(map(Path, done.stdout.splitlines()), start=1))
    assert all(chosen[seed] == file for seed, file in checkpoints.items())
    later = [chosen[seed] for seed in range(4, 10)]
    assert {later.count(file) for file in checkpoints.values()} == {6 // len(there)}


def test_data_that_is_made_again_is_not_taken_for_whole_before_its_manifest(tmp_path: Path):
    (tmp_path / "manifest.json").write_text("of earlier data")
    script = """
        ROOT=$PWD WORK=$1 SETS=() INPUTS=() MOSES=() NORMALIZE="" LOWERCASE="" BPE=""
        source scripts/lib/base.sh
        source scripts/lib/columns.sh
        keep_record() { :; }
        data_record() { :; }
        prepare_labels() { mkdir "$WORK/data-bin.part"; }
        python() { kill -9 "$$"; } # as the manifest is about to be written
        prepare_columns TASK=x true
    """
    command = ["bash", "-euc", script, "-", str(tmp_path)]
    assert subprocess.run(command, cwd=ROOT, check=False, capture_output=True).returncode == -9
    assert {path.name for path in tmp_path.iterdir()} == {"data-bin"}


def test_runs_of_other_seeds_in_one_folder_write_baselines_one_after_the_other(tmp_path: Path):
    script = """
        ROOT=$PWD WORK=$1 SEEDS=$2 MODELS=roformer LABELED=(valid) VERSIONS=""
        for name in base models records text_baselines; do source "scripts/lib/$name.sh"; done
        is_trained() { :; }
        data_record() { printf record; }
        classify() { sleep 0.5 && echo scores; }
        show() { sleep 1 && cat "$(model_dir majority "$SEEDS")/score-valid.json"; }
        with_baselines true
        with_baselines show
    """
    for name in ("roformer", "roformer-seed2"):
        (tmp_path / name).mkdir()
    command = ["bash", "-euc", script, "-", str(tmp_path)]
    runs = [
        subprocess.Popen([*command, seed], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for seed in ("1", "2")
    ]
    for run in runs:
        stdout, stderr = run.communicate(timeout=60)
        assert run.returncode == 0 and stdout.splitlines()[-1] == "scores", stderr
    for name in ("majority", "bag_of_words"):
        assert (tmp_path / name / "score-valid.json").exists()
        assert (tmp_path / f"{name}-seed2" / "baseline.txt").exists()


def test_numbers_are_prepared_as_fairseq_reads_them(pretrained: Path, tmp_path: Path):
    data, work = stsb(tmp_path / "STS-B"), tmp_path / "work"
    given = ("--task", "STS-B", "--data", data, "--from", pretrained, "--sample")
    done = glue(work, *given, script="data-prep/prepare_glue.sh")
    assert done.returncode == 0, done.stderr[-3000:]
    labels = [float(line) for line in (work / "data-bin" / "label" / "train.label").read_text().split()]
    assert len(labels) == 32 and set(labels) <= {0.1, 0.25, 1.0}
    assert {path.name for path in (work / "data-bin").iterdir()} == {"input0", "input1", "label"}
    same = (work / "data-bin" / "input1" / "dict.txt").read_text()
    assert same == (pretrained / "data-bin" / "dict.txt").read_text()


BAD = {
    "no task": (("--data", "DATA", "--from", "MLM"), "--task must name a task of GLUE"),
    "no files": (("--task", "SST-2", "--from", "MLM"), "--data must name the folder of SST-2's files"),
    "no model": (("--task", "SST-2", "--data", "DATA"), "--from must name a folder with pre-trained models"),
    "a folder without models": (
        ("--task", "SST-2", "--data", "DATA", "--from", "DATA"),
        "--from must name folders with MODEL/averaged.pt or model.pt, but DATA has neither",
    ),
    "a model that is not there": (
        ("--task", "SST-2", "--data", "DATA", "--from", "MLM", "--models", "bert"),
        "--models must be of roformer, but is bert",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_what_must_be_given_is_named_before_anything_is_done(
    pretrained: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
):
    data = sst2(tmp_path / "SST-2")
    named = {"DATA": str(data), "MLM": str(pretrained)}
    done = glue(tmp_path / "work", *(named.get(word, word) for word in arguments))
    assert done.returncode == 1 and not (tmp_path / "work").exists()
    assert f"run_glue.sh: error: {message.replace('DATA', str(data), 1)}" in done.stderr, done.stderr


@pytest.mark.parametrize("name", ["raw", "text", "data-bin"])
def test_what_the_recipe_has_not_made_is_not_removed(pretrained: Path, tmp_path: Path, name: str):
    work = tmp_path / "work"
    data = sst2(work / name / "SST-2")
    given = ("--task", "SST-2", "--data", data, "--from", pretrained, "--sample")
    (work / "data-bin.settings").write_text("[given]\ntext\n[prepare]\nBPE=subword_nmt\n")  # of a pre-training
    for script in ("scripts/run_glue.sh", "data-prep/prepare_glue.sh"):
        done = glue(work, *given, script=script)
        expected = f"WORK must be a folder of its own, but {work} has a {name} that is not of this recipe"
        assert done.stderr == f"{Path(script).name}: error: {expected}\n" and done.returncode == 1
    assert (data / "train.tsv").exists()


def test_bad_files_and_models_that_do_not_fit_are_named_before_training(pretrained: Path, tmp_path: Path):
    data = sst2(tmp_path / "SST-2")
    given = ("--task", "SST-2", "--data", data, "--from", pretrained, "--check")
    done = glue(tmp_path / "work", *given)
    assert done.returncode == 1 and "the train set has 48 examples, but GLUE's has 67,349" in done.stderr
    work = Path(shutil.copytree(pretrained, tmp_path / "other"))
    with (work / "data-bin" / "dict.txt").open("a") as file:
        file.write("more 1\n")
    (work / "manifest.json").write_text(re.sub(r'"files": \{.*?\n  \}', '"files": {}', read(work), flags=re.S))
    done = glue(tmp_path / "work", *given[:5], work, "--sample", "--check")
    assert done.returncode == 1 and "it is of another vocabulary" in done.stderr, done.stderr
    done = glue(tmp_path / "work", *given[:6], "--from", work, "--sample", "--check")
    assert done.returncode == 1 and "both have a model roformer: rename one" in done.stderr, done.stderr
    assert not [path for path in (tmp_path / "work").rglob("*") if path.is_file()]


def read(work: Path) -> str:
    return (work / "manifest.json").read_text()

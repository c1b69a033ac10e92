"""run_scm.sh on small files: released weights (a tiny random folder) to a table, and what is refused."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from fairseq_rope.export.huggingface import import_folder
from tests.support import ROOT
from tests.support.cases import CHINESE_WORDS, PIECES, cases, write_cases
from tests.support.environment import forking_environment
from tests.support.roformers import SPECIAL, their_tensors, write_folder, write_vocabulary

CONF = """# a training in no time
# shellcheck shell=bash disable=SC2034
LENGTHS=${LENGTHS:-16 24} MAX_EPOCH=1
source "$ROOT/scripts/conf/scm_base.env"
RATES=(1e-3) BATCH=8 MAX_BATCH=8
"""
VOCABULARY = [*SPECIAL, *CHINESE_WORDS, *PIECES]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with random weights and a vocabulary of Chinese words, imported as a released one is."""
    pytest.importorskip("safetensors", reason="the extra `export` is not installed")
    folder = tmp_path_factory.mktemp("released")
    size = len(VOCABULARY)
    tensors = their_tensors(vocab_size=size)
    write_folder(folder / "their", weights=tensors, vocab_size=size)
    write_vocabulary(folder / "their", VOCABULARY)
    import_folder(folder / "their", folder / "roformer", segments=1)
    return folder / "roformer"


def scm(
    work: Path, *arguments: object, script: str = "scripts/run_scm.sh", **settings: str
) -> subprocess.CompletedProcess[str]:
    (work.parent / "conf.env").write_text(CONF)
    words = ["bash", script, "--conf", str(work.parent / "conf.env"), *map(str, arguments)]
    env = forking_environment(work, JOBS="1", GPUS="0", PRECISION="fp32", **settings)
    return subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def test_released_weights_are_fine_tuned_at_each_length_and_scored(released: Path, tmp_path: Path):
    work = tmp_path / "work"
    given: list[object] = ["--from", released]
    for seed, (name, size) in enumerate({"train": 40, "valid": 12, "test": 15}.items()):
        given += [f"--{name}", write_cases(tmp_path / f"{name}.json", cases(size, seed=seed))]
    done = scm(work, *given)
    assert done.returncode == 0, done.stderr[-4000:]
    header = next(line for line in done.stdout.splitlines() if "majority" in line)
    names = ["roformer_at_16", "roformer_at_24", "majority", "tf_idf"]
    assert [cell.strip() for cell in header.split("|")[2:-1]] == names
    for subset in ("valid", "test"):
        (scores,) = re.findall(rf"\| {subset}: accuracy +((?:\| +\d+\.\d\d +){{4}})\|", done.stdout)
        # whose documents share their words with the nearer one
        assert float(scores.split("|")[-1]) > 80 > float(scores.split("|")[3]), done.stdout
    log = (work / "roformer_at_24" / "lr-1e-3" / "train.log").read_text()
    assert "max_positions=24" in log or "'max_positions': 24" in log
    assert "max_option_length=12" in log or "'max_option_length': 12" in log
    # words of the vocabulary are pieces of their own
    assert set(CHINESE_WORDS) & {*(work / "text" / "test.input1").read_text(encoding="utf-8").split()}
    assert len((work / "roformer_at_16" / "predictions-test.tsv").read_text().splitlines()) == 16
    labels = (work / "data-bin" / "label" / "test.label").read_text().split()
    assert labels == [str("BC".index(each["label"])) for each in cases(15, seed=2)]
    again = scm(work, *given, "prepare", "train")
    assert again.returncode == 0 and "fine-tune" not in again.stderr, again.stderr[-2000:]


def test_a_sample_is_called_a_smoke_test():
    script = "ROOT=$PWD; source scripts/lib/options.sh; source scripts/lib/scm.sh; SCM=(--sample x); show_sample"
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("\nA smoke test: ") and done.stderr == ""
    script = script.replace("--sample", "--train")
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("", "")


def test_what_cannot_be_is_named_before_anything_is_trained(released: Path, tmp_path: Path):
    work = tmp_path / "work"
    good = write_cases(tmp_path / "good.json", cases(12, seed=1))
    (tmp_path / "bad.json").write_text('{"A": "a", "B": "b", "C": "c", "label": "D"}\n')

    def error(*arguments: object) -> str:
        done = scm(work, *arguments)
        assert done.returncode == 1, done.stdout
        return done.stderr

    files = ("--train", good, "--valid", tmp_path / "bad.json")
    assert "--train and --valid must name the files of the task, or --sample" in error("--from", released)
    assert "--from must name a folder with pre-trained models" in error(*files)
    assert "--models must be of roformer_at_16 roformer_at_24, but is" in error(
        *files, "--from", released, "--models", "roformer"
    )
    assert f'scm: error: {tmp_path}/bad.json:1: the label must be B or C, but is "D"' in error(
        *files, "--from", released
    )
    assert "there is no option --task" in error("--task", "SCM")
    assert not [path for path in work.rglob("*") if path.is_file()]
    shutil.copytree(released, tmp_path / "other", dirs_exist_ok=True)
    (tmp_path / "other" / "vocab.txt").write_text("[PAD]\n")
    stderr = error("--sample", good, "--from", released, "--from", tmp_path / "other")
    assert "have other vocabularies: fine-tune them in work folders of their own" in stderr


def test_a_model_whose_table_has_one_length_is_left_out_of_all_and_named_where_it_was_chosen(
    released: Path, tmp_path: Path
):
    learned = tmp_path / "learned"
    shutil.copytree(released, learned)
    state = torch.load(learned / "model.pt", weights_only=False)
    state["cfg"]["model"].position_method, state["cfg"]["model"].max_positions = "learned", 24
    torch.save(state, learned / "model.pt")
    sample = write_cases(tmp_path / "sample.json", cases(40, seed=1))
    given = ("--sample", sample, "--from", released, "--from", learned, "--check")
    done = scm(tmp_path / "work", *given)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"note: (\S+) is left out: .*", done.stderr) == ["learned_at_16"]
    chosen = scm(tmp_path / "work", *given, "--models", "roformer_at_16 learned_at_16")
    assert chosen.returncode == 1 and "classify: error: --length must be 24, the positions that " in chosen.stderr
    alone = scm(tmp_path / "work", *given[:2], "--from", learned, "--check", LENGTHS="16")
    assert alone.returncode == 1 and "no model of --from can read examples of other lengths than it has" in alone.stderr

"""scripts/convert_to_rope.sh with a real model: killed and resumed, and with windows of several sentences."""

import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import torch
from fairseq.data import Dictionary
from fairseq.data.data_utils import load_indexed_dataset

from fairseq_rope.export.ctranslate2 import export_checkpoint
from fairseq_rope_data.window_index import read_index
from tests.support import ROOT
from tests.support.environment import forking_environment
from tests.support.process_groups import kill_group
from tests.support.trained import Trained, call, trained_model

SCRIPT = str(ROOT / "scripts" / "convert_to_rope.sh")
CONF = """# A conversion in no time.
# shellcheck shell=bash disable=SC2034
source "$ROOT/scripts/conf/convert.env"
SHARES=(4)
GENERATE=(--beam 1 --max-len-b 5)
"""


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A small model of fairseq's own, trained for 150 updates, with a test set."""
    trained = trained_model(tmp_path_factory.mktemp("stock"), "--arch transformer --encoder-learned-pos", padding=30)
    for path in trained.data.glob("valid.*"):
        shutil.copy(path, path.with_name(path.name.replace("valid", "test")))
    return trained


def test_a_real_model_killed_while_it_is_converted_goes_on_to_an_ordinary_checkpoint(stock: Trained, tmp_path: Path):
    work = tmp_path / "a wörk"
    (tmp_path / "conf.env").write_text(CONF)
    given = ["--from", str(stock.checkpoint), "--data", str(stock.data), "--conf", str(tmp_path / "conf.env")]
    command, env = ["bash", SCRIPT, *given, "--updates", "12"], forking_environment(work)
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=quiet, stderr=quiet, start_new_session=True)
    while not list(work.glob("converted/checkpoint_*_[2-5].pt")):
        assert process.poll() is None
        time.sleep(0.02)
    kill_group(process)
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert re.search(r"Loaded checkpoint \S+ \S+/converted/checkpoint_last.pt \(epoch \d+ @ \d+ updates\)", done.stderr)
    lines = done.stdout.splitlines()
    assert lines[0] == "The original had 150 updates."
    header = next(line for line in lines if "average" in line)
    assert [cell.strip() for cell in header.split("|")[2:-1]] == ["0", "4", "12", "average"]
    losses = [float(x) for x in re.search(r"\| valid loss, converted +\|(.*)\|", done.stdout)[1].split("|")]
    assert len(losses) == 4 and losses[2] < losses[0]
    for row in ("valid loss, continued", "test: BLEU4, converted", "test: BLEU, continued"):
        assert re.search(rf"\| {row} +(\| +\d+\.\d+ +){{4}}\|", done.stdout), done.stdout
    assert "BLEU by words of the source:" in done.stdout and not list(work.rglob("*.part*"))
    made = {path: path.stat().st_mtime_ns for path in work.rglob("*.pt")}
    again = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert again.returncode == 0 and again.stdout == done.stdout, again.stderr[-2000:]
    assert made == {path: path.stat().st_mtime_ns for path in work.rglob("*.pt")}
    averaged = work / "converted" / "averaged.pt"
    translated = call(
        "fairseq_rope.tools.translate",
        *Trained(stock.data, averaged, stock.codes, stock.lines).options(),
        stdin=f"{stock.lines[0]}\n".encode(),
    )
    assert len(translated.stdout.splitlines()) == 1
    export_checkpoint(averaged, stock.data, tmp_path / "exported")
    assert (tmp_path / "exported" / "model.bin").is_file()


# what a shell, a command line, a record or a page could take for its own
HOSTILE = (
    """$(touch {marker}) `touch {marker}`; touch {marker} --user-dir=evil "'\\ \n--user-dir=evil <script> ${{HOME}}"""
)


def test_options_of_a_checkpoint_are_text_through_the_whole_recipe(stock: Trained, tmp_path: Path):
    state, work, marker = torch.load(stock.checkpoint, weights_only=False), tmp_path / "work", tmp_path / "marker"
    # fairseq refuses the other spelling of a variable: it is its own
    code = HOSTILE.format(marker=marker).replace("${HOME}", "$HOME")
    cfg = state["cfg"]
    for section, names in {
        "common": ("user_dir", "log_file", "tensorboard_logdir", "wandb_project", "log_format"),
        "checkpoint": (
            "save_dir",
            "restore_file",
            "finetune_from_model",
            "checkpoint_suffix",
            "best_checkpoint_metric",
        ),
        "common_eval": ("path", "model_overrides", "results_path", "post_process"),
        "dataset": ("train_subset", "valid_subset", "gen_subset", "dataset_impl"),
        "distributed_training": ("distributed_init_method", "distributed_backend", "ddp_backend"),
        "task": ("data", "eval_bleu_detok", "eval_bleu_args", "eval_bleu_remove_bpe", "gen_subset", "train_subset"),
        "generation": ("print_alignment", "lm_path", "constraints"),
    }.items():
        for name in names:
            cfg[section][name] = code
    cfg["task"]["eval_bleu"] = True
    for name in ("user_dir", "save_dir", "path", "data", "encoder_embed_path", "decoder_embed_path", "restore_file"):
        setattr(cfg["model"], name, code)
    cfg["evil"], cfg["bpe"], cfg["tokenizer"], cfg["scoring"] = code, {"_name": code}, {"_name": code}, {"_name": code}
    torch.save(state, tmp_path / "hostile.pt")
    (tmp_path / "conf.env").write_text(CONF)
    given = ["--from", str(tmp_path / "hostile.pt"), "--data", str(stock.data), "--conf", str(tmp_path / "conf.env")]
    command = ["bash", SCRIPT, *given, "--updates", "2"]
    done = subprocess.run(
        command, cwd=tmp_path, env=forking_environment(work), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert not marker.exists() and re.search(r"\| test: BLEU, converted +\|", done.stdout)
    assert {path.name for path in tmp_path.iterdir()} == {"hostile.pt", "conf.env", "work"}
    assert "<script> $HOME" not in (work / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("section", "name"),
    [
        *(("model", "arch"), ("model", "activation_fn"), ("model", "encoder_layers"), ("model", "dropout")),
        *(("model", "encoder_layers_to_keep"), ("task", "_name"), ("task", "source_lang"), ("task", "target_lang")),
        *(("task", "max_source_positions"), ("criterion", "_name"), ("criterion", "label_smoothing")),
        *(("optimizer", "_name"), ("optimizer", "adam_betas"), ("optimizer", "weight_decay"), ("optimization", "lr")),
        *(("optimization", "clip_norm"), ("optimization", "update_freq"), ("dataset", "max_tokens")),
    ],
)
def test_an_option_that_the_training_takes_over_is_refused_in_one_line(
    section: str, name: str, stock: Trained, tmp_path: Path
):
    state, marker = torch.load(stock.checkpoint, weights_only=False), tmp_path / "marker"
    code = HOSTILE.format(marker=marker)
    part = state["cfg"][section]
    vars(part).update({name: code}) if section == "model" else part.update({name: code})
    torch.save(state, tmp_path / "hostile.pt")
    command = ["bash", SCRIPT, "--from", str(tmp_path / "hostile.pt"), "--data", str(stock.data)]
    env = forking_environment(tmp_path / "work")
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and not marker.exists(), done.stderr[-3000:]
    assert [line for line in lines if "error" in line.lower()] == lines[-1:], done.stderr[-3000:]
    assert lines[-1].startswith("convert: error: ") and not list((tmp_path / "work").iterdir())


def test_windows_of_the_test_set_that_are_too_long_for_the_model_are_named_before_its_training(
    stock: Trained, tmp_path: Path
):
    work = tmp_path / "work"
    (tmp_path / "conf.env").write_text(CONF + "WINDOW_OPTIONS+=(--any-order)\n")
    state = torch.load(stock.checkpoint, weights_only=False)
    state["cfg"]["task"]["max_target_positions"] = state["cfg"]["model"].max_target_positions = 60
    torch.save(state, tmp_path / "short.pt")
    given = ["--from", str(tmp_path / "short.pt"), "--data", str(stock.data), "--conf", str(tmp_path / "conf.env")]
    command = ["bash", SCRIPT, *given, "--updates", "2", "--windows", "10"]
    done = subprocess.run(command, cwd=ROOT, env=forking_environment(work), capture_output=True, text=True, check=False)
    assert done.returncode == 1 and not (work / "data-bin").exists()
    expected = rf"{work}/text/test-w10\.de:1 has [0-9]+ tokens, but the model takes 60: give it more with --max-target"
    assert re.search(expected, done.stderr), done.stderr[-3000:]


def test_windows_of_the_training_text_join_it_and_the_test_set_is_translated_in_windows(stock: Trained, tmp_path: Path):
    work, conf = tmp_path / "a wörk", tmp_path / "conf.env"
    conf.write_text(CONF + "SHARES=()\nWINDOW_OPTIONS+=(--any-order)\n")
    given = ["--from", str(stock.checkpoint), "--data", str(stock.data), "--conf", str(conf), "--models", "converted"]
    command = ["bash", SCRIPT, *given, "--updates", "2", "--windows", "2"]
    done = subprocess.run(command, cwd=ROOT, env=forking_environment(work), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    single = len((work / "text" / "train.en").read_text(encoding="utf-8").splitlines())
    windows = read_index(work / "text" / "windows.windows.tsv").windows
    assert single == 300 == sum(window.lines for window in windows) and {window.lines for window in windows} == {1, 2}
    train = [load_indexed_dataset(str(work / "data-bin" / f"train{n}.en-de.de")) for n in ("", 1)]
    assert [len(lines) for lines in train] == [single, len(windows)]
    words = Dictionary.load(str(stock.data / "dict.de.txt"))
    together = next(number for number, window in enumerate(windows) if window.lines == 2)
    first = train[0][windows[together].first - 1][:-1]
    separator = words.index("madeupword0000")
    assert train[1][together].tolist() == [*first, separator, *train[0][windows[together].first]]
    for name, lines in (("train", single), ("train1", len(windows))):
        assert f"{name} en-de {lines} examples" in done.stderr
    for row in ("test: BLEU, converted", "test-w2: BLEU, converted"):
        assert re.search(rf"\| {row} +(\| +\d+\.\d+ +){{3}}\|", done.stdout), done.stdout

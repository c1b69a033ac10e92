"""scripts/benchmark_peer.py without eole: its settings, batches, learning rate, logs and table, and bad input."""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import pytest
from fairseq.optim.lr_scheduler.inverse_square_root_schedule import InverseSquareRootSchedule

from benchmark_peer import main
from benchmarks.peer import batches, comparison, log, settings, training
from benchmarks.peer.toolkit import Eole, locked
from fairseq_rope.models.translation import transformer_rope_tiny
from fairseq_rope_data.errors import UserError
from tests.support import ROOT

PLAN = settings.Plan(Path("peer"), pairs=29_000, batch_size=4_224, updates=5_580, epoch=124, report=31)
STEP = "[2026 INFO] Step {:2d}/ 5580; acc: 5.0; bsz: 900/ 990/64; {}/{} tok/s; 9 sec;\n"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A prepared work folder."""
    for folder in ("text", "data-bin"):
        (tmp_path / folder).mkdir()
    for name in training.SETS:
        for lang in ("en", "de"):
            (tmp_path / "text" / f"{name}.{lang}").write_text(f"{lang} a@@ b\n{name} c\n")
    for lang in ("en", "de"):
        (tmp_path / "data-bin" / f"dict.{lang}.txt").write_text("a@@ 9\nb 5\nmadeupword0000 0\n")
    return tmp_path


def test_the_learning_rate_after_each_update_is_fairseqs():
    options = Namespace(lr=[settings.PEAK], warmup_updates=settings.WARMUP, warmup_init_lr=1e-7)
    optimizer = SimpleNamespace(lr=0.0, get_lr=lambda: optimizer.lr, set_lr=lambda lr: setattr(optimizer, "lr", lr))
    schedule = object.__new__(InverseSquareRootSchedule)
    schedule.cfg, schedule.optimizer, schedule.lr = options, optimizer, options.warmup_init_lr
    schedule.lr_step = (options.lr[0] - options.warmup_init_lr) / options.warmup_updates
    schedule.decay_factor = options.lr[0] * options.warmup_updates**0.5
    scale = settings.training_settings(PLAN)["training"]["learning_rate"]
    for update in range(1, 6001):
        noam = scale * settings.MODEL**-0.5 * min(update**-0.5, update * settings.WARMUP**-1.5)
        assert noam == pytest.approx(schedule.step_update(update), rel=1e-9, abs=1.01e-7), update


def conf_words(*variables: str) -> list[str]:
    """What variables of the recipe's conf hold."""
    script = 'ROOT=$0; source "$ROOT/scripts/conf/multi30k.env"; printf "%s\\n" ' + " ".join(
        f'"{it}"' for it in variables
    )
    done = subprocess.run(["bash", "-c", script, ROOT], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_settings_are_those_of_the_conf_and_the_arch():
    tiny = Namespace()
    transformer_rope_tiny(tiny)
    model = settings.model_settings()
    sizes = {name: model[name] for name in ("layers", "hidden_size", "transformer_ff", "heads")}
    for side in ("encoder", "decoder"):
        names = ("layers", "embed_dim", "ffn_embed_dim", "attention_heads")
        assert [*sizes.values()] == [getattr(tiny, f"{side}_{name}") for name in names]
    assert tiny.share_all_embeddings and model["share_embeddings"] and model["share_decoder_embeddings"]
    assert model["rope_config"]["rotary_theta"] == tiny.rope_base and model["rope_config"]["rotary_interleave"]
    words = [*conf_words("${TRAIN[@]}", "${AVERAGE[@]}", "${GENERATE[@]}"), "--batch", *conf_words("$BATCH_TOKENS")]
    given = {word: following for word, following in itertools.pairwise(words) if word.startswith("--")}
    training_options = settings.training_settings(PLAN)["training"]
    assert float(given["--lr"]) == settings.PEAK and int(given["--warmup-updates"]) == training_options["warmup_steps"]
    assert given["--adam-betas"] == f"({training_options['adam_beta1']}, {training_options['adam_beta2']})"
    assert [float(given["--dropout"])] == training_options["dropout"]
    assert float(given["--label-smoothing"]) == training_options["label_smoothing"]
    assert float(given["--clip-norm"]) == training_options["max_grad_norm"]
    assert int(given["--num-epoch-checkpoints"]) == training_options["keep_checkpoint"]
    assert int(given["--batch"]) == settings.MAX_TOKENS == int(given["--max-tokens"])
    assert int(given["--beam"]) == settings.search_settings(Path("m"), Path("s"), Path("o"))["beam_size"]


def test_the_configuration_says_that_positions_are_rotated_and_nothing_is_added():
    text = json.loads(json.dumps(settings.training_settings(PLAN)))
    assert text["model"]["position_encoding_type"] == text["model"]["embeddings"]["position_encoding_type"] == "Rotary"
    assert text["model"]["embeddings"]["normalize"] and not text["model"]["generator_bias"]
    assert text["training"]["train_steps"] == 5_580 and text["training"]["save_checkpoint_steps"] == 124
    assert text["training"]["bucket_size"] == 29_000 and text["training"]["num_workers"] == 0
    assert text["src_vocab"] == text["tgt_vocab"] == "peer/vocab.txt" and text["share_vocab"]
    assert "train_from" not in text["training"]


def slow_eole_batches(pairs: list[batches.Pair], size: int) -> int:
    """The rule again: add pairs by length; when tokens reach the size, cut to a multiple of 8 without the last."""
    rest, count = sorted(pairs, key=lambda pair: pair[:2]), 0
    batch: list[batches.Pair] = []
    barred: list[str] = []
    for pair in rest:
        if pair[2] in barred:
            continue
        barred.append(pair[2])
        batch = [*batch, pair]
        tokens = len(batch) * max(max(source + 1, target + 2) for source, target, _ in batch)
        keep = (len(batch) - (tokens > size)) // 8 * 8
        if tokens >= size and keep > 0:
            count, batch, barred = count + 1, batch[keep:], []
    return count + bool(batch)


def made_pairs(number: int) -> list[batches.Pair]:
    draw = random.Random(5)
    return [
        (n := draw.randint(1, 30), max(1, n + draw.randint(-4, 6)), str(draw.randint(1, 400))) for _ in range(number)
    ]


@pytest.mark.parametrize("size", [60, 256, 1_000, 4_096])
def test_eoles_batches_are_counted_as_it_makes_them(size: int):
    pairs = made_pairs(700)
    assert batches.eole_batches(pairs, size) == slow_eole_batches(pairs, size)


def test_eole_makes_as_many_batches_an_epoch_as_fairseq():
    pairs = made_pairs(3_000)
    wanted = batches.fairseq_batches(pairs, 1_000)
    size = batches.eole_size(pairs, wanted)
    assert batches.eole_batches(pairs, size) <= wanted < batches.eole_batches(pairs, size - 1)


def test_fairseqs_batches_hold_the_given_tokens_with_the_end_of_sentences():
    eight = [(9, 7, "")] * 16  # 10 tokens each
    assert [batches.fairseq_batches(eight, tokens) for tokens in (160, 159)] == [1, 2]


def test_the_text_is_converted_once_with_ends_of_sources_and_fairseqs_dictionary(work: Path):
    folder = work / "peer"
    folder.mkdir()
    training.convert(work, folder)
    assert (folder / "train.en").read_text() == "en a@@ b </s>\ntrain c </s>\n"
    assert (folder / "train.de").read_text() == "de a@@ b\ntrain c\n"
    assert (folder / "vocab.txt").read_text() == "a@@\nb\nmadeupword0000\n"
    (work / "text" / "train.en").write_text("another\n")
    training.convert(work, folder)
    assert (folder / "train.en").read_text().startswith("en a@@ b")


def test_a_checkpoint_without_its_last_file_is_removed_and_not_trained_on(tmp_path: Path):
    for step, text in ((5, "{}"), (15, "{}"), (10, "{}"), (20, '{"cut'), (25, None)):
        folder = tmp_path / f"step_{step}"
        folder.mkdir()
        (folder / "optimizer.pt").write_text("")
        if text:
            (folder / "config.json").write_text(text)
    assert training.complete_steps(tmp_path) == [5, 10, 15]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step_10", "step_15", "step_5"]


def test_a_training_goes_on_from_the_last_complete_checkpoint_with_another_seed(tmp_path: Path):
    calls = []
    eole = SimpleNamespace(run=lambda program, asked, file, log: calls.append(asked))
    plan = settings.Plan(tmp_path, pairs=10, batch_size=4_096, updates=30, epoch=5, report=1)
    for step in (5, 10):
        (tmp_path / "model" / f"step_{step}").mkdir(parents=True)
        (tmp_path / "model" / f"step_{step}" / "config.json").write_text("{}")
    training.train(eole, plan)
    assert calls[0]["training"]["train_from"] == str(tmp_path / "model" / "step_10") and calls[0]["seed"] == 11
    training.train(eole, settings.Plan(**{**vars(plan), "updates": 10}))
    assert len(calls) == 1


def test_a_folder_of_other_settings_is_not_trained_on(tmp_path: Path):
    eole = SimpleNamespace(versions={"eole": "0.6.4", "torch": "2.13.0"})
    plan = settings.Plan(tmp_path, pairs=10, batch_size=4_096, updates=30, epoch=5, report=1)
    training.keep_plan(eole, plan)
    training.keep_plan(eole, plan)
    with pytest.raises(UserError, match=r"was made with other settings .*\(plan.json\); remove the folder"):
        training.keep_plan(eole, settings.Plan(**{**vars(plan), "updates": 20}))
    with pytest.raises(UserError, match="another eole"):
        training.keep_plan(SimpleNamespace(versions={"eole": "0.6.5"}), plan)


def fake_eole(folder: Path, program: str) -> Eole:
    """An environment whose Python is a shell program; it says that it has eole 0.6.4."""
    python = folder / "env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\n[ "$1" != -c ] || {{ echo 0.6.4 2.13.0; exit; }}\n{program}\n')
    python.chmod(0o755)
    return Eole(folder / "env")


def test_a_run_whose_training_goes_on_without_it_keeps_others_out(tmp_path: Path):
    eole, folder = fake_eole(tmp_path, "sleep 60 >/dev/null 2>&1 & echo $!"), tmp_path / "peer"
    with locked(folder):
        process = int(eole.run("train", {}, folder / "train.json"))
    try:
        with pytest.raises(UserError, match=f"another run works in {folder}"), locked(folder):
            pass
    finally:
        os.kill(process, signal.SIGTERM)


def test_a_failure_of_eoles_is_its_last_line(tmp_path: Path):
    eole = fake_eole(tmp_path, "echo one; echo CUDA is missing >&2; exit 3")
    with pytest.raises(UserError, match=r"eole train .* ended with status 3: CUDA is missing"):
        eole.run("train", {"a": 1}, tmp_path / "train.json", log=tmp_path / "log")
    assert (tmp_path / "log").read_text() == "one\nCUDA is missing\n"
    assert json.loads((tmp_path / "train.json").read_text()) == {"a": 1}


def test_the_log_gives_the_median_rate_of_target_tokens(tmp_path: Path):
    path = tmp_path / "eole.log"
    path.write_text(
        "Saving\n" + "".join(STEP.format(step, 500, rate) for step, rate in ((31, 900), (62, 1010), (93, 960)))
    )
    assert log.training_rates(path) == [(31, 900.0), (62, 1010.0), (93, 960.0)]
    assert log.training_rate(path) == 960.0
    path.write_text("nothing\n")
    with pytest.raises(UserError, match="eole reports no training in this log"):
        log.training_rate(path)


def test_the_time_of_a_search_is_its_first_step_and_the_others():
    text = "loading model took 2.33 sec.\nStep 0 time (s): 0.18\nSubsequent prediction time including all (s): 9.64\n"
    assert log.search_seconds(text) == pytest.approx(9.82)
    with pytest.raises(UserError, match="must print the time of its search"):
        log.search_seconds("Step 0 time (s): 0.18\n")


def test_the_table_has_a_line_for_each_model_and_says_what_parameters_differ():
    scores = {"BLEU4": 41.023, "BLEU": 41.0, "chrF2": 65.5}
    row = {"model": "rope", "parameters": 2_572_288, "updates": 5_580, "rate": 1_234.5, "seconds": [9.0, 8.0, 11.0]}
    rows = [{**row, "scores": scores}, {**row, "model": "eole", "parameters": 2_572_800, "scores": {"BLEU4": 40.0}}]
    lines = comparison.comparison_table(rows).splitlines()
    assert lines[2] == "| rope | 2,572,288 | 5,580 | 1,234 | 9.0 (8.0 to 11.0) | 41.02 | 41.00 | 65.50 |"
    assert lines[3].endswith("| 40.00 | - | - |")
    assert comparison.parameter_note(rows).startswith("parameters of eole: +512 than rope; ")


@pytest.mark.parametrize(("name", "words"), [("rotates", "rotate queries"), ("shares_embeddings", "share all")])
def test_a_model_of_eoles_that_is_another_one_is_refused(name: str, words: str):
    facts = {"parameters": 5, "rotates": True, "shares_embeddings": True}
    assert comparison.check_facts(json.dumps(facts)) == facts
    with pytest.raises(UserError, match=f"eole's model must {words}"):
        comparison.check_facts(json.dumps({**facts, name: False}))


def refusal(monkeypatch: pytest.MonkeyPatch, *options: object) -> str:
    """The error of the command line, in this process."""
    monkeypatch.setattr(sys, "argv", ["benchmark_peer.py", *map(str, options)])
    with pytest.raises(UserError) as error:
        main()
    return str(error.value)


def test_a_folder_that_is_not_prepared_is_one_line_before_anything_is_installed(work: Path):
    (work / "data-bin" / "dict.de.txt").unlink()
    command = [sys.executable, str(ROOT / "scripts" / "benchmark_peer.py"), str(work)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    expected = f"{work} is not prepared: there is no data-bin/dict.de.txt; see scripts/run_multi30k.sh"
    assert (done.returncode, done.stderr) == (1, f"benchmark_peer: error: {expected}\n")


def test_what_a_work_folder_lacks_is_named(work: Path, monkeypatch: pytest.MonkeyPatch):
    said = refusal(monkeypatch, work)
    assert said == f"--models rope: there is no {work}/rope/train.log; see scripts/run_multi30k.sh"
    (work / "data-bin" / "dict.de.txt").write_text("other 1\n")
    assert "must have one dictionary, but en and de differ" in refusal(monkeypatch, work)
    (work / "text" / "test.en").unlink()
    assert "is not prepared: there is no text/test.en" in refusal(monkeypatch, work)


@pytest.mark.parametrize(("version", "said"), [("0.5.3 2.13.0", "0.5.3"), ("", "none")])
def test_another_version_of_eole_is_refused(
    work: Path, monkeypatch: pytest.MonkeyPatch, version: str, said: str
) -> None:
    python = work / "env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\necho {version}\n")
    python.chmod(0o755)
    options = [work, "--speed", "--eole"]
    assert refusal(monkeypatch, *options, work / "env") == f"--eole {work}/env: eole must be 0.6, but is {said}"
    assert "no Python of an environment" in refusal(monkeypatch, *options, work)


def test_without_a_network_the_environment_is_an_error_and_not_half_there(tmp_path: Path):
    script = ROOT / "scripts" / "benchmarks" / "peer" / "environment.sh"
    offline = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null", "PIP_FIND_LINKS": ""}
    env = {**os.environ, **offline, "PYTHON": sys.executable}
    done = subprocess.run(["bash", script, tmp_path / "env"], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("environment.sh: error: eole ")  # or there is no Python for it
    assert not (tmp_path / "env" / "stamp").exists()

"""What is recorded of each start of a training, and with what a training may go on."""

import json
import subprocess
from pathlib import Path

from tests.support.stubs import Stubs
from tests.support.work_folders import state


def test_the_command_is_kept_with_each_start_of_a_training_in_words_that_repeat_it(stubs: Stubs, finished: Path):
    (line,) = (finished / "rope" / "provenance.jsonl").read_text(encoding="utf-8").splitlines()
    printed = ["bash", "-c", f"printf '%s\\0' {json.loads(line)['command']}"]  # a shell reads it: a path has a line end
    assert json.loads(line)["precision"] == "fp32"
    words = subprocess.run(printed, capture_output=True, text=True, check=True).stdout.split("\0")[:-1]
    script = words.index("bash")
    assert words[script + 1] == "scripts/run_bitext.sh" and words[script + 2 :] == stubs.command()[2:]
    variables = dict(word.split("=", 1) for word in words[:script])
    assert variables["WORK"] == str(finished) and variables["FAIRSEQ_ROPE_ENV"] == "none"
    assert not variables.keys() & {"PATH", "HOME", "VIRTUAL_ENV", "PYTHONPATH", "RECORD"}


def test_a_training_goes_on_with_or_without_bleu_of_its_validation(stubs: Stubs, work: Path):
    for folder in ("trained", "averaged.pt", "generate-test.log"):
        (work / "rope" / folder).unlink()
    before = (work / "rope" / "settings").read_bytes()
    done = stubs.run(work, *stubs.command("train"), VALID_BLEU="1")
    assert done.returncode == 0, done.stderr
    (call,) = stubs.calls("fairseq-train")
    chosen = call[call.index("--eval-bleu") :][:6]
    search = '{"beam": 1, "max_len_a": 1.2, "max_len_b": 10}'
    assert chosen[:5] == ["--eval-bleu", "--eval-bleu-args", search, "--eval-bleu-remove-bpe", "subword_nmt"]
    assert chosen[5] == "--eval-tokenized-bleu"
    assert (work / "rope" / "settings").read_bytes() == before
    (work / "rope" / "trained").unlink()
    done = stubs.run(work, *stubs.command("train"))
    assert done.returncode == 0 and not any("--eval" in word for word in stubs.calls("fairseq-train")[0]), done.stderr


def test_bleu_of_validation_is_of_raw_text_with_sentencepiece(stubs: Stubs, tmp_path: Path):
    done = stubs.run(tmp_path, *stubs.command(conf="BPE_MERGES=60"), BPE="sentencepiece", VALID_BLEU="1")
    assert done.returncode == 0, done.stderr
    (call,) = stubs.calls("fairseq-train")
    assert call[call.index("--eval-bleu-remove-bpe") + 1] == "sentencepiece" and "--eval-tokenized-bleu" not in call


def test_a_training_goes_on_with_the_optimizer_of_its_precision_and_is_not_recorded_with_another(
    stubs: Stubs, work: Path
):
    (work / "rope" / "trained").unlink()
    before = state(work)
    done = stubs.run(work, *stubs.command("train"), PRECISION="bf16", GPUS="0")
    assert done.returncode == 1 and not stubs.calls("fairseq-train") and state(work) == before
    assert f"error: PRECISION must be fp32, in which {work}/rope was begun, but is bf16" in done.stderr
    starts = work / "rope" / "provenance.jsonl"
    starts.write_text(starts.read_text().replace('"fp32"', '"fp16"'))
    done = stubs.run(work, *stubs.command("train"), PRECISION="bf16", GPUS="0")
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["precision"] for line in starts.read_text().splitlines()] == ["fp16", "bf16"]


def test_a_training_without_a_checkpoint_begins_again_in_another_precision(stubs: Stubs, work: Path):
    for name in ("checkpoint_last.pt", "trained"):
        (work / "rope" / name).unlink()
    done = stubs.run(work, *stubs.command("train"), PRECISION="bf16", GPUS="0")
    assert done.returncode == 0, done.stderr
    (line,) = (work / "rope" / "provenance.jsonl").read_text().splitlines()
    assert json.loads(line)["precision"] == "bf16"


def test_a_line_that_a_full_disk_has_cut_off_is_not_joined_with_that_of_the_next_start(stubs: Stubs, work: Path):
    (work / "rope" / "trained").unlink()
    starts, log = work / "rope" / "provenance.jsonl", work / "rope" / "train.log"
    (first,) = starts.read_text(encoding="utf-8").splitlines(keepends=True)
    whole = "epoch 001 | loss 9\n"
    starts.write_text(first + first[:90], encoding="utf-8")
    log.write_text(whole + "epoch 001 | valid on 'valid' subset | lo")
    done = stubs.run(work, *stubs.command("train"))
    assert done.returncode == 0, done.stderr
    lines = starts.read_text(encoding="utf-8").splitlines(keepends=True)
    assert lines[0] == first and [json.loads(line)["precision"] for line in lines] == ["fp32", "fp32"]
    assert log.read_text() == whole

"""BLEU of the validation set, as the recipes have fairseq-train log it."""

import subprocess
from pathlib import Path

import pytest
import sacrebleu
import torch

from fairseq_rope.experiments.train_log import read_train_log
from tests.integration.test_training import train
from tests.support import ROOT
from tests.support.trained import Trained, call

OPTIONS = ("--max-tokens", "1500", "--required-batch-size-multiple", "1", "--lr", "1e-2", "--validate-interval", "4")
SEARCH = ("--beam", "1", "--max-len-a", "1.2", "--max-len-b", "10")


def recipe_options() -> list[str]:
    """What scripts/lib/training.sh adds to fairseq-train's options."""
    script = 'source scripts/lib/training.sh; bleu_options all; printf "%s\\n" "${all[@]}"'
    words = ["bash", "-euc", f"VALID_BLEU=1 BPE=subword_nmt; {script}"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("arch", ["transformer_rope_tiny", "transformer"])
def test_the_log_has_the_bleu_of_each_checkpoint_and_the_model_is_the_same_without(
    trained: Trained, tmp_path: Path, arch: str
):
    for name, more in (("with", recipe_options()), ("without", [])):
        places = ("--save-dir", str(tmp_path / name), "--log-file", str(tmp_path / f"{name}.log"))
        train(trained.data, *OPTIONS, "--max-epoch", "12", "--save-interval", "4", *places, *more, arch=arch)
    log, other = (read_train_log(tmp_path / f"{name}.log") for name in ("with", "without"))
    assert [each.loss for each in log.validations] == [each.loss for each in other.validations] and not other.bleu
    assert len(log.bleu) == len(log.validations) == 3 and log.bleu[0][1] < log.bleu[-1][1]
    checkpoint = tmp_path / "with" / "checkpoint_last.pt"
    models = [torch.load(tmp_path / name / "checkpoint_last.pt")["model"] for name in ("with", "without")]
    for name, weight in models[0].items():
        # not what nothing reads in stock: memory as it was found, and 0.12.2's copies of weights
        assert name.endswith(("_float_tensor", "_weight", "_bias")) or torch.equal(weight, models[1][name]), name
    # for padding the fast path of stock fairseq 0.12.2 fails in newer torch; other batches may round otherwise
    batches = ["--batch-size", "1"] if arch == "transformer" else [*OPTIONS[:2]]
    done = call(
        *("fairseq_cli.generate", str(trained.data), "--user-dir", str(ROOT / "fairseq_rope"), "--cpu"),
        *("--path", str(checkpoint), "--gen-subset", "valid", "--remove-bpe", *SEARCH),
        *(*batches, "--required-batch-size-multiple", "1"),
    )
    lines = [line.split("\t") for line in done.stdout.decode().splitlines()]
    references = {line[0][2:]: line[1] for line in lines if line[0].startswith("T-")}
    hypotheses = {line[0][2:]: line[2] for line in lines if line[0].startswith("H-")}
    assert references.keys() == hypotheses.keys() and len(references) == 300
    pairs = [(hypotheses[key], reference) for key, reference in references.items()]
    bleu = sacrebleu.corpus_bleu([ours for ours, _ in pairs], [[theirs for _, theirs in pairs]], tokenize="none")
    assert log.bleu[-1][1] == pytest.approx(bleu.score, abs=0.006)


def test_its_checkpoints_are_resumed_averaged_and_translated_with(trained: Trained, tmp_path: Path):
    places = ("--save-dir", str(tmp_path), "--log-file", str(tmp_path / "train.log"))
    for epochs in ("2", "4"):
        log = train(
            trained.data, *OPTIONS, "--validate-interval", "1", "--max-epoch", epochs, *places, *recipe_options()
        )
        assert call("fairseq_rope.tools.repair", str(tmp_path)).stdout == b""
    assert f"Loaded checkpoint {tmp_path}/checkpoint_last.pt (epoch 3 @ 8 updates)" in log
    assert len(read_train_log(tmp_path / "train.log").bleu) == 4
    average = str(tmp_path / "averaged.pt")
    call("fairseq_rope.tools.average", "--inputs", str(tmp_path), "--num-epoch-checkpoints", "2", "--output", average)
    words = trained._replace(checkpoint=Path(average)).options()
    done = call("fairseq_rope.tools.translate", *words, stdin=f"{trained.lines[0]}\n".encode())
    assert done.stdout.count(b"\n") == 1

"""fairseq-train itself: several ranks, a kill, fine-tuning from a stock model, guided alignment, wrong options."""

import re
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from fairseq.criterions import CRITERION_REGISTRY
from fairseq.distributed import ModuleProxyWrapper

from tests.support import ROOT, forked
from tests.support.ranks import start, train_on_two_ranks
from tests.support.small import TASK, sample, small
from tests.support.trained import Trained, call

SIZES = (
    *("--encoder-layers", "2", "--encoder-embed-dim", "32", "--encoder-attention-heads", "2"),
    *("--decoder-layers", "2", "--decoder-embed-dim", "32", "--decoder-attention-heads", "2", "--share-all-embeddings"),
)
COMMON = (
    *("--cpu", "--seed", "1", "--optimizer", "adam", "--lr", "1e-3", "--num-workers", "0", "--log-interval", "1"),
    *("--criterion", "label_smoothed_cross_entropy", "--label-smoothing", "0.1", "--log-format", "simple"),
)
CRITERIONS = ("label_smoothed_cross_entropy", "label_smoothed_cross_entropy_fused")


def command(data: Path, *options: str, arch: str = "transformer_rope_tiny") -> list[str]:
    user_dir = str(ROOT / "fairseq_rope")
    return ["fairseq_cli.train", str(data), "--user-dir", user_dir, "--arch", arch, *SIZES, *COMMON, *options]


def train(data: Path, *options: str, **kwargs: str) -> str:
    done = call(*command(data, *options, **kwargs))
    return (done.stdout + done.stderr).decode()


def losses(log: str) -> list[float]:
    """All that is printed of each update: loss, negative log-likelihood, perplexity and norm of the gradient."""
    return [float(number) for number in re.findall(r"\b(?:loss|nll_loss|ppl|gnorm)=([\d.]+)\b", log)]


@pytest.mark.parametrize("criterion", CRITERIONS)
def test_two_ranks_equal_one_process_with_update_freq_2(trained: Trained, tmp_path: Path, criterion: str):
    options = (
        *("--criterion", criterion, "--dropout", "0", "--max-tokens", "500"),
        *("--max-update", "6", "--disable-validation"),
    )
    alone = train(trained.data, *options, "--update-freq", "2", "--save-dir", str(tmp_path / "one"))
    together = train_on_two_ranks(command(trained.data, *options), tmp_path / "two")
    # the ranks' gradients are added in another order: the last printed digit may differ by one
    assert len(losses(alone)) == 24 and losses(together) == pytest.approx(losses(alone), rel=5e-4, abs=1.5e-3)
    one, two = (torch.load(tmp_path / name / "checkpoint_last.pt")["model"] for name in ("one", "two"))
    for name in one:
        torch.testing.assert_close(two[name], one[name], atol=1e-6, rtol=1e-5)


@pytest.fixture(scope="module")
def process_group() -> Iterator[None]:
    """A group of this process alone; one for all tests, for some machines look up their own name slowly."""
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("criterion", CRITERIONS)
@pytest.mark.parametrize("shared", [True, False], ids=["shared", "not shared"])
@pytest.mark.parametrize(
    ("arch", "unused"),  # fairseq 0.12.2's own has parameters that nothing uses
    [("transformer_rope", False), ("transformer_rope", True), ("transformer", True)],
)
def test_torch_ddp_finds_a_gradient_for_every_parameter(
    process_group: None, criterion: str, shared: bool, arch: str, unused: bool
):
    model = small(arch, share_all_embeddings=shared).train()
    wrapped = torch.nn.parallel.DistributedDataParallel(model, find_unused_parameters=unused)
    loss = CRITERION_REGISTRY[criterion](TASK, False, 0.1)
    for _ in range(2):  # the second pass fails where the first left a parameter without a gradient
        loss(ModuleProxyWrapper(wrapped), sample())[0].backward()  # as fairseq does
    if arch == "transformer_rope":
        assert all(parameter.grad is not None for parameter in model.parameters())


def test_training_killed_while_it_writes_is_repaired_and_resumes(trained: Trained, tmp_path: Path):
    options = ("--max-tokens", "500", "--max-epoch", "3", "--disable-validation", "--save-dir", str(tmp_path))
    process = start(*command(trained.data, *options))
    while not (tmp_path / "checkpoint2.pt").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (tmp_path / "checkpoint_last.pt").write_bytes(b"PK, and then the power went off")
    repaired = call("fairseq_rope.tools.repair", str(tmp_path)).stdout.decode()
    assert f"renamed {tmp_path / 'checkpoint_last.pt'} to checkpoint_last.pt.broken" in repaired
    resumed = train(trained.data, *options)
    first = re.search(r"Loaded checkpoint \S+checkpoint_last.pt \(epoch (\d+) @ (\d+) updates\)", resumed)
    assert first and int(first[1]) >= 2
    updates_an_epoch, rest = divmod(int(first[2]), int(first[1]) - 1)
    history = torch.load(tmp_path / "checkpoint_last.pt")["optimizer_history"]
    assert rest == 0 and history[-1]["num_updates"] == 3 * updates_an_epoch
    assert call("fairseq_rope.tools.repair", str(tmp_path)).stdout == b""


@pytest.mark.parametrize(
    ("arch", "checkpoint"),
    [("transformer_rope_tiny", "checkpoint1.pt"), ("transformer", "checkpoint_2_16.pt")],
    ids=["rope, at an epoch's end", "stock, in the second epoch"],
)
def test_a_resumed_training_ends_as_one_that_was_never_stopped(
    trained: Trained, tmp_path: Path, arch: str, checkpoint: str
):
    options = ("--max-tokens", "500", "--max-epoch", "2", "--disable-validation", "--save-dir")
    train(trained.data, *options, str(tmp_path / "whole"), "--save-interval-updates", "8", arch=arch)
    restore = str(tmp_path / "whole" / checkpoint)
    log = train(trained.data, *options, str(tmp_path / "resumed"), "--restore-file", restore, arch=arch)
    assert f"Loaded checkpoint {restore} (epoch 2 @ " in log
    whole, resumed = (torch.load(tmp_path / name / "checkpoint_last.pt")["model"] for name in ("whole", "resumed"))
    for name in whole:
        # not what nothing reads in stock: memory as it was found, and 0.12.2's copies of weights
        if not name.endswith(("_float_tensor", "_weight", "_bias")):
            assert torch.equal(resumed[name], whole[name]), name


@pytest.mark.parametrize("arch", ["transformer_rope_tiny", "transformer"])
def test_lengths_in_buckets_train(trained: Trained, tmp_path: Path, arch: str):
    options = ("--num-batch-buckets", "3", "--max-tokens", "500", "--max-update", "3", "--disable-validation")
    log = train(trained.data, *options, "--save-dir", str(tmp_path), arch=arch)
    assert "bucketing source lengths" in log and len(losses(log)) == 12


def test_a_language_model_trains_sentence_by_sentence(trained: Trained, tmp_path: Path):
    data, text = tmp_path / "data", str(trained.data.parent / "bpe.en")
    call("fairseq_cli.preprocess", "--only-source", "--trainpref", text, "--validpref", text, "--destdir", str(data))
    log = call(
        *("fairseq_cli.train", str(data), "--user-dir", str(ROOT / "fairseq_rope"), "--task", "language_modeling"),
        *("--arch", "transformer_lm", "--decoder-layers", "1", "--decoder-embed-dim", "16"),
        *("--decoder-attention-heads", "2", "--sample-break-mode", "eos", "--tokens-per-sample", "64", "--cpu"),
        *("--optimizer", "adam", "--num-workers", "0", "--max-tokens", "500", "--max-update", "3"),
        *("--save-dir", str(tmp_path / "save"), "--log-format", "simple"),
    )
    assert "num_updates 3" in log.stderr.decode() + log.stdout.decode()


def test_finetuning_starts_from_a_stock_transformer(trained: Trained, tmp_path: Path):
    options = ("--max-tokens", "500", "--max-update", "5", "--disable-validation", "--save-dir")
    train(trained.data, *options, str(tmp_path / "stock"), arch="transformer_wmt_en_de")
    stock = str(tmp_path / "stock" / "checkpoint_last.pt")
    log = train(
        trained.data,
        *options,
        str(tmp_path / "rope"),
        "--finetune-from-model",
        stock,
        "--lr",
        "1e-9",
        arch="transformer_rope",
    )
    assert "loading pretrained model from" in log
    before, after = (torch.load(tmp_path / name / "checkpoint_last.pt")["model"] for name in ("stock", "rope"))
    for name in after:
        torch.testing.assert_close(after[name], before[name], atol=1e-6, rtol=0)


@pytest.mark.parametrize("arch", ["transformer_rope", "transformer"])
def test_bf16_trains_on_what_the_machine_has(trained: Trained, tmp_path: Path, arch: str):
    options = ("--bf16", "--max-tokens", "500", "--max-update", "5", "--disable-validation", "--save-dir")
    log = train(trained.data, *options, str(tmp_path), arch=arch)
    found = [float(loss) for loss in re.findall(r" loss=([\d.]+)", log)]
    assert len(found) >= 5 and found[-1] < found[0]
    weight = torch.load(tmp_path / "checkpoint_last.pt")["model"]["decoder.layers.0.fc1.weight"]
    assert torch.equal(weight, weight.bfloat16().float())  # fairseq widens what it saves


def test_guided_alignment_trains(trained: Trained, tmp_path: Path):
    prefix, data = tmp_path / "bpe", tmp_path / "data"
    for lang in ("en", "de"):
        shutil.copy(trained.data.parent / f"bpe.{lang}", f"{prefix}.{lang}")
    pairs = len((tmp_path / "bpe.en").read_text().splitlines())
    (tmp_path / "bpe.align").write_text("0-0 1-1 2-2\n" * pairs)
    call(
        *("fairseq_cli.preprocess", "-s", "en", "-t", "de", "--joined-dictionary", "--align-suffix", "align"),
        *("--srcdict", str(trained.data / "dict.en.txt"), "--trainpref", str(prefix), "--validpref", str(prefix)),
        *("--destdir", str(data)),
    )
    log = train(
        data,
        *(
            "--load-alignments",
            "--criterion",
            "label_smoothed_cross_entropy_with_alignment",
            "--alignment-lambda",
            "0.5",
        ),
        *("--max-tokens", "500", "--max-update", "3", "--disable-validation", "--save-dir", str(tmp_path / "save")),
    )
    assert re.search(r"alignment_loss[= ][\d.]+", log)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rope-fraction", "1.5"), "--rope-fraction must be in (0, 1], but is 1.5"),
        (("--rope-base", "0"), "--rope-base must be above 0 and finite, but is 0.0"),
        (("--rope-layout", "spiral"), "--rope-layout must be one of interleaved, half, but is 'spiral'"),
        (("--dropout", "30"), "--dropout must be in [0, 1], but is 30.0"),
        (("--encoder-learned-pos",), "--encoder-learned-pos cannot be used with --position-method rope"),
    ],
)
def test_a_wrong_option_ends_with_its_rule_and_value(trained: Trained, tmp_path: Path, options, message):
    done = forked.run(*command(trained.data, *options, "--max-tokens", "500", "--save-dir", str(tmp_path)))
    assert done.returncode != 0
    assert message in done.stderr.strip().splitlines()[-1]
    assert not list(tmp_path.iterdir())

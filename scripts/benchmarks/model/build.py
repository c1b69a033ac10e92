"""Models that are compared, a rotary one and fairseq's `transformer` of the same sizes, as fairseq builds them."""

import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.model.spec import Spec

USER_DIR = Path(__file__).resolve().parents[3] / "fairseq_rope"
FUSED = "label_smoothed_cross_entropy_fused"
SIZES = {  # layers, model, feed-forward, heads
    "tiny": (4, 128, 256, 4),
    "iwslt": (6, 512, 1024, 4),
    "base": (6, 512, 2048, 8),
}
# vocabularies of synthetic data: multiples of 8, as --padding-factor makes them; 37k is that of the Transformer's paper
VOCABULARIES = {"tiny": 10_000, "iwslt": 10_000, "base": 37_000}
ENCODERS = {"stock": ["--arch", "roberta"], "rope": ["--user-dir", str(USER_DIR), "--arch", "roformer"]}
ARCHS = {"stock": ["--arch", "transformer"], "rope": ["--user-dir", str(USER_DIR), "--arch", "transformer_rope"]}
TRAIN = [
    *("--label-smoothing", "0.1", "--dropout", "0.1", "--optimizer", "adam", "--adam-betas", "(0.9, 0.98)"),
    *("--clip-norm", "0", "--lr", "5e-4", "--lr-scheduler", "inverse_sqrt", "--warmup-updates", "4000"),
    *("--warmup-init-lr", "1e-7", "--seed", "1", "--no-progress-bar", "--distributed-world-size", "1"),
    # batches are made before the clock starts: no process or thread that loads beside it
    *("--num-workers", "0", "--data-buffer-size", "0", "--disable-validation", "--no-save-optimizer-state"),
]


def size_options(size: str, sides: Sequence[str] = ("encoder", "decoder")) -> list[str]:
    """Return the options of fairseq-train for one of SIZES, of the stacks `sides`."""
    layers, model, feed_forward, heads = SIZES[size]
    options = []
    for side in sides:
        options += [f"--{side}-layers", str(layers), f"--{side}-embed-dim", str(model)]
        options += [f"--{side}-ffn-embed-dim", str(feed_forward), f"--{side}-attention-heads", str(heads)]
    return options


def device_options(spec: Spec) -> list[str]:
    """Return the options of every fairseq command for where it runs and in which dtype."""
    options = ["--cpu"] if spec.device == "cpu" else []
    return options + ([] if spec.dtype == "fp32" else [f"--{spec.dtype}"])


def training_options(spec: Spec, *, max_tokens: int) -> list[str]:
    """Return the command line of fairseq-train that is measured."""
    first, *others = (path.read_bytes() for path in Path(spec.data).glob("dict.*.txt"))
    joined = all(other == first for other in others)
    shared = "--share-all-embeddings" if joined else "--share-decoder-input-output-embed"
    criterion = FUSED if spec.model == "rope" else "label_smoothed_cross_entropy"
    options = [spec.data, *ARCHS[spec.model], *size_options(spec.size), shared, "--criterion", criterion, *TRAIN]
    return options + _place_options(spec, max_tokens)


def masked_options(spec: Spec) -> list[str]:
    """Return the command line of fairseq-train by which a masked language model is trained."""
    options = [spec.data, "--task", "masked_lm", "--criterion", "masked_lm", *ENCODERS[spec.model]]
    options += ["--tokens-per-sample", str(spec.block), "--sample-break-mode", "none"]
    return options + size_options(spec.size, ["encoder"]) + TRAIN[2:] + _place_options(spec, spec.max_tokens)


def classifying_options(spec: Spec) -> list[str]:
    """Return the command line of fairseq-train by which a classifier of sentences in random order is trained."""
    options = [spec.data, "--task", "sentence_prediction", "--num-classes", "2", "--init-token", "0"]
    options += ["--max-positions", "512", *ENCODERS[spec.model], *size_options(spec.size, ["encoder"]), *TRAIN[2:]]
    # last, for one that was asked for is a translation model's
    return [*options, *_place_options(spec, spec.max_tokens), "--criterion", "sentence_prediction"]


def _place_options(spec: Spec, max_tokens: int) -> list[str]:
    """Return where a training writes and runs, its batch, and what else was asked for."""
    # a crash leaves its crash.pt there
    options = ["--save-dir", spec.work, "--max-tokens", str(max_tokens)]
    if spec.device == "cpu" and spec.dtype == "fp16":
        # gradients in one piece are made on a GPU only
        options += ["--fp16-no-flatten-grads"]
    return [*options, *device_options(spec), *spec.options]


def trainer(spec: Spec, options: list[str]) -> Any:
    """Build task, model, criterion and fairseq's Trainer of a command line, as fairseq-train does.

    Returns: the `fairseq.trainer.Trainer`.
    """
    import torch
    from fairseq import options as fairseq_options
    from fairseq import tasks, utils
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf
    from fairseq.trainer import Trainer

    parser = fairseq_options.get_training_parser()
    cfg = convert_namespace_to_omegaconf(fairseq_options.parse_args_and_arch(parser, input_args=options))
    # fairseq-train looks for a TPU when it reads --bf16, fairseq-hydra-train does not
    cfg.common.tpu = False
    utils.import_user_module(cfg.common)
    utils.set_torch_seed(cfg.common.seed)
    task = tasks.setup_task(cfg.task)
    built = Trainer(cfg, task, task.build_model(cfg.model), task.build_criterion(cfg.criterion))
    if spec.device == "cuda":
        # it would reset torch's peak of memory after every step
        built.cuda_env = None
        torch.cuda.reset_peak_memory_stats()
    return built


@functools.cache
def random_checkpoint(spec: Spec, folder: Path) -> str:
    """Save the model of `spec` with random weights in `folder`, once in a run; return the file."""
    path = str(folder / f"random-{spec.model}-{spec.size}.pt")
    one = replace(spec, device="cpu", dtype="fp32")
    trainer(one, training_options(one, max_tokens=1024)).save_checkpoint(path, {})
    return path

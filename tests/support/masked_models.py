"""Checkpoints of small masked language models with random weights, and binarized text, as fairseq leaves them."""

from pathlib import Path

import numpy as np
import torch
from fairseq import options, tasks
from fairseq.data import Dictionary
from fairseq.data.indexed_dataset import make_builder
from fairseq.dataclass.utils import convert_namespace_to_omegaconf

import fairseq_rope  # noqa: F401  registers the archs
from tests.support.encoders import draw

SIZES = "--encoder-embed-dim 24 --encoder-ffn-embed-dim 40 --encoder-layers 2 --encoder-attention-heads 3"


def binarized_text(folder: Path, *, words: int = 60, lines: int = 40, seed: int = 1) -> Path:
    """Make the folder that fairseq-preprocess --only-source makes, with a subset `valid`."""
    folder.mkdir(parents=True)
    dictionary = Dictionary()
    for i in range(words):
        dictionary.add_symbol(f"w{i}", n=words - i)
    dictionary.save(str(folder / "dict.txt"))
    builder = make_builder(str(folder / "valid.bin"), impl="mmap", vocab_size=len(dictionary))
    dice = np.random.default_rng(seed)
    for length in dice.integers(1, 12, lines):
        tokens = [*dice.integers(dictionary.nspecial, len(dictionary), length).tolist(), dictionary.eos()]
        builder.add_item(torch.tensor(tokens))
    builder.finalize(str(folder / "valid.idx"))
    return folder


def masked_model(path: Path, data: Path, *arguments: str, tokens_per_sample: int = 16) -> Path:
    """Write a checkpoint of `roformer_tiny`, much smaller, with further arguments of fairseq-train."""
    words = [str(data), "--task", "masked_lm", "--criterion", "masked_lm", "--arch", "roformer_tiny", *SIZES.split()]
    words += ["--tokens-per-sample", str(tokens_per_sample), "--optimizer", "adam", "--cpu", *arguments]
    cfg = convert_namespace_to_omegaconf(options.parse_args_and_arch(options.get_training_parser(), words))
    model = tasks.setup_task(cfg.task).build_model(cfg.model)
    torch.manual_seed(1)
    draw(model)
    history = {"criterion_name": "masked_lm", "optimizer_name": "adam", "lr_scheduler_state": {}, "num_updates": 1}
    state = {
        "args": None,
        "cfg": cfg,
        "model": model.state_dict(),
        "optimizer_history": [history],
        "extra_state": {"train_iterator": {"epoch": 1}},
        "task_state": {},
    }
    torch.save(state, path)
    return path

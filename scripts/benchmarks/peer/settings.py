"""The settings of scripts/conf/multi30k.env as eole writes them.

What eole 0.6 cannot do as fairseq does, or does otherwise:

- Its decoder has the layer norm before each block only, so both stacks do (`--encoder-normalize-before` and
  `--decoder-normalize-before` of fairseq-train), with a layer norm more at the end of each: 512 weights.
- Dropout falls on the feed-forward's hidden layer, too (fairseq's `--activation-dropout`).
- Label smoothing shares 0.1 among all V words; fairseq's among the V - 1 wrong ones.
- Weights begin at normal values of deviation E^-0.5, fairseq's for embeddings; fairseq's linear layers begin at uniform
  ones of nearly that deviation.
- The gradient is divided by target tokens less </s>, which Adam doesn't see.
- An epoch is a bucket, sorted by exact length and cut into batches, whose order is shuffled; fairseq shuffles sentences
  of equal lengths, too. A larger bucket would hold sentences several times, of which eole keeps one a batch.
- The encoder of fairseq reads </s> at the end of the source: the converted source has it as a word. The decoders of
  both begin with it.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peer.batches import MULTIPLE

LANGUAGES = ("en", "de")  # source and target
# of transformer_rope_tiny and scripts/conf/tiny.env
LAYERS, MODEL, FEED_FORWARD, HEADS, ROPE_BASE = 4, 128, 256, 4, 10000
DROPOUT, LABEL_SMOOTHING, PEAK, WARMUP, BETAS, MAX_TOKENS = 0.3, 0.1, 5e-3, 2000, (0.9, 0.98), 4096
# eole's `noam` multiplies it with MODEL^-0.5: so the rate rises to PEAK in WARMUP updates and falls with the square
# root of the update, as fairseq's inverse_sqrt has it. They differ in two places: fairseq starts at --warmup-init-lr,
# 1e-7, where noam starts at 0, and its first update has the rate of update 0
NOAM_SCALE = PEAK * math.sqrt(MODEL * WARMUP)
AVERAGED = 10  # checkpoints, an epoch each
# of fairseq-generate: --beam, --max-len-b, and --lenpen 1, which divides a score by the length with </s>
BEAM, MAX_LENGTH = 5, 200


@dataclass(frozen=True)
class Plan:
    """What a training does.

    Args:
        folder: of converted text, vocab.txt and the model.
        pairs: in the training text.
        batch_size: in tokens, as eole counts them.
        updates: of the whole training.
        epoch: updates in an epoch, after each of which it validates and saves.
        report: updates from one line of the log to the next.
        seed: of weights, order and dropout.
        resume: the folder of a checkpoint to go on from.
        validates: whether it does, and keeps checkpoints other than the last.
    """

    folder: Path
    pairs: int
    batch_size: int
    updates: int
    epoch: int
    report: int
    seed: int = 1
    resume: Path | None = None
    validates: bool = True


def training_settings(plan: Plan) -> dict[str, Any]:
    """Return eole's configuration of a training."""
    source, target = LANGUAGES
    data: dict[str, dict[str, Any]] = {
        name: {
            "path_src": str(plan.folder / f"{name}.{source}"),
            "path_tgt": str(plan.folder / f"{name}.{target}"),
            "transforms": [],
        }
        for name in ("train", "valid")[: 1 + plan.validates]
    }
    data["train"]["weight"] = 1
    vocabulary = str(plan.folder / "vocab.txt")
    return {
        "data": data,
        "src_vocab": vocabulary,
        "tgt_vocab": vocabulary,
        "share_vocab": True,
        # the whole of it, as fairseq padded it
        "src_vocab_size": 1_000_000,
        "tgt_vocab_size": 1_000_000,
        "vocab_size_multiple": 1,
        "decoder_start_token": "</s>",  # fairseq's
        "save_data": str(plan.folder / "data"),
        "overwrite": True,
        "seed": plan.seed,
        "report_every": plan.report,
        "model": model_settings(),
        "training": {
            "model_path": str(plan.folder / "model"),
            **({"train_from": str(plan.resume)} if plan.resume else {}),
            "world_size": 1,
            "gpu_ranks": [],
            "compute_dtype": "fp32",
            **_batches(plan),
            **_optimizer(),
            "train_steps": plan.updates,
            "valid_steps": plan.epoch,
            "save_checkpoint_steps": plan.epoch if plan.validates else plan.updates,
            "keep_checkpoint": AVERAGED,
            "log_attention_entropy": False,
        },
    }


def model_settings() -> dict[str, Any]:
    """Return the sizes of Transformer-Tiny with rotary positions and one matrix of embeddings."""
    return {
        "architecture": "transformer",
        "layers": LAYERS,
        "hidden_size": MODEL,
        "word_vec_size": MODEL,
        "transformer_ff": FEED_FORWARD,
        "heads": HEADS,
        "mlp_activation_fn": "relu",
        "layer_norm": "standard",
        "norm_eps": 1e-5,
        "add_qkvbias": True,
        "add_final_linear_bias": True,
        "add_ffnbias": True,
        "generator_bias": False,
        "share_embeddings": True,
        "share_decoder_embeddings": True,
        "position_encoding_type": "Rotary",
        # without it the stacks would have no rotation; neighbors are a pair, as in RoFormer
        "rope_config": {"rotary_interleave": True, "rotary_theta": ROPE_BASE, "rotary_dim": 0},
        # normalize: times the square root of their size, as fairseq does
        "embeddings": {"position_encoding_type": "Rotary", "word_vec_size": MODEL, "normalize": True},
    }


def _batches(plan: Plan) -> dict[str, Any]:
    return {
        "batch_type": "tokens",
        "batch_size": plan.batch_size,
        "batch_size_multiple": MULTIPLE,
        "accum_count": [1],
        "normalization": "tokens",
        "bucket_size": plan.pairs,
        "num_workers": 0,  # each would fill a bucket with its share of the text, several times
        "valid_batch_size": MAX_TOKENS,
    }


def _optimizer() -> dict[str, Any]:
    return {
        "optim": "adam",
        "adam_beta1": BETAS[0],
        "adam_beta2": BETAS[1],
        "adam_eps": 1e-8,
        "decay_method": "noam",
        "learning_rate": NOAM_SCALE,
        "warmup_steps": WARMUP,
        "max_grad_norm": 0,
        "label_smoothing": LABEL_SMOOTHING,
        "dropout": [DROPOUT],
        "attention_dropout": [0.0],
        "dropout_steps": [0],
        "param_init_method": "normal",
        "param_init": 1 / math.sqrt(MODEL),
    }


def search_settings(model: Path, source: Path, output: Path) -> dict[str, Any]:
    """Return eole's configuration of a translation; lengths count as in fairseq, the batch is of source tokens."""
    return {
        "model_path": [str(model)],
        "src": str(source),
        "output": str(output),
        "world_size": 1,
        "gpu_ranks": [],
        "compute_dtype": "fp32",
        "beam_size": BEAM,
        "length_penalty": "avg",
        "alpha": 1.0,
        "min_length": 1,  # fairseq's --min-len
        "max_length": MAX_LENGTH,
        "max_length_ratio": 0,
        "batch_type": "tokens",
        "batch_size": MAX_TOKENS,
        "report_time": True,
        "seed": 1,
    }

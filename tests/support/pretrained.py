"""A small encoder for tests of the tools: words made here, pre-trained through the real command lines.

Use it through the fixture `pretrained` of tests/conftest.py: it is trained once in a session.
"""

import itertools
import random
from pathlib import Path
from typing import NamedTuple

from fairseq import checkpoint_utils, options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.logging import metrics
from fairseq_cli import preprocess, train

from tests.support import ROOT
from tests.support.trained import call

_SUBJECTS = ("the dog", "the old man", "my sister", "Anna", "a child", "our neighbor")
_VERBS = {"good": ("likes", "helps", "thanks"), "bad": ("fears", "fights", "forgets")}
_TIMES = ("today", "every morning", "soon", "again")
HALFWAY, UPDATES = 33, 60  # no epoch ends halfway, where fairseq would save under another name
SIZES = """
    --arch roformer_tiny --encoder-layers 2 --encoder-embed-dim 32 --encoder-ffn-embed-dim 64
    --encoder-attention-heads 2
"""
COMMON = """
    --optimizer adam --lr 1e-2 --lr-scheduler inverse_sqrt --warmup-updates 20 --seed 1 --cpu --num-workers 0
    --no-epoch-checkpoints --log-format simple --log-interval 1
"""
MLM = "--task masked_lm --criterion masked_lm --tokens-per-sample 32 --max-tokens 800"


class Pretrained(NamedTuple):
    """What a user has after pre-training: DATA, the folder of checkpoints, two of them, and texts by their label."""

    data: Path
    folder: Path
    halfway: Path
    checkpoint: Path
    texts: dict[str, list[str]]


def pretrained_model(folder: Path) -> Pretrained:
    """Make sentences of two kinds in `folder` and pre-train a small encoder on them."""
    rng = random.Random(1)
    texts = {
        label: [
            f"{subject} {verb} {other} {time} ."
            for subject, verb, other, time in itertools.product(_SUBJECTS, verbs, _SUBJECTS, _TIMES)
        ]
        for label, verbs in _VERBS.items()
    }
    for lines in texts.values():
        rng.shuffle(lines)
    everything = [line for pair in zip(*texts.values(), strict=True) for line in pair][:400]
    data = binarize(everything, folder / "data-bin")
    save = folder / "checkpoints"
    often = ("--save-interval-updates", str(HALFWAY), "--max-update", str(UPDATES), "--disable-validation")
    user_dir = ("--user-dir", str(ROOT / "fairseq_rope"), "--save-dir", str(save))
    call("fairseq_cli.train", str(data), *user_dir, *MLM.split(), *SIZES.split(), *COMMON.split(), *often)
    (halfway,) = save.glob(f"checkpoint_*_{HALFWAY}.pt")
    return Pretrained(data, save, halfway, save / "checkpoint_last.pt", texts)


def binarize(lines: list[str], folder: Path, *, dictionary: Path | None = None) -> Path:
    """Write `lines` as training and validation data of one language, in this process."""
    text = folder.parent / f"{folder.name}.txt"
    text.parent.mkdir(parents=True, exist_ok=True)
    text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    command = ["--only-source", "--trainpref", str(text), "--validpref", str(text), "--destdir", str(folder)]
    words = ["--srcdict", str(dictionary)] if dictionary else []
    preprocess.main(options.get_preprocessing_parser().parse_args([*command, *words]))
    return folder


def train_here(data: Path, save: Path, *settings: str) -> None:
    """Run fairseq-train in this process, which has the plugin."""
    command = [str(data), "--save-dir", str(save), *COMMON.split(), *settings]
    metrics.reset()
    vars(checkpoint_utils.save_checkpoint).pop("best", None)  # the best loss, which fairseq keeps in its function
    train.main(convert_namespace_to_omegaconf(options.parse_args_and_arch(options.get_training_parser(), command)))

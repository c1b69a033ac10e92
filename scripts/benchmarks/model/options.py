"""The options of the benchmark: read, completed for the device, checked."""

import argparse
import shlex
from pathlib import Path

from benchmarks.model import build, finetune, masked, profile
from benchmarks.model.generate import BATCHES
from benchmarks.model.tricks import KIND, TRICKS, switchable
from benchmarks.options import count
from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError

KINDS = ("train", "generate", "length", "rotation")  # measured where none is named
ALL = (*KINDS, masked.KIND, finetune.KIND, profile.KIND, KIND)
DTYPES = ("fp32", "bf16", "fp16")


def read(description: str | None) -> argparse.Namespace:
    """Return the command line's options; `description` is what --help begins with.

    Raises:
        UserError: an option or a file breaks its rule.
    """
    args = _parser(description).parse_args()
    _complete(args)
    _check(args)
    args.work.mkdir(parents=True, exist_ok=True)
    args.work = args.work.resolve()
    args.data = args.data and args.data.resolve()
    return args


def _parser(description: str | None) -> argparse.ArgumentParser:
    options = cli.parser(description, "benchmark.py")
    add = options.add_argument
    add("kinds", nargs="*", metavar="KIND", help=f"what to measure: {', '.join(ALL)} (the first four)")
    add("--sizes", nargs="+", choices=build.SIZES, default=list(build.SIZES), help="sizes of the models (all)")
    add("--max-tokens", nargs="+", type=count, metavar="N", help="tokens in a batch (1024 4096; on a GPU 25000 too)")
    lengths = [64, 256, 1024, 4096, 8192]
    add("--lengths", nargs="+", type=count, default=lengths, metavar="N", help="tokens in a sentence")
    add("--blocks", nargs="+", type=count, default=[128], metavar="N", help="tokens in a block of running text (128)")
    add("--batches", nargs="+", choices=BATCHES, default=list(BATCHES), help="batches of translation (all)")
    names = f"switched off, each alone: {', '.join(TRICKS)} (all)"
    add("--tricks", nargs="+", choices=TRICKS, default=list(TRICKS), metavar="TRICK", help=names)
    add("--sentences", type=count, default=100, metavar="N", help="sentences of the test set to translate (100)")
    add("--steps", type=count, metavar="N", help="tokens of a translation (30 without checkpoints, else as trained)")
    add("--updates", type=count, metavar="N", help="training steps in a repetition (5; on a GPU 20)")
    add("--repetitions", type=count, default=5, metavar="N", help="repetitions of each model (5)")
    add("--warm-up", type=int, default=1, metavar="N", help="repetitions before those that count (1)")
    add("--dtypes", "--number-types", nargs="+", choices=DTYPES, help="(fp32; on a GPU all)")
    add("--device", choices=("cpu", "cuda"), help="where (a GPU if there is one)")
    add("--data", type=Path, metavar="DIR", help="a binarized corpus with a test set (a synthetic one)")
    add("--pairs", type=count, default=20_000, metavar="N", help="sentence pairs of the synthetic corpus (20000)")
    add("--criterion", metavar="NAME", help=f"criterion of the rotary model ({build.FUSED})")
    for model, words in (("rope", "rotary"), ("stock", "stock")):
        what = f"more fairseq-train options of the {words} model"
        add(f"--{model}-options", type=shlex.split, default=[], metavar="'...'", help=what)
    add("--stock-checkpoint", type=Path, metavar="FILE", help="a trained stock model to translate with; needs --data")
    add("--rope-checkpoint", type=Path, metavar="FILE", help="a trained rotary model to translate with")
    add("--memory", type=float, metavar="GIB", help="memory of a process on the CPU (three quarters of what is free)")
    add("--minutes", type=float, metavar="M", help="begin nothing after so many minutes, and say what is left out")
    work = Path("runs/benchmark")
    add("--work", type=Path, default=work, metavar="DIR", help=f"folder for what is made ({work})")
    add("--output", type=Path, metavar="FILE", help="write all figures as JSON")
    return options


def _complete(args: argparse.Namespace) -> None:
    """Fill in what depends on the device."""
    import torch

    gpu = torch.cuda.is_available()
    if args.device == "cuda" and not gpu:
        raise UserError("--device cuda needs a GPU that torch can use, but there is none")
    args.device = args.device or ("cuda" if gpu else "cpu")
    on_gpu = args.device == "cuda"
    args.kinds = args.kinds or list(KINDS)
    args.max_tokens = args.max_tokens or [1024, 4096, *([25_000] if on_gpu else [])]
    args.updates = args.updates or (20 if on_gpu else 5)
    args.dtypes = args.dtypes or (list(DTYPES) if on_gpu else ["fp32"])
    criterion = ["--criterion", args.criterion] if args.criterion else []
    args.model_options = {"stock": tuple(args.stock_options), "rope": (*criterion, *args.rope_options)}


def _check(args: argparse.Namespace) -> None:
    if unknown := set(args.kinds) - {*ALL}:
        raise UserError(f"KIND must be one of {', '.join(ALL)}, but is {', '.join(sorted(unknown))}")
    if KIND in args.kinds and args.device == "cuda":
        raise UserError(f"{KIND} are of the CPU: they need --device cpu, but it is cuda")
    for kind in (masked.KIND, finetune.KIND):
        if kind in args.kinds and (args.data or args.criterion):
            raise UserError(f"{kind} has a text and a criterion of its own: leave --data and --criterion out")
    has_blocks = masked.KIND in args.kinds or (KIND in args.kinds and switchable(args.tricks, masked.KIND))
    if has_blocks and max(args.blocks) > min(args.max_tokens):
        long, small = max(args.blocks), min(args.max_tokens)
        raise UserError(f"--blocks must be at most --max-tokens, a batch of them, but is {long} and {small}")
    if args.warm_up < 0:
        raise UserError(f"--warm-up must be 0 or more, but is {args.warm_up}")
    if args.steps == 1:
        raise UserError("--steps must be 2 or more, a word and the end of the sentence, but is 1")
    checkpoints = [args.stock_checkpoint, args.rope_checkpoint]
    if any(checkpoints) and not (all(checkpoints) and args.data):
        raise UserError("--stock-checkpoint, --rope-checkpoint and the --data of both are given together, or none is")
    for path in filter(None, [*checkpoints, args.data]):
        if not path.exists():
            raise UserError(f"there is no {path}")
    for split in ("train", "test"):
        if args.data and not any(args.data.glob(f"{split}.*-*.*.idx")):
            raise UserError(f"--data must be a binarized corpus with a {split} set, but {args.data} has none")
    if args.output and not args.output.parent.is_dir():
        raise UserError(f"cannot write {args.output}: there is no folder {args.output.parent}")

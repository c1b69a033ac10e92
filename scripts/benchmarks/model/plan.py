"""What the options of the benchmark ask for: one setting after another."""

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.environment import available_memory
from benchmarks.model import build, data
from benchmarks.model.spec import MODELS, TRAINED, Spec

UNSUPPORTED = ("generate", "bf16")  # fairseq-generate ignores --bf16
_STEPS = 30  # of a translation by random weights, which would never end one


class Setting(NamedTuple):
    """One row of the report, without its figures, and the models to measure for it."""

    row: dict[str, Any]
    specs: list[Spec]

    def name(self) -> str:
        """Say it in a few words."""
        kind, size, number_type, *others = self.row.items()
        return ", ".join([kind[1], size[1], number_type[1], *(f"{name} {value}" for name, value in others)])


def settings(args: Namespace) -> Iterator[Setting]:
    """Give every setting that the options ask for, kind by kind; its data is made when it is reached."""
    for kind in args.kinds:
        for number_type in args.number_types:
            if (kind, number_type) == UNSUPPORTED:
                continue
            trained = kind == "generate" and args.rope_checkpoint
            for size in [TRAINED] if trained else args.sizes:
                row = {"kind": kind, "size": size, "number_type": number_type}
                for what, specs in _of_kind(_spec(row, args), args):
                    yield Setting({**row, **what}, specs)


def _spec(row: dict[str, str], args: Namespace) -> Spec:
    corpus = args.data or data.make(
        args.work, build.VOCABULARIES[row["size"]], pairs=args.pairs, test_pairs=args.sentences
    )
    # the rest is left to whatever else runs
    memory = int(args.memory * 2**30) if args.memory else available_memory() * 3 // 4
    return Spec(**row, model="", device=args.device, data=str(corpus), work=str(args.work), memory=memory)


def _of_kind(spec: Spec, args: Namespace) -> Iterator[tuple[dict[str, Any], list[Spec]]]:
    models = [replace(spec, model=model, options=args.model_options[model]) for model in MODELS]
    if spec.kind in ("train", "rotation"):
        for tokens in args.max_tokens:
            specs = [replace(model, max_tokens=tokens, updates=args.updates) for model in models]
            yield {"max_tokens": tokens}, specs if spec.kind == "train" else specs[1:]
    elif spec.kind == "length":
        for length in args.lengths:
            for sentences in sorted({1, max(1, max(args.max_tokens) // length)}):
                # short ones often enough for the clock
                updates = max(1, min(args.updates, 4096 // (length * sentences)))
                what = {"length": length, "sentences": sentences}
                yield what, [replace(model, updates=updates, **what) for model in models]
    else:
        steps = args.steps or (0 if spec.size == TRAINED else _STEPS)
        part = data.test_part(Path(spec.data), args.work, args.sentences)
        models = [_with_weights(replace(model, data=str(part), steps=steps), args) for model in models]
        for batch in args.batches:
            what = {"batch": batch, "lengths": f"forced to {steps}" if steps else TRAINED}
            yield what, [replace(model, batch=batch) for model in models]


def _with_weights(spec: Spec, args: Namespace) -> Spec:
    """Give `spec` its checkpoint; without one of the user's it is made, of random weights."""
    if spec.size == TRAINED:
        return replace(spec, checkpoint=str(args.stock_checkpoint if spec.model == "stock" else args.rope_checkpoint))
    spec = replace(spec, checkpoint=str(args.work / f"random-{spec.model}-{spec.size}.pt"))
    # here and not in the worker: the memory that it takes is not that of a translation
    one = replace(spec, device="cpu", number_type="fp32")
    build.trainer(one, build.training_options(one, max_tokens=1024)).save_checkpoint(spec.checkpoint, {})
    return spec

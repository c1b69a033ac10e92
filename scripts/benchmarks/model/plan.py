"""What the options of the benchmark ask for: one setting after another."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.environment import available_memory
from benchmarks.model import build, data, finetune, masked, profile, tricks
from benchmarks.model.spec import MODELS, TRAINED, Spec

UNSUPPORTED = ("generate", "bf16")  # fairseq-generate ignores --bf16
_STEPS = 30  # of a translation by random weights, which would never end one


class Setting(NamedTuple):
    """One row of the report, without its figures, and the models to measure for it."""

    row: dict[str, Any]
    specs: list[Spec]

    def name(self) -> str:
        """Return it in a few words."""
        kind, size, dtype, *others = self.row.items()
        return ", ".join([kind[1], size[1], dtype[1], *(f"{name} {value}" for name, value in others)])


def settings(args: Namespace) -> Iterator[Setting]:
    """Yield every setting that the options ask for, kind by kind; its data is made when it is reached."""
    for kind in args.kinds:
        for dtype in args.dtypes:
            for size in [TRAINED] if kind == "generate" and args.rope_checkpoint else args.sizes:
                row = {"kind": kind, "size": size, "dtype": dtype}
                for what, specs in _of_kind(_spec(kind, size, dtype, args), args):
                    yield Setting({**row, **what}, specs)


def _spec(kind: str, size: str, dtype: str, args: Namespace) -> Spec:
    corpus, words = args.data, build.VOCABULARIES[size]
    if kind == finetune.KIND:
        corpus = data.synthetic_examples(args.work, words, examples=args.pairs)
    elif kind != masked.KIND and not corpus:
        corpus = data.synthetic_corpus(args.work, words, pairs=args.pairs, test_pairs=args.sentences)
    # the rest is left to whatever else runs
    memory = int(args.memory * 2**30) if args.memory else available_memory() * 3 // 4
    return Spec(kind, "", size, dtype, args.device, str(corpus or ""), str(args.work), memory=memory)


def _of_kind(spec: Spec, args: Namespace, names: Sequence[str] = MODELS) -> Iterator[tuple[dict[str, Any], list[Spec]]]:
    """Yield what a row of `spec.kind` has beside size and dtype, and the models `names` to measure for it."""
    if (spec.kind, spec.dtype) == UNSUPPORTED:
        return
    models = [replace(spec, model=name, options=args.model_options[name]) for name in names]
    if spec.kind == tricks.KIND:
        for work in tricks.WORKS:
            switchable = tricks.switchable(args.tricks, work)
            if not switchable:
                continue
            for what, (rope,) in _of_kind(_spec(work, spec.size, spec.dtype, args), args, ["rope"]):
                yield {"work": work, **what}, [rope, *(replace(rope, without=name) for name in switchable)]
    elif spec.kind == masked.KIND:
        for block in args.blocks:
            text = data.synthetic_text(args.work, build.VOCABULARIES[spec.size], block=block)
            for tokens in args.max_tokens:
                what = {"block": block, "max_tokens": tokens}
                yield what, [replace(model, data=str(text), updates=args.updates, **what) for model in models]
    elif spec.kind in ("train", "rotation", profile.KIND, finetune.KIND):
        for tokens in args.max_tokens:
            specs = [replace(model, max_tokens=tokens, updates=args.updates) for model in models]
            yield {"max_tokens": tokens}, specs[1:] if spec.kind == "rotation" else specs
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
    """Return `spec` with its checkpoint; without one of the user's it is made, of random weights."""
    if spec.size == TRAINED:
        return replace(spec, checkpoint=str(args.stock_checkpoint if spec.model == "stock" else args.rope_checkpoint))
    # here and not in the worker: the memory that it takes is not that of a translation
    return replace(spec, checkpoint=build.random_checkpoint(spec, args.work))

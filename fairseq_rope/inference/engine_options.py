"""Options of `translate` that choose an engine, and which options each engine doesn't take."""

import argparse
from pathlib import Path
from typing import NamedTuple

from fairseq_rope.export.ctranslate2.model_folder import QUANTIZATIONS, ModelFolder, read_model_folder
from fairseq_rope_data.errors import UserError

# fairseq's options that the runtime cannot follow, or not to the same result
_FAIRSEQ_ONLY = {
    "checkpoint_suffix": "a model folder has one part",
    "checkpoint_shard_count": "a model folder has one part",
    "model_overrides": "they are fixed by the export",
    "fp16": "use --compute-type",
    "bf16": "use --compute-type",
    "temperature": "its search has none",
    "unkpen": "its search has none",
    "match_source_len": "its search has no such limit",
    "min_len": "it shares out the probability of what is forbidden, fairseq does not",
    "no_repeat_ngram_size": "it shares out the probability of what is forbidden, fairseq does not",
    "sampling": "its random numbers are others",
    "sampling_topk": "its random numbers are others",
    "sampling_topp": "its random numbers are others",
    "diverse_beam_groups": "its search has none",
    "diversity_rate": "its search has none",
    "retain_dropout": "it has no dropout",
    "eos_token": "the end is fixed by the export",
}

_MAX_THREADS = 1024  # the runtime ends the program where the system gives it no more


class RuntimeOptions(NamedTuple):
    """The options of CTranslate2; None where one was not given.

    Attributes:
        folder: of the model.
        compute_type: one of QUANTIZATIONS, instead of the type that the model is stored in.
        inter_threads: batches that are searched at the same time.
        intra_threads: threads of each batch.
        own_batches: neither `--max-tokens` nor `--batch-size` was given.
    """

    folder: ModelFolder
    compute_type: str | None
    inter_threads: int | None
    intra_threads: int | None
    own_batches: bool


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """Add --engine and the options of each engine."""
    group = parser.add_argument_group("Engine")
    add = group.add_argument
    engine = "ctranslate2: --path is a folder of fairseq_rope.export.ctranslate2, and DATA if it isn't given"
    add("--engine", choices=("fairseq", "ctranslate2"), default="fairseq", help=engine)
    compute = f"ctranslate2: {', '.join(QUANTIZATIONS)}; default: as stored"
    add("--compute-type", choices=QUANTIZATIONS, metavar="T", help=compute)
    inter = "ctranslate2: batches at the same time on the CPU; default: one for each core, or 1 with --buffer-size 1"
    add("--inter-threads", type=int, metavar="N", help=inter)
    intra = "ctranslate2: threads of a batch on the CPU; default: its share of the cores, or of $OMP_NUM_THREADS"
    add("--intra-threads", type=int, metavar="N", help=intra)


def runtime_options(args: argparse.Namespace, parser: argparse.ArgumentParser) -> RuntimeOptions | None:
    """Check the options of the chosen engine; for CTranslate2 put path and languages that aren't given into `args`.

    Returns: None for fairseq's own engine.

    Raises:
        UserError: an option of the other engine, a value out of range, or a model folder that isn't complete.
    """
    names = ("compute_type", "inter_threads", "intra_threads")
    given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    if args.engine == "fairseq":
        for name in given:
            raise UserError(f"{_option(name)} needs --engine ctranslate2")
        return None
    for name, reason in _FAIRSEQ_ONLY.items():
        # fairseq 0.12.2 lacks some of them
        if getattr(args, name, None) != parser.get_default(name):
            raise UserError(f"{_option(name)} cannot be used with --engine ctranslate2: {reason}")
    if args.task != "translation":
        raise UserError(f"--task must be translation with --engine ctranslate2, but is {args.task}")
    for name in ("inter_threads", "intra_threads"):
        if given.get(name, 1) < 1:
            raise UserError(f"{_option(name)} must be at least 1, but is {given[name]}")
    if given.get("inter_threads", 1) * given.get("intra_threads", 1) > _MAX_THREADS:
        raise UserError(f"--inter-threads x --intra-threads must be at most {_MAX_THREADS}: {given}")
    args.path = args.path or args.data
    folder = read_model_folder(Path(args.path))
    for name in ("source_lang", "target_lang"):
        asked, own = getattr(args, name), getattr(folder.settings, name)
        if asked and own and asked != own:
            raise UserError(f"{_option(name)} is {asked}, but that of {args.path} is {own}")
        setattr(args, name, asked or own)
    own_batches = args.max_tokens is None and args.batch_size is None
    return RuntimeOptions(folder, args.compute_type, args.inter_threads, args.intra_threads, own_batches)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"

"""Score a masked language model: bits, accuracy and perplexity of the masked tokens of a text, at any length of blocks.

    python -m fairseq_rope.tools.masked --path averaged.pt --data data-bin
    python -m fairseq_rope.tools.masked --path averaged.pt --data data-bin --length 512 \\
        --model-overrides "{'rope_scaling': 'ntk', 'rope_scaling_factor': 4}"

DATA is what fairseq-preprocess --only-source wrote. Its text is one row of tokens, cut into blocks of --length with <s>
in front of each, as in training. Masks are drawn over the row, by --mask-seed alone: all models, and all lengths, have
the same tokens to predict, and a longer block has nothing but more context. 15% of the words are drawn; 80% of these
are masked, 10% are another word and 10% stay. bits is their mean loss in base 2, a token of this vocabulary: models of
other vocabularies are not compared with it.

A model of learned positions ends at its table: a longer block is an error, or with --allow beyond-table a report
without scores that says so. --json prints one JSON object with the sums of each block, which recipes keep as
WORK/NAME/score-SET.json: `results` and `report` read them.
"""

import argparse
import math
import sys
from pathlib import Path
from typing import Any

import torch
from fairseq.modules import LearnedPositionalEmbedding
from tqdm import tqdm

from fairseq_rope.checkpoints.data_folder import check_no_colon
from fairseq_rope.checkpoints.loading import load_with_task, parse_overrides
from fairseq_rope.checkpoints.token_row import token_row
from fairseq_rope.compat.chatter import silence_libraries
from fairseq_rope.scoring.block_losses import block_sums
from fairseq_rope.scoring.masked_report import BEYOND_TABLE, MaskedReport, masked_json, masked_text
from fairseq_rope.scoring.masked_text import SHARE, blocks, mask_text
from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run, why_no_file
from fairseq_rope_data.recorded import check_recorded


def main() -> None:
    silence_libraries()
    args = _parser().parse_args()
    _check(args)
    report = _report(args)
    print(masked_json(report) if args.json else masked_text(report))


def _parser() -> argparse.ArgumentParser:
    parser = cli.parser(__doc__, "masked", allow_abbrev=False)
    add = parser.add_argument
    add("--path", type=Path, required=True, metavar="FILE", help="the checkpoint")
    add("--data", type=Path, required=True, metavar="DATA", help="the folder of fairseq-preprocess")
    add("--subset", default="valid", metavar="SET", help="which of its sets (default: valid)")
    add("--length", type=int, metavar="N", help="tokens of a block, <s> included (default: as in training)")
    add("--mask-share", type=float, default=SHARE, metavar="P", help=f"share of the words drawn (default: {SHARE})")
    add("--mask-seed", type=int, default=1, metavar="N", help="which masks are drawn (default: 1)")
    add("--model-overrides", default="{}", metavar="DICT", help="settings of the model, as in fairseq-generate")
    add("--max-tokens", type=int, default=8192, metavar="N", help="of a batch (default: 8192)")
    add("--allow", choices=[BEYOND_TABLE], help="report in spite of: a length beyond a learned table, without scores")
    add("--cpu", action="store_true", help="use no GPU")
    add("--json", action="store_true", help="print one JSON object")
    return parser


def _check(args: argparse.Namespace) -> None:
    """Check options, before any work starts."""
    if args.length is not None and args.length < 2:
        raise UserError(f"--length must be at least 2, <s> and a token, but is {args.length}")
    if not 0 < args.mask_share <= 1:
        raise UserError(f"--mask-share must be in (0, 1], but is {args.mask_share:g}")
    for name in ("mask_seed", "max_tokens"):
        if getattr(args, name) < 1:
            raise UserError(f"--{name.replace('_', '-')} must be at least 1, but is {getattr(args, name)}")
    check_no_colon("--path", str(args.path))
    check_no_colon("--data", str(args.data))
    if not args.path.is_file():
        raise UserError(f"--path {args.path}: {why_no_file(args.path)}")
    if not (args.data / "dict.txt").is_file():
        raise UserError(f"--data must be a folder of fairseq-preprocess --only-source, but {args.data} has no dict.txt")
    check_recorded(args.data / "dict.txt")


def _report(args: argparse.Namespace) -> MaskedReport:
    overrides = parse_overrides(args.model_overrides)
    model, task = load_with_task(str(args.path), data=str(args.data), overrides=overrides)
    if not hasattr(task, "mask_idx"):
        raise UserError(f"--path {args.path} must be a masked language model, but its task is {type(task).__name__}")
    words = task.source_dictionary
    tokens = token_row(args.data, args.subset, words)
    trained = int(task.cfg.tokens_per_sample)
    length = args.length or trained
    if len(tokens) < length - 1:
        raise UserError(
            f"--length {length}: --subset {args.subset} of --data {args.data} has {len(tokens)} tokens only"
        )
    text = mask_text(tokens, first_word=words.nspecial, mask=task.mask_idx, share=args.mask_share, seed=args.mask_seed)
    if length > (end := table_end(model)):
        problem = f"--length {length} is beyond the learned positions of {args.path}, whose table ends at {end}"
        if args.allow != BEYOND_TABLE:
            raise UserError(problem)
        notes = [f"--allow {BEYOND_TABLE}: not read, for its learned positions are a table that ends at {end} tokens"]
        return MaskedReport(args.subset, length, trained, text.signature, None, notes)
    device = "cuda" if torch.cuda.is_available() and not args.cpu else "cpu"
    batches = list(blocks(text, length=length, bos=words.bos(), max_tokens=args.max_tokens))
    with tqdm(batches, unit="batches", disable=not sys.stderr.isatty(), file=sys.stderr) as bar:
        try:
            sums = block_sums(model.to(device), bar, device=device)
        except UserError as error:
            raise UserError(f"--path {args.path}: {error}") from error
    return MaskedReport(args.subset, length, trained, text.signature, sums)


def table_end(model: Any) -> float:
    """Return how many tokens a model's learned positions know; infinity where it has none."""
    tables = (part for part in model.modules() if isinstance(part, LearnedPositionalEmbedding))
    return min((table.max_positions for table in tables), default=math.inf)


if __name__ == "__main__":
    run("masked", main)

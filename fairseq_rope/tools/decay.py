r"""Show how attention falls with distance: RoFormer's bound (figure 2), the mean cosine, and trained models' weights.

    python -m fairseq_rope.tools.decay --head-dim 32 64 128 --output decay.png
    python -m fairseq_rope.tools.decay --rope-base 500 10000 --rope-scaling yarn --rope-scaling-factor 4 \
        --rope-original-length 100
    python -m fairseq_rope.tools.decay --path averaged.pt --data data-bin --output decay.svg

Options of rotation are those of the model and can have several values; with --rope-scaling there are lines without and
with it. The bound is that of eq. 37, B(n) = 1/(d/2) sum_j |S_j|; the mean cosine is the score of a query and a key that
are equal. docs/decay.md says what both show, and what they don't.

--path measures self-attention on sentence pairs of --data, the decoder being given the reference: for each distance,
the key's position less the query's, the mean weight over sentences, queries, heads and layers; that by even attention,
where a query's weight is shared out evenly among the keys that it sees: 1 where distance does not matter; and how many
pairs there are. </s> as a key is counted apart. --json has each head, and the picture of a single model a panel for
each layer with its heads. Any encoder-decoder Transformer will do, whatever its positions; of one that rotates there
are bound and cosine too. It runs on the CPU.
"""

import argparse
import sys
from pathlib import Path

from tqdm import tqdm

from fairseq_rope.checkpoints.data_folder import check_no_colon
from fairseq_rope.checkpoints.loading import load_with_task
from fairseq_rope.checkpoints.subset_batches import SubsetBatches
from fairseq_rope.compat.chatter import silence_libraries
from fairseq_rope.experiments.attention_distances import attention_by_distance
from fairseq_rope.experiments.decay import Rotation, decays, rotations, rotations_of
from fairseq_rope.experiments.decay_figure import draw_decay
from fairseq_rope.experiments.decay_text import decay_json, decay_text
from fairseq_rope.experiments.distance_sums import StackAttention
from fairseq_rope.experiments.figure import check_picture
from fairseq_rope.models._scaling import add_scaling_options
from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run, why_no_file
from fairseq_rope_data.streams import tell

MAX_DISTANCE = 10_000
MAX_HEAD_DIM = 1024
# what --path makes of the checkpoint's own
_ROTATION = {"head_dim": [64], "rope_base": [10000.0], "rope_fraction": [1.0], "rope_scaling": "none"}
_SCALING = ("rope_scaling_factor", "rope_original_length")
_MEASUREMENT = {"data": None, "subset": "valid", "max_sentences": None}


def main() -> None:
    silence_libraries()
    args = _parser().parse_args()
    _check(args)
    found: dict[str, Rotation] = {}
    measured = {}
    if args.path:
        for path in args.path:
            own, measured[str(path)] = _measure(path, args)
            found |= {rotation.title: rotation for rotation in own}
    else:
        lists = (args.head_dim, args.rope_base, args.rope_fraction)
        found = {rotation.title: rotation for rotation in rotations(*lists, args)}
    formulas = decays(found.values(), args.distances)
    if args.output:
        draw_decay(formulas, measured, args.output)
        tell(f"decay: wrote {args.output}")
    print(decay_json(formulas, measured) if args.json else decay_text(formulas, measured, limit=args.distances))


def _parser() -> argparse.ArgumentParser:
    parser = cli.parser(__doc__, "decay", allow_abbrev=False)
    add = parser.add_argument
    add("--head-dim", type=int, nargs="+", metavar="D", help="dimensions of a head (default: 64)")
    add("--rope-base", type=float, nargs="+", metavar="B", help="bases of the frequencies (default: 10000)")
    add("--rope-fraction", type=float, nargs="+", metavar="F", help="share of a head that rotates (default: 1)")
    add_scaling_options(parser)
    add("--distances", type=int, default=250, metavar="N", help="the largest distance (default: 250, as in figure 2)")
    add("--path", type=Path, nargs="+", default=(), metavar="FILE", help="checkpoints to measure")
    add("--data", metavar="DATA", help="with --path: the folder of fairseq-preprocess")
    add("--subset", metavar="SET", help="with --path: which of its sets (default: valid)")
    add("--max-sentences", type=int, metavar="N", help="with --path: only the first N of them")
    add("--output", type=Path, metavar="FILE", help="the picture to write, FILE.png or FILE.svg (extra `plot`)")
    add("--json", action="store_true", help="print one JSON object, with every distance, layer and head")
    return parser


def _check(args: argparse.Namespace) -> None:
    """Check that options go together and set their defaults, before any work starts."""
    refused, defaults = (_MEASUREMENT, _ROTATION) if not args.path else ((*_ROTATION, *_SCALING), _MEASUREMENT)
    for name in refused:
        if getattr(args, name) is not None:
            reason = "the checkpoint has its own" if args.path else "it is for --path"
            raise UserError(
                f"--{name.replace('_', '-')} cannot be used {'with' if args.path else 'without'} --path: {reason}"
            )
    for name, default in defaults.items():
        if getattr(args, name) is None:
            setattr(args, name, default)
    if not 1 <= args.distances <= MAX_DISTANCE:
        raise UserError(f"--distances must be between 1 and {MAX_DISTANCE}, but is {args.distances}")
    for head_dim in () if args.path else args.head_dim:
        if head_dim % 2 or not 2 <= head_dim <= MAX_HEAD_DIM:
            raise UserError(f"--head-dim must be even and between 2 and {MAX_HEAD_DIM}, but is {head_dim}")
    if args.path:
        _check_measurement(args)
    if args.output:
        check_picture(args.output)


def _check_measurement(args: argparse.Namespace) -> None:
    if args.data is None:
        raise UserError("--path needs --data, the folder of fairseq-preprocess")
    check_no_colon("--data", args.data)
    if not Path(args.data).is_dir():
        raise UserError(f"--data must be a folder of fairseq-preprocess, but {args.data} is not a folder")
    if args.max_sentences is not None and args.max_sentences < 1:
        raise UserError(f"--max-sentences must be at least 1, but is {args.max_sentences}")
    for path in args.path:
        check_no_colon("--path", str(path))
        if not path.is_file():
            raise UserError(f"--path {path}: {why_no_file(path)}")
        if args.path.count(path) > 1:
            raise UserError(f"--path has {path} twice")


def _measure(path: Path, args: argparse.Namespace) -> tuple[list[Rotation], dict[str, StackAttention]]:
    """Return the rotations of a checkpoint and its measured attention."""
    model, task = load_with_task(str(path), data=args.data)
    if not (hasattr(model, "encoder") and hasattr(model, "decoder")):
        raise UserError(f"--path {path} must be an encoder-decoder Transformer, but is a {type(model).__name__}")
    batches = SubsetBatches(task, model, args.subset, data=args.data, max_sentences=args.max_sentences)
    words = task.target_dictionary
    with tqdm(batches, unit="batches", disable=not sys.stderr.isatty(), file=sys.stderr) as bar:
        try:
            found = attention_by_distance(model, bar, limit=args.distances, pad=words.pad(), end=words.eos())
        except UserError as error:
            raise UserError(f"--path {path}: {error}") from error
    skipped = f"; {batches.skipped:,} are too long for the model" if batches.skipped else ""
    tell(f"decay: {path}: {batches.sentences:,} sentence pairs of {args.subset}{skipped}")
    return rotations_of(model), found


if __name__ == "__main__":
    run("decay", main)

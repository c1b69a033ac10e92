"""Make a --save-dir fit to resume from after a training was killed while it wrote.

    python -m fairseq_rope.tools.repair checkpoints

fairseq writes a checkpoint under another name and renames it, then copies it over checkpoint_best.pt and
checkpoint_last.pt in place. A kill leaves a broken copy, or copies that are older than the newest. The newest is the
one with the most updates among fairseq's own names that has its optimizer's state; it becomes checkpoint_last.pt, and
checkpoint_best.pt too if no validation before was better. Nothing is deleted: what was there is renamed to NAME.broken
or NAME.older. Names with a --checkpoint-suffix are left alone, because the shards of a model belong together.
"""

from pathlib import Path

from fairseq_rope.checkpoints.repair import repair
from fairseq_rope_data import cli
from fairseq_rope_data.errors import run


def main() -> None:
    parser = cli.parser(__doc__, "repair")
    parser.add_argument("folder", type=Path, metavar="DIR", help="the --save-dir of fairseq-train")
    for sentence in repair(parser.parse_args().folder):
        print(sentence, flush=True)


if __name__ == "__main__":
    run("repair", main)

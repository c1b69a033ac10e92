"""Split tokenized text into BPE, line by line, on all cores: what `subword-nmt apply-bpe` gives, in bounded memory.

That command remembers every word type it meets, one more for each few lines, in each of its processes, and in
parallel it reads no pipe and leaves its parts in the folder for temporary files when it is killed.

    python -m fairseq_rope_data.apply_bpe --codes codes train.tok.de >train.bpe.de
"""

import io
from pathlib import Path

from subword_nmt.apply_bpe import BPE

from fairseq_rope_data import cli
from fairseq_rope_data.bpe_codes import read_codes
from fairseq_rope_data.errors import run
from fairseq_rope_data.segmentation import SubwordNMT
from fairseq_rope_data.workers import add_arguments, filter_file


def main() -> None:
    parser = cli.parser(__doc__, "apply_bpe")
    parser.add_argument("--codes", type=Path, required=True, metavar="FILE", help="what learn_bpe or subword-nmt wrote")
    add_arguments(parser)
    options = parser.parse_args()
    codes = io.StringIO("\n".join(read_codes(options.codes, "--codes")))
    filter_file(SubwordNMT(BPE(codes)), options)


if __name__ == "__main__":
    run("apply_bpe", main)

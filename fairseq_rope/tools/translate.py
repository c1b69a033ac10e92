r"""Translate raw text: one line of UTF-8 out for each line in, in order, whatever the lines hold.

python -m fairseq_rope.tools.translate data-bin --path checkpoints/average.pt --tokenizer moses \
    --bpe subword_nmt --bpe-codes codes --beam 4 --lenpen 0.6 --input in.txt --output out.txt

Options are those of fairseq-interactive, with these differences: only the best translation is written, as text;
--input can be given several times; a line without a word stays empty; a line that is too long is cut, not refused;
batches are of --max-tokens 4096 unless that or --batch-size is given; --buffer-size, how many lines are read, sorted by
length and batched together, is 1000 unless given, or 1 at a terminal; languages that are not given are taken from the
file names in DATA, for --tokenizer moses too. As there, --max-len-b 200 limits the output's tokens whatever the
input's length: give --max-len-a 1.5 to let it grow with the input.

--engine ctranslate2 takes a folder of fairseq_rope.export.ctranslate2 in the place of DATA and --path. Its translations
are those of fairseq's engine but for ties, where two are as good as each other, and for those that --max-len-a and
--max-len-b cut; fairseq's options that it cannot follow are refused. Its own default on a CPU is batches of at most 32
sentences, as many at the same time as there are cores.

--window N translates lines in order N at a time, for models trained on windows of several sentences, and splits the
translations again: still one line out for each line in. A blank line or the end of a file ends a document, which no
window crosses, and a window is shorter where its lines would be too long for the model together. Where a translation
comes back with another number of sentences, or cut, its lines are translated one by one; stderr tells at the end how
often. Windows have longer translations: give --max-len-a.

stderr tells what was replaced or cut (invalid UTF-8, control characters, long lines), with the number of the line.
"""

import sys

from fairseq_rope.compat.chatter import silence_libraries
from fairseq_rope.inference.files import translate_files
from fairseq_rope.inference.options import parse
from fairseq_rope_data.errors import run


def main() -> None:
    silence_libraries()
    translate_files(parse(sys.argv[1:], __doc__ or ""))


if __name__ == "__main__":
    run("translate", main)

"""Split raw text into WordPiece, line by line, on all cores, as BERT's own tokenizer does, and RoFormer's.

    python -m fairseq_rope_data.wordpiece --vocab vocab.txt --lowercase train.en >train.pieces.en

A vocabulary with Chinese words is one of WoBERT or RoFormer: text is split into words by jieba's dictionary first, and
what the vocabulary lacks into characters and pieces, as Hugging Face's RoFormerTokenizer does. With any other one each
Chinese character is a piece. A word that the vocabulary cannot spell becomes <unk>, fairseq's word for [UNK].
"""

from pathlib import Path
from typing import Any

from fairseq_rope_data import cli
from fairseq_rope_data.chinese import has_words, word_splitter
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import read_lines
from fairseq_rope_data.workers import LineFunction, add_arguments, filter_file

UNKNOWN = "[UNK]"


def splitter(path: Path, *, lowercase: bool) -> LineFunction:
    """Return the function from a line to its pieces.

    Raises:
        UserError: the vocabulary cannot be read or has no [UNK]; tokenizers, or for Chinese words rjieba, is not
            installed.
    """
    try:
        from tokenizers import Tokenizer
        from tokenizers.models import WordPiece
        from tokenizers.normalizers import BertNormalizer
        from tokenizers.pre_tokenizers import BertPreTokenizer, WhitespaceSplit
    except ImportError:
        raise UserError("to split into WordPiece needs tokenizers: pip install 'fairseq-rope[data]'") from None
    vocabulary = {line.removesuffix("\r"): number for number, line in enumerate(read_lines(path))}
    if UNKNOWN not in vocabulary:
        raise UserError(f"--vocab {path} must be a vocabulary of WordPiece, but has no {UNKNOWN}")
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token=UNKNOWN))
    prepare: LineFunction = str
    if has_words(vocabulary):
        prepare = _chinese_words(vocabulary, lowercase=lowercase)
        tokenizer.pre_tokenizer = WhitespaceSplit()
    else:
        tokenizer.normalizer = BertNormalizer(lowercase=lowercase)
        tokenizer.pre_tokenizer = BertPreTokenizer()

    def split(line: str) -> str:
        pieces = tokenizer.encode(prepare(line), add_special_tokens=False).tokens
        return " ".join("<unk>" if piece == UNKNOWN else piece for piece in pieces)

    return split


def _chinese_words(vocabulary: dict[str, Any], *, lowercase: bool) -> LineFunction:
    """Return the function from a line to words of the vocabulary, and to characters and Latin words of others."""
    from tokenizers.normalizers import BertNormalizer

    clean = BertNormalizer(handle_chinese_chars=False, lowercase=lowercase)
    separate = BertNormalizer(clean_text=False, strip_accents=False, lowercase=False)
    words = word_splitter()

    def prepare(line: str) -> str:
        found = words(clean.normalize_str(line))
        return " ".join(word if word in vocabulary else separate.normalize_str(word) for word in found)

    return prepare


def main() -> None:
    parser = cli.parser(__doc__, "wordpiece")
    parser.add_argument("--vocab", type=Path, required=True, metavar="FILE", help="a piece a line, as vocab.txt")
    parser.add_argument("--lowercase", action="store_true", help="lower-case, and drop accents as BERT does")
    add_arguments(parser)
    options = parser.parse_args()
    filter_file(splitter(options.vocab, lowercase=options.lowercase), options)


if __name__ == "__main__":
    run("wordpiece", main)

"""From a raw line to the tokens that a model reads, and from the tokens that it writes back to text."""

from typing import Any, NamedTuple

import torch
from fairseq.data.encoders.moses_tokenizer import MosesTokenizer
from fairseq.data.encoders.sentencepiece_bpe import SentencepieceBPE
from fairseq.data.encoders.subword_nmt_bpe import SubwordNMTBPE
from torch import Tensor

from fairseq_rope_data.clean_line import clean_line, one_line
from fairseq_rope_data.normalize import normalizer
from fairseq_rope_data.segmentation import SubwordNMT, moses, segmenter, sentencepiece
from fairseq_rope_data.workers import LineFunction

# a token is rarely this long, so a line with more characters for each token that fits would be cut by tokens anyway
_CHARS_PER_TOKEN = 32


class Encoded(NamedTuple):
    """The source tokens of a line, (S,) with </s>, or None where no word is in it; and what was changed in it."""

    tokens: Tensor | None
    notes: list[str]


class LineCodec:
    """Cleaning, normalization, lower-casing, tokenizer, BPE and dictionary, one way and back.

    Args:
        task: fairseq's task, for its dictionaries.
        cfg: fairseq's configuration: `--tokenizer`, `--bpe` and `--post-process` with their options.
        normalize: normalize the source's punctuation by the rules of its language, for models of such text.
        lowercase: lower-case the source, for models of such text.
        separator: the token between the lines of a window; None where there are no windows.
    """

    def __init__(self, task: Any, cfg: Any, *, normalize: bool, lowercase: bool, separator: str | None = None) -> None:
        self.task = task
        self.separator = separator
        self.tokenizer = task.build_tokenizer(cfg.tokenizer)
        self.bpe = task.build_bpe(cfg.bpe)
        self.post_process = cfg.common_eval.post_process
        self.segment = segmenter(
            normalize=normalizer(cfg.task.source_lang) if normalize else str,
            lowercase=lowercase,
            tokenize=_tokenize(self.tokenizer),
            split=_split(self.bpe),
        )

    def encode(self, line: bytes | str, *, max_tokens: int) -> Encoded:
        """Turn a raw line into source tokens, at most `max_tokens` of them with </s>; what is too long is cut."""
        text, notes = clean_line(line, max_chars=_CHARS_PER_TOKEN * max_tokens)
        (tokens,), _ = self.task.get_interactive_tokens_and_lengths([text], self.segment)
        words, end = tokens[:-1], tokens[-1:]
        if len(words) == 0:
            return Encoded(None, notes)
        notes += self._replace_special_tokens(words)
        if bool((words == self.task.source_dictionary.unk()).all()):
            notes.append(f"all its tokens are unknown to the dictionary: {len(words):,}")
        if len(tokens) > max_tokens:
            notes.append(f"cut from {len(words):,} to {max_tokens - 1:,} tokens (--max-source-positions, --max-tokens)")
            tokens = torch.cat([words[: max_tokens - 1], end])
        return Encoded(tokens, notes)

    def decode(self, tokens: list[int], special_ids: set[int]) -> str:
        """Turn target tokens into one line of text; `special_ids` are no words and left out."""
        dictionary = self.task.target_dictionary
        text = dictionary.string(tokens, self.post_process, extra_symbols_to_ignore=special_ids)
        text = text if self.bpe is None else self.bpe.decode(text)
        return one_line(text if self.tokenizer is None else self.tokenizer.decode(text))

    def _replace_special_tokens(self, words: Tensor) -> list[str]:
        """Replace in place what only the dictionary may use: a `</s>` or `<pad>` in the text would end or hide it.

        A window's separator would make two lines of one.
        """
        dictionary = self.task.source_dictionary
        special = (words == dictionary.bos()) | (words == dictionary.pad()) | (words == dictionary.eos())
        if self.separator is not None:
            special |= words == dictionary.index(self.separator)
        count = int(special.sum())
        words[special] = dictionary.unk()
        marks = "</s>" if self.separator is None else f"</s> or the separator {self.separator}"
        return [f"marks of the dictionary, such as {marks}, replaced by <unk>: {count:,}"] if count else []


def _tokenize(tokenizer: Any) -> LineFunction:
    """Return the step that training text went through, if there is one for this tokenizer of fairseq, or its own."""
    if type(tokenizer) is MosesTokenizer:
        cfg = tokenizer.cfg
        return moses(tokenizer.tok, dash_splits=not cfg.moses_no_dash_splits, escape=not cfg.moses_no_escape)
    return str if tokenizer is None else tokenizer.encode


def _split(bpe: Any) -> LineFunction:
    """Return likewise the step of a BPE of fairseq."""
    if type(bpe) is SubwordNMTBPE:
        return SubwordNMT(bpe.bpe)
    if type(bpe) is SentencepieceBPE and not bpe.enable_sampling:
        return sentencepiece(bpe.sp)
    return str if bpe is None else bpe.encode

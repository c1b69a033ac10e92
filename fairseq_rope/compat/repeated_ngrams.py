"""`--no-repeat-ngram-size N` keeps the translations of a search from repeating an N-gram.

Symptom: without fairseq's extension for CUDA, as on every CPU, they repeat it, without a word: fairseq looks for the
last words at the end of a tensor that is padded there, and with N = 1 for none at all.
A given beginning, of `--prefix-size` or of a language model's text, may repeat what it likes.
fairseq 0.12.2 and main; can go when fairseq looks at the words that are written so far.
"""

from collections.abc import Callable

from fairseq.ngram_repeat_block import NGramRepeatBlock
from torch import Tensor

from fairseq_rope.compat.wrapping import wrap


def forbid_repeated_ngrams() -> None:
    """Forbid them in every search that has no extension for it."""
    wrap(NGramRepeatBlock, "_no_repeat_ngram", _forbid)


def _forbid(
    _: Callable[..., Tensor],
    block: NGramRepeatBlock,
    tokens: Tensor,
    lprobs: Tensor,
    bsz: int,
    beam_size: int,
    step: int,
) -> Tensor:
    # (B, longest) -> (B, step), without </s> at the start, which ends a translation and is no word
    for row, words in enumerate(tokens[:, 1 : step + 1].tolist()):
        repeating = _repeating(words, block.no_repeat_ngram_size)
        before = lprobs[row, repeating]
        lprobs[row, repeating] = float("-inf")
        if repeating and lprobs[row].max() == float("-inf"):
            lprobs[row, repeating] = before  # the one word of a given beginning: without it the search ends
    return lprobs


def _repeating(words: list[int], size: int) -> list[int]:
    """Return the words that would end an n-gram of this size once more."""
    last = words[max(0, len(words) - size + 1) :]
    return [word for i, word in enumerate(words[size - 1 :]) if words[i : i + size - 1] == last]

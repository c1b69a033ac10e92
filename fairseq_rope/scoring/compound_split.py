"""BLEU as the papers on WMT14 English-German count it: tokens of the target language, compounds split at hyphens."""

import re
from collections.abc import Sequence
from importlib.metadata import version

from sacrebleu.metrics.bleu import BLEU
from sacremoses import MosesTokenizer

from fairseq_rope.scoring.metrics import Score
from fairseq_rope.scoring.text import Text
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.raw_text import SPLIT_HYPHEN

NAME = "compound-split BLEU"
# the papers' `perl -ple 's{(\S)-(\S)}{$1 ##AT##-##AT## $2}g'`, on bytes as there: one pass from left to right, so that
# in a-b-c, whose b is a byte and was taken by the first match, the second hyphen stays, and in a-ü-c it doesn't
_HYPHEN = re.compile(rb"(\S)-(\S)")


def moses_tokens(lines: Sequence[str], target_lang: str) -> list[str]:
    """Return the Moses tokens of raw text, spaces between them: no dash is split (no `-a`), nothing is escaped."""
    moses = MosesTokenizer(lang=target_lang)
    return [moses.tokenize(line, aggressive_dash_splits=False, return_str=True, escape=False) for line in lines]


def split_compounds(tokens: Sequence[str]) -> list[str]:
    """Split every token at its hyphens, which become tokens of their own: `##AT##-##AT##`."""
    return [_HYPHEN.sub(rb"\1 ##AT##-##AT## \2", line.encode()).decode() for line in tokens]


def check_no_split_hyphens(text: Text) -> None:
    """Check that hyphens are not split already, as in no raw text: to split twice inflates the score.

    Raises:
        UserError: a line holds a token `@-@` or `##AT##-##AT##`.
    """
    for index, line in enumerate(text.lines):
        if match := SPLIT_HYPHEN.search(line):
            raise UserError(
                f"{text.location(index)}: hyphens are split already ({match[0]}): {NAME} needs detokenized text"
            )


def split_bleu(*, lowercase: bool = False) -> BLEU:
    """Return the metric for the tokens of `split_compounds`: compared as they stand, no smoothing."""
    return BLEU(tokenize="none", smooth_method="none", force=True, lowercase=lowercase)


def split_signature(signature: str, target_lang: str) -> str:
    """Return the signature of `split_bleu`, completed by how the tokens were made."""
    tokens = f"tok:moses-{target_lang}-no_dash_splits-no_escape-compound_split"
    return f"{signature.replace('tok:none', tokens)}|sacremoses:{version('sacremoses')}"


def compound_split_bleu(
    hyps: Sequence[str], refs: Sequence[str], *, target_lang: str, lowercase: bool = False
) -> Score:
    """Score detokenized text by its compound-split tokens, without smoothing; comparable with the papers' 27.3.

    Args:
        hyps: detokenized sentences.
        refs: as many detokenized references.
        target_lang: whose rules Moses follows, such as de.
        lowercase: compare in lower case; tokens are made of the text as it stands.

    Raises:
        UserError: hyphens are split already.
    """
    for name, lines in ("hypotheses", hyps), ("references", refs):
        check_no_split_hyphens(Text(name, list(lines)))
    tokens = moses_tokens(refs, target_lang)
    bleu = split_bleu(lowercase=lowercase)
    score = bleu.corpus_score(split_compounds(moses_tokens(hyps, target_lang)), [split_compounds(tokens)])
    unsplit = sum(len(line.split()) for line in tokens)
    text = f"{NAME}{str(score).removeprefix('BLEU')}; Moses tokens of the references before the split: {unsplit}"
    return Score(NAME, score.score, text, split_signature(str(bleu.get_signature()), target_lang))

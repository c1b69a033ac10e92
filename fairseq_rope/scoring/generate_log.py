"""Read hypotheses and references out of a fairseq-generate log, which is complete or refused."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fairseq_rope.scoring.text import Text
from fairseq_rope_data.errors import UserError

# S- source, T- reference, H- hypothesis with its score, D- the hypothesis decoded by --tokenizer and --bpe
_SENTENCE = re.compile(r"([STHD])-(\S+?)\t(.*)", re.DOTALL)
_NUMBER = re.compile(r"[0-9]{1,18}")
# the last line; old versions of fairseq log it with a date, "... | Generate test with beam=5: BLEU4 = ..."
_SUMMARY = re.compile(r"(?:.*\| )?Generate \S+ with beam=\d+: (.*)")


@dataclass(frozen=True)
class GenerateLog:
    """The sentences of a complete log, in the order of the test set.

    fairseq decodes (--bpe, --tokenizer) what it prints as T and as D, never H; so D is what compares with T. Without
    a decoder D is H. With --nbest, the first hypothesis of a sentence is the one that counts.
    """

    hyps: list[str]
    refs: list[str]
    sources: list[str]  # empty where the log has no S- lines
    decoded: bool  # D differs from H somewhere
    summary: str  # fairseq's own score, such as "BLEU4 = 37.94, ..."
    name: str
    hyp_numbers: list[int]  # lines of the log, counted from 1
    ref_numbers: list[int]

    def hyp_text(self) -> Text:
        """Return the hypotheses with their line numbers in the log."""
        return Text(self.name, self.hyps, self.hyp_numbers)

    def ref_text(self) -> Text:
        """Return the references with their line numbers in the log."""
        return Text(self.name, self.refs, self.ref_numbers)


def parse_generate_log(lines: Iterable[str], name: str) -> GenerateLog:
    """Read a log's lines, whose sentences may stand in any order.

    Args:
        lines: without their line ends.
        name: the log's name, for messages.

    Raises:
        UserError: no sentence (--quiet), no last line, or sentence numbers that are doubled, missing or incomplete.
    """
    texts: dict[str, dict[int, str]] = {kind: {} for kind in "STHD"}
    numbers: dict[str, dict[int, int]] = {kind: {} for kind in "STHD"}
    summary = None
    for number, line in enumerate(lines, start=1):
        if match := _SENTENCE.fullmatch(line):
            if not _NUMBER.fullmatch(match[2]):
                raise UserError(
                    f"{name}:{number}: {match[1]}-{match[2][:20]} must be the number of a sentence: damaged?"
                )
            kind, sentence, text = match[1], int(match[2]), match[3]
            if kind in "HD":
                _, tab, text = text.partition("\t")
                if not tab:
                    raise UserError(f"{name}:{number}: {kind}-{sentence} must be a score, a tab and a text: cut off?")
            elif sentence in texts[kind]:
                raise UserError(f"{name}:{number}: {kind}-{sentence} is there twice: are these two logs in one?")
            texts[kind].setdefault(sentence, text)
            numbers[kind].setdefault(sentence, number)
        elif match := _SUMMARY.fullmatch(line):
            summary = match[1]
    _check_complete(texts, numbers, summary is not None, name)
    order = range(len(texts["H"]))
    hyps = [texts["H"][i] for i in order]
    # fairseq before 0.9 printed no D
    scored = "D" if texts["D"] else "H"
    decoded = [texts[scored][i] for i in order]
    return GenerateLog(
        hyps=decoded,
        refs=[texts["T"][i] for i in order],
        sources=[texts["S"][i] for i in order] if texts["S"] else [],
        decoded=decoded != hyps,
        summary=summary or "",
        name=name,
        hyp_numbers=[numbers[scored][i] for i in order],
        ref_numbers=[numbers["T"][i] for i in order],
    )


def _check_complete(
    texts: dict[str, dict[int, str]], numbers: dict[str, dict[int, int]], finished: bool, name: str
) -> None:
    """Check that nothing is missing in a log."""
    sentences = texts["S"].keys() | texts["T"].keys() | texts["H"].keys()
    if not sentences:
        raise UserError(f"{name}: no S-, T- and H- lines: not a fairseq-generate log, or made with --quiet")
    needed = [kind for kind in "STHD" if texts[kind] or kind in "TH"]
    for kind in needed:
        missing = sorted(sentences - texts[kind].keys())
        if len(missing) == len(sentences):
            raise UserError(f"{name}: no {kind}- lines at all: {'no references' if kind == 'T' else 'unfinished'}")
        if missing:
            others = ", ".join(f"{other}-{missing[0]}" for other in "STH" if missing[0] in texts[other])
            raise UserError(
                f"{name}: {len(missing)} of {len(sentences)} sentences have no {kind}- line, "
                f"the first {kind}-{missing[0]} (there is {others}): unfinished?"
            )
    if not finished:
        raise UserError(f"{name}: unfinished, its last line 'Generate ... with beam=...' is missing")
    # never a range up to the last one, which is huge where its number is damaged
    last, absent = max(sentences), max(sentences) + 1 - len(sentences)
    if absent:
        first = next(i for i, sentence in enumerate(sorted(sentences)) if sentence != i)
        raise UserError(
            f"{name}: sentence {first} is missing ({absent} in all), though there is {last} in line "
            f"{numbers['H'][last]}: skipped as too long, one of several shards, or damaged?"
        )

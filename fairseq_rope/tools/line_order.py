"""Find hypotheses that stand beside another sentence's reference, by the words that only those two share."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_WORD = re.compile(r"\w+")
_MAX_WORDS = 3
# What is evidence enough was chosen on text that has nothing to do with its references: fluent sentences of the same
# corpus, 3 to 3,000 of them, which share phrases by chance, stay below it.
_MIN_SHARED_IN_RINGS = 4
_MIN_SHARED = 5
_MIN_LINES = 5
_MIN_RATE = 0.1


@dataclass(frozen=True)
class Misplaced:
    """The hypothesis `hyp` shares `shared` phrases with the reference `ref` alone, and none with its own."""

    hyp: int
    ref: int
    shared: int


def misplaced_lines(hyps: Sequence[str], refs: Sequence[str]) -> list[Misplaced]:
    """Find the lines that stand in another order than the references; none unless the evidence is strong.

    A phrase of one to three words that a single reference and a single hypothesis hold joins the two. A hypothesis is
    misplaced where phrases join it to another reference, none to its own, and at most half as many to any third. A
    poor system makes such lines by chance, so they count only where they have changed places, two or more in a ring
    with 4 phrases or more each, or where they are five, and a tenth of all lines, with 5 phrases or more each.

    Args:
        hyps: words, in any casing, BPE joined.
        refs: as many references; equal ones count as one.
    """
    same = _first_equal(refs)
    links = _links(hyps, refs, same)
    clear = [link for link in links if link.shared >= _MIN_SHARED]
    if len({link.ref for link in clear}) >= max(_MIN_LINES, _MIN_RATE * len(refs)):
        return clear
    return _in_rings(links, same)


def _links(hyps: Sequence[str], refs: Sequence[str], same: list[int]) -> list[Misplaced]:
    """Find each hypothesis that belongs to another reference, chance or not."""
    in_refs, in_hyps = _only_owners(refs), _only_owners(hyps)
    links = []
    for index, line in enumerate(hyps):
        shared = Counter(in_refs[phrase] for phrase in _phrases(line) if phrase in in_refs and phrase in in_hyps)
        if shared[same[index]]:
            continue
        (ref, most), (_, second) = [*shared.most_common(2), (0, 0), (0, 0)][:2]
        if most >= max(_MIN_SHARED_IN_RINGS, 2 * second):
            links.append(Misplaced(index, ref, most))
    return links


def _in_rings(links: list[Misplaced], same: list[int]) -> list[Misplaced]:
    """Keep the links that lead, one after the other, back to where they began."""
    while True:
        starts, ends = {same[link.hyp] for link in links}, {link.ref for link in links}
        kept = [link for link in links if same[link.hyp] in ends and link.ref in starts]
        if len(kept) == len(links):
            return kept
        links = kept


def _only_owners(lines: Sequence[str]) -> dict[str, int]:
    """Give for each phrase that a single line holds that line; equal lines count as their first."""
    owners: dict[str, int] = {}
    shared: set[str] = set()
    for index, first in enumerate(_first_equal(lines)):
        if index == first:
            phrases = _phrases(lines[index])
            shared.update(phrase for phrase in phrases if phrase in owners)
            owners.update(dict.fromkeys(phrases, index))
    return {phrase: owner for phrase, owner in owners.items() if phrase not in shared}


def _first_equal(lines: Sequence[str]) -> list[int]:
    """Give for each line the first that has the same words."""
    first: dict[str, int] = {}
    return [first.setdefault(" ".join(_words(line)), index) for index, line in enumerate(lines)]


def _phrases(line: str) -> set[str]:
    words = _words(line)
    return {
        " ".join(words[start : start + length])
        for length in range(1, _MAX_WORDS + 1)
        for start in range(len(words) - length + 1)
    }


def _words(line: str) -> list[str]:
    return _WORD.findall(line.lower())

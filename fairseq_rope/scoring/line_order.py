"""Find hypotheses that stand beside another sentence's reference, by the words that only those two share."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

_WORD = re.compile(r"\w+")
_MAX_WORDS = 3
# What is evidence enough was chosen on text that has nothing to do with its references: fluent sentences of the same
# corpus, 3 to 3,000 of them, which share phrases by chance, stay below it.
_MIN_SHARED_IN_RINGS = 4
_MIN_SHARED = 5
_MIN_LINES = 5
_MIN_RATE = 0.01
# Where the order as a whole is broken was chosen on news, talks, captions and near paraphrases, as translated with 20
# to 45 BLEU. In order: no line; where every third line begins with words of the one before: 3% and a run of 2. With a
# twentieth shuffled: 1 to 4%; a tenth: 3 to 9%. With the last twenty shifted: a run of 5 to 19.
_BROKEN_RATE = 0.05
_BROKEN_RUN = 6
_BROKEN_RINGS = 0.1


@dataclass(frozen=True)
class Misplaced:
    """The hypothesis `hyp` shares `shared` phrases with the reference `ref` alone, and none with its own."""

    hyp: int
    ref: int
    shared: int


@dataclass(frozen=True)
class Order:
    """The lines that seem to stand in another order than the references, and whether the order as a whole is broken."""

    misplaced: list[Misplaced]
    broken: bool


def line_order(hyps: Sequence[str], refs: Sequence[str]) -> Order:
    """Find the lines that stand in another order than the references; none unless the evidence is strong.

    A phrase of one to three words that a single reference and a single hypothesis hold joins the two. A hypothesis is
    misplaced where phrases join it to another reference, none to its own, and at most half as many to any third. A
    poor system makes such lines by chance, so they count only where they have changed places, two or more in a ring
    with 4 phrases or more each, or where they are five, and a hundredth of all lines, with 5 phrases or more each.

    The order is broken by a shuffle of about a tenth of the lines, a twentieth of those that any phrase places, for
    about half of what is out of order shows; by a shift, a run in which lines at one and the same distance from their
    reference outnumber those beside it by six; and by rings that are a tenth of all lines. Two sentences that nearly
    paraphrase each other are a ring too, and no more than that.

    Args:
        hyps: words, in any casing, BPE joined.
        refs: as many references; equal ones count as one.
    """
    same = _first_equal(refs)
    links, in_place = _links(hyps, refs, same)
    clear = [link for link in links if link.shared >= _MIN_SHARED]
    lines = len({link.ref for link in clear})
    placed = max(len(links) + len(in_place), len(refs) / 2)
    if lines >= max(_MIN_LINES, _BROKEN_RATE * placed):
        return Order(clear, broken=True)
    if run := _shifted_run(links, in_place, same):
        return Order(run, broken=True)
    rings = _in_rings(links, same)
    if rings and len(rings) >= _BROKEN_RINGS * len(refs):
        return Order(rings, broken=True)
    return Order(clear if lines >= max(_MIN_LINES, _MIN_RATE * len(refs)) else rings, broken=False)


def _links(hyps: Sequence[str], refs: Sequence[str], same: list[int]) -> tuple[list[Misplaced], list[int]]:
    """Find each hypothesis that belongs to another reference, chance or not, and each that belongs to its own."""
    in_refs, in_hyps = _only_owners(refs), _only_owners(hyps)
    links, in_place = [], []
    for index, line in enumerate(hyps):
        shared = Counter(in_refs[phrase] for phrase in _phrases(line) if phrase in in_refs and phrase in in_hyps)
        if shared[same[index]]:
            in_place.append(index)
            continue
        (ref, most), (_, second) = [*shared.most_common(2), (0, 0), (0, 0)][:2]
        if most >= max(_MIN_SHARED_IN_RINGS, 2 * second):
            links.append(Misplaced(index, ref, most))
    return links, in_place


def _shifted_run(links: list[Misplaced], in_place: list[int], same: list[int]) -> list[Misplaced]:
    """Return the links of the longest run at one distance; none where it is short."""
    copies = defaultdict(list)
    for index, first in enumerate(same):
        copies[first].append(index)
    shifted = defaultdict(list)
    for link in links:
        shifted[_nearest(copies[link.ref], link.hyp) - link.hyp].append(link)
    most, best = _BROKEN_RUN - 1, (links[:0], 0, 0)
    for equal in shifted.values():
        steps = [*((link.hyp, 1) for link in equal), *((index, -1) for index in in_place)]
        lead = first = 0
        for line, step in sorted(steps) if len(equal) > most else ():
            first = line if lead == 0 else first
            lead = max(lead + step, 0)
            if lead > most:
                most, best = lead, (equal, first, line)
    run, first, last = best
    return [link for link in run if first <= link.hyp <= last]


def _nearest(positions: list[int], index: int) -> int:
    at = bisect_left(positions, index)
    return min(positions[max(at - 1, 0) : at + 1], key=lambda position: abs(position - index))


def _in_rings(links: list[Misplaced], same: list[int]) -> list[Misplaced]:
    """Keep the links that lead, one after the other, back to where they began."""
    while True:
        starts, ends = {same[link.hyp] for link in links}, {link.ref for link in links}
        kept = [link for link in links if same[link.hyp] in ends and link.ref in starts]
        if len(kept) == len(links):
            return kept
        links = kept


def _only_owners(lines: Sequence[str]) -> dict[str, int]:
    """Return, for each phrase that a single line holds, that line; equal lines count as their first."""
    owners: dict[str, int] = {}
    shared: set[str] = set()
    for index, first in enumerate(_first_equal(lines)):
        if index == first:
            phrases = _phrases(lines[index])
            shared.update(phrase for phrase in phrases if phrase in owners)
            owners.update(dict.fromkeys(phrases, index))
    return {phrase: owner for phrase, owner in owners.items() if phrase not in shared}


def _first_equal(lines: Sequence[str]) -> list[int]:
    """Return, for each line, the first that has the same words."""
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

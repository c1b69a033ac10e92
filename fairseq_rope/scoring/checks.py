"""What must hold before a score is worth anything: each breach is an error that names file and line."""

import re
from collections.abc import Callable, Sequence

from fairseq_rope.scoring.line_order import line_order
from fairseq_rope.scoring.text import Text
from fairseq_rope_data.errors import UserError

# what --allow takes
ALLOWED = ("empty", "marks", "order")
# how the note begins on lines out of order that are too few to be refused
ORDER_NOTE = "scored as they are"
_LOG_LINE = re.compile(r"[STHDP]-\d+\t")
_BPE_MARKS = ("@@", "\u2581")


def same_length(hyps: Text, refs: Text, *, options: tuple[str, str]) -> None:
    """Compare numbers of lines; the message names the first line that has no counterpart.

    Args:
        hyps: what is scored.
        refs: what goes with it, line by line.
        options: those that gave the two, for the message.

    Raises:
        UserError: the numbers differ.
    """
    if len(hyps.lines) != len(refs.lines):
        longer, shorter = sorted((refs, hyps), key=lambda text: len(text.lines), reverse=True)
        raise UserError(
            f"{options[1]} {refs.name} has {len(refs.lines)} lines, but {options[0]} {hyps.name} has "
            f"{len(hyps.lines)}: {longer.place(len(shorter.lines))} is the first without a counterpart"
        )


def no_log_lines(text: Text) -> None:
    """Refuse lines cut out of a log with their numbers, in the log's order.

    Raises:
        UserError: a line begins as in `H-12<tab>`.
    """
    for index, line in enumerate(text.lines):
        if match := _LOG_LINE.match(line):
            raise UserError(
                f"{text.place(index)}: a line of a fairseq-generate log ({match[0].strip()}), whose lines stand in "
                "another order than the references: give the whole log with --log"
            )


def check_empty(hyps: Text, refs: Text, *, allow: Sequence[str] = ()) -> list[str]:
    """Refuse an empty hypothesis whose reference has words; return a note where that is allowed.

    Raises:
        UserError: there is one, and "empty" is not in `allow`.
    """
    pairs = enumerate(zip(hyps.lines, refs.lines, strict=True))
    found = [index for index, (hyp, ref) in pairs if ref.strip() and not hyp.strip()]
    return _breach("empty", found, allow, hyps, lambda i: f"the hypothesis is empty, but {refs.place(i)} is not")


def check_marks(hyps: Text, refs: Text, *, allow: Sequence[str] = ()) -> list[str]:
    """Refuse marks of BPE, `@@` or U+2581, in raw text whose reference lacks them; return a note where that is allowed.

    Raises:
        UserError: there is one, and "marks" is not in `allow`.
    """
    pairs = list(enumerate(zip(hyps.lines, refs.lines, strict=True)))
    found = {i: mark for mark in _BPE_MARKS for i, (hyp, ref) in pairs if mark in hyp and mark not in ref}
    return _breach("marks", sorted(found), allow, hyps, lambda i: f"a mark of BPE, {found[i]}, is left in raw text")


def check_order(hyps: Text, refs: Text, *, allow: Sequence[str] = ()) -> list[str]:
    """Refuse lines in another order than their references, BPE joined in both; return a note where that is allowed.

    Lines out of order that are few, as two sentences that nearly paraphrase each other, are a note in any case.

    Raises:
        UserError: the order as a whole is broken (see `line_order`), and "order" is not in `allow`.
    """
    order = line_order(hyps.lines, refs.lines)
    found = {line.hyp: line for line in order.misplaced}

    def explain(i: int) -> str:
        shared, other = found[i].shared, refs.place(found[i].ref)
        return f"out of order: it shares {shared} phrases with {other} alone, none with {refs.place(i)}"

    if found and not order.broken:
        first = min(found)
        return [
            f"{ORDER_NOTE}: {len(found)} of {len(hyps.lines)} lines, the first {hyps.place(first)}: {explain(first)}"
        ]
    return _breach("order", sorted(found), allow, hyps, explain)


def _breach(kind: str, found: list[int], allow: Sequence[str], text: Text, explain: Callable[[int], str]) -> list[str]:
    if not found:
        return []
    place, count = text.place(found[0]), f"{len(found)} of {len(text.lines)} lines"
    if kind in allow:
        return [f"--allow {kind}: {count}, the first {place}: {explain(found[0])}"]
    raise UserError(f"{place}: {explain(found[0])} ({count}; --allow {kind} scores them as they are)")

"""Checks of text before it is scored: each failure is an error that names file and line."""

from collections.abc import Callable, Sequence

from fairseq_rope.scoring.line_order import line_order
from fairseq_rope.scoring.text import Text
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.raw_text import LOG_LINE

# what --allow takes, and an earlier spelling
ALLOWED = ("empty", "bpe-markers", "order")
_ALIASES = {"marks": "bpe-markers"}
# how the note begins on lines out of order that are too few to be refused
ORDER_NOTE = "scored as they are"
_BPE_MARKERS = ("@@", "\u2581")


def allowed(name: str) -> str:
    """Return which of ALLOWED an option's text names; other text as it is, for argparse to refuse."""
    return _ALIASES.get(name, name)


def check_same_length(hyps: Text, refs: Text, *, options: tuple[str, str]) -> None:
    """Check that there are as many lines; the message names the first line that has no counterpart.

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
            f"{len(hyps.lines)}: {longer.location(len(shorter.lines))} is the first without a counterpart"
        )


def check_no_log_lines(text: Text) -> None:
    """Check that no line was cut out of a fairseq-generate log, whose order is another.

    Raises:
        UserError: a line begins as in `H-12<tab>`.
    """
    for index, line in enumerate(text.lines):
        if match := LOG_LINE.match(line):
            raise UserError(
                f"{text.location(index)}: a line of a fairseq-generate log ({match[0].strip()}), whose lines stand in "
                "another order than the references: give the whole log with --log"
            )


def check_empty(hyps: Text, refs: Text, *, allow: Sequence[str] = ()) -> list[str]:
    """Check that no hypothesis is empty whose reference has words; return a note where that is allowed.

    Raises:
        UserError: there is one, and "empty" is not in `allow`.
    """
    pairs = enumerate(zip(hyps.lines, refs.lines, strict=True))
    empty = [index for index, (hyp, ref) in pairs if ref.strip() and not hyp.strip()]
    return _notes("empty", empty, allow, hyps, lambda i: f"the hypothesis is empty, but {refs.location(i)} is not")


def check_bpe_markers(hyps: Text, refs: Text, *, allow: Sequence[str] = ()) -> list[str]:
    """Check raw text for BPE markers, `@@` or U+2581, that its reference lacks; return a note where that is allowed.

    Raises:
        UserError: there is one, and "bpe-markers" is not in `allow`.
    """
    pairs = list(enumerate(zip(hyps.lines, refs.lines, strict=True)))
    markers = {i: mark for mark in _BPE_MARKERS for i, (hyp, ref) in pairs if mark in hyp and mark not in ref}
    return _notes(
        "bpe-markers", sorted(markers), allow, hyps, lambda i: f"a mark of BPE, {markers[i]}, is left in raw text"
    )


def check_order(hyps: Text, refs: Text, *, allow: Sequence[str] = ()) -> list[str]:
    """Check that lines stand in the order of their references, BPE joined in both; return a note where allowed.

    Lines out of order that are few, as two sentences that nearly paraphrase each other, are a note in any case.

    Raises:
        UserError: the order as a whole is broken (see `line_order`), and "order" is not in `allow`.
    """
    order = line_order(hyps.lines, refs.lines)
    misplaced = {line.hyp: line for line in order.misplaced}

    def explain(i: int) -> str:
        shared, other = misplaced[i].shared, refs.location(misplaced[i].ref)
        return f"out of order: it shares {shared} phrases with {other} alone, none with {refs.location(i)}"

    if misplaced and not order.broken:
        first = min(misplaced)
        count = f"{len(misplaced)} of {len(hyps.lines)} lines"
        return [f"{ORDER_NOTE}: {count}, the first {hyps.location(first)}: {explain(first)}"]
    return _notes("order", sorted(misplaced), allow, hyps, explain)


def _notes(kind: str, lines: list[int], allow: Sequence[str], text: Text, explain: Callable[[int], str]) -> list[str]:
    """Return no note where there are no such lines, one where `kind` is allowed; raise otherwise."""
    if not lines:
        return []
    where, count = text.location(lines[0]), f"{len(lines)} of {len(text.lines)} lines"
    if kind in allow:
        return [f"--allow {kind}: {count}, the first {where}: {explain(lines[0])}"]
    raise UserError(f"{where}: {explain(lines[0])} ({count}; --allow {kind} scores them as they are)")

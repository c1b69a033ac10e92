"""Plain data from text: what fairseq writes as Python expressions, and nothing that runs.

Used by `no_eval` and `checkpoint_options`, and can go with them.
"""

import ast
import operator
from collections.abc import Callable
from typing import Any

# fairseq's convolutions are written as "[(512, 10, 5)] + [(512, 3, 2)] * 4"
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
_LONGEST = 100_000  # elements of a repeated sequence


class NotPlainData(ValueError):
    """A text that is more than plain data, and might run something."""

    def __init__(self, subject: str, text: str):
        shown = text if len(text) <= 200 else f"{text[:200]} ..."
        super().__init__(f"{subject} must be plain data (numbers, strings, lists), but is {shown!r}")


def evaluate(text: object) -> Any:
    """Return what `eval` returns for plain data: numbers, strings, None, lists, tuples, dictionaries, their + - and *.

    Raises:
        TypeError: it is no text, as `eval` says it too; fairseq takes a value that is one already from that.
        NotPlainData: it holds a name, a call or anything else, or is no expression.
    """
    if not isinstance(text, str):
        raise TypeError(f"only text is evaluated, but this is {type(text).__name__}")
    try:
        return _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError) as error:
        raise NotPlainData("what fairseq evaluates", text) from error


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _value(node.left), _value(node.right)
        for sequence, times in ((left, right), (right, left)):
            if isinstance(node.op, ast.Mult) and hasattr(sequence, "__len__") and len(sequence) * times > _LONGEST:
                raise ValueError(f"more than {_LONGEST} elements")
        return _OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.List):
        return [_value(element) for element in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_value(element) for element in node.elts)
    return ast.literal_eval(node)

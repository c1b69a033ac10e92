"""Tables as Markdown that also reads well on a terminal."""

from collections.abc import Sequence


def table(columns: dict[str, dict[str, str]]) -> str:
    """Lay out column -> row -> cell; what a column lacks stays empty.

    Names may hold what would end a cell or a line: a bar is escaped, and white space is one space.
    """
    names = list(dict.fromkeys(row for cells in columns.values() for row in cells))
    lines = [["", *columns], *([name, *(column.get(name, "") for column in columns.values())] for name in names)]
    lines = [[" ".join(text.split()).replace("|", "\\|") for text in line] for line in lines]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(x.ljust(w) for x, w in zip(line, widths, strict=True)) + " |" for line in lines)


def transposed(columns: dict[str, dict[str, str]], rows: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return these rows as columns; what a column lacks is empty."""
    return {row: {name: cells.get(row, "") for name, cells in columns.items()} for row in rows}

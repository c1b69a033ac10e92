"""Tables as Markdown that also reads well on a terminal."""


def table(columns: dict[str, dict[str, str]]) -> str:
    """Lay out column -> row -> cell; what a column lacks stays empty."""
    names = list(dict.fromkeys(row for cells in columns.values() for row in cells))
    lines = [["", *columns], *([name, *(column.get(name, "") for column in columns.values())] for name in names)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(x.ljust(w) for x, w in zip(line, widths, strict=True)) + " |" for line in lines)

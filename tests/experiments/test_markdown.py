"""Tables as Markdown."""

from fairseq_rope.experiments.markdown import table


def test_what_would_end_a_cell_or_a_line_does_not():
    lines = table({"a|b": {"x\ny": "1"}, "c": {"x\ny": "| 2"}}).splitlines()
    assert lines[0] == "|     | a\\|b | c    |" and lines[2] == "| x y | 1    | \\| 2 |" and len(lines) == 3

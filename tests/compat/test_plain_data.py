"""What fairseq evaluates is plain data, the same as with `eval`, and never runs."""

from pathlib import Path

import pytest

from fairseq_rope.compat.plain_data import NotPlainData, evaluate

LEGAL = (
    *("[100, 200]", "10000", "(0.9, 0.98)", "(1e-30, 1e-3)", "-1", "True", "None", "'text'", " [1]\n"),
    *("{'a': [1, 2]}", "{1, 2}", "[(512, 3)] * 20", "2 * [(512, 3)] + [(768, 5)]", "[('kenlm', None, 2 * 3 - 1)]"),
)
CODE = (
    "__import__('os').system('touch {marker}')",
    "__import__('os').system('touch {marker}') or [10]",
    "[10] + [__import__('os').system('touch {marker}')]",
    "{{'a': open('{marker}', 'w')}}",
    "[open('{marker}', 'w') for _ in (1,)]",
    "(lambda: open('{marker}', 'w'))()",
    "f\"{{open('{marker}', 'w')}}\"",
    "[1][open('{marker}', 'w').fileno()]",
)


@pytest.mark.parametrize("text", LEGAL)
def test_plain_data_has_the_value_that_eval_gives(text: str):
    assert evaluate(text) == eval(text)


@pytest.mark.parametrize("text", CODE)
def test_code_is_refused_and_does_not_run(text: str, tmp_path: Path):
    marker = tmp_path / "marker"
    with pytest.raises(NotPlainData, match="must be plain data"):
        evaluate(text.format(marker=marker))
    assert not marker.exists()


@pytest.mark.parametrize(
    "text",
    ["[0] * 10 ** 9", "[0] * 1000000", "'a' * 1000000", "[[0] * 1000] * 1000000", "(" * 9999, "-" * 99999 + "1", "a"],
    ids=lambda text: text[:20],
)
def test_what_would_fill_the_memory_or_the_stack_is_refused(text: str):
    with pytest.raises(NotPlainData):
        evaluate(text)


@pytest.mark.parametrize("value", [True, None, 3, [1], b"[1]", compile("1", "", "eval")])
def test_what_is_no_text_is_a_type_error_as_with_eval(value: object):
    with pytest.raises(TypeError):
        evaluate(value)

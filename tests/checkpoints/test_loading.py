"""What `--model-overrides` may be."""

import pytest

from fairseq_rope.checkpoints.loading import parse_overrides
from fairseq_rope_data.errors import UserError


@pytest.mark.parametrize("text", ["x=", "[]", "{[]: 1}", "{{}}", "{1: 2}", "{" + "-" * 100_000 + "1}"])
def test_overrides_that_are_no_dictionary_of_options_are_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"^--model-overrides must be a Python dictionary of options, but is "):
        parse_overrides(text)


def test_overrides_are_read_as_python_writes_them() -> None:
    assert parse_overrides("{'rope_scaling': 'ntk', \"dropout\": 0.1}") == {"rope_scaling": "ntk", "dropout": 0.1}

"""The position methods that are there to compare with learn copy and reverse, as rotation does."""

import pytest

from fairseq_rope.models._positions import POSITION_METHODS
from tests.models.test_learns import exact_matches, train

METHODS = [name for name in POSITION_METHODS if name not in ("rope", "none")]


@pytest.mark.parametrize("method", METHODS)
def test_most_held_out_strings_are_right(method: str):
    model = train("transformer_rope", position_method=method)
    assert min(exact_matches(model).values()) > 0.8  # without positions 0.11

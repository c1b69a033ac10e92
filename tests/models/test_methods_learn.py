"""The position methods that are there to compare with learn copy and reverse, as rotation does."""

import pytest

from fairseq_rope.models._positions import POSITION_METHODS
from tests.models.test_learns import TASKS, exact_matches, train

METHODS = [name for name in POSITION_METHODS if name not in ("rope", "none")]


@pytest.mark.parametrize("transform", TASKS.values(), ids=TASKS)
@pytest.mark.parametrize("method", METHODS)
def test_most_held_out_strings_are_right(method, transform):
    assert exact_matches(train("transformer_rope", transform, position_method=method), transform) > 0.8  # none: 0.1

"""How threads are shared out among batches."""

import pytest

from fairseq_rope.export.ctranslate2.package import share_threads


@pytest.mark.parametrize(
    ("given", "cores", "batches", "expected"),
    [
        ((None, None), 4, 99, (4, 1)),
        ((None, None), 4, 1, (1, 4)),
        ((None, None), 7, 2, (2, 3)),
        ((None, None), 1, 99, (1, 1)),
        ((2, None), 8, 99, (2, 4)),
        ((9, None), 4, 99, (9, 1)),
        ((None, 3), 8, 99, (2, 3)),
        ((None, 9), 8, 99, (1, 9)),
        ((5, 6), 8, 1, (5, 6)),
    ],
)
def test_batches_get_a_core_each_and_fewer_batches_get_more(
    given: tuple[int | None, int | None], cores: int, batches: int, expected: tuple[int, int]
) -> None:
    assert share_threads(*given, cores=cores, batches=batches) == expected

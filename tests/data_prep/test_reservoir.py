"""reservoir: an even sample of a stream, the same each time."""

from fairseq_rope_data.reservoir import Reservoir


def sample(size: int, count: int) -> list[int]:
    reservoir = Reservoir[int](size)
    for item in range(count):
        reservoir.add(item)
    assert reservoir.count == count
    return reservoir.items


def test_a_short_stream_is_kept_whole_and_in_its_order() -> None:
    assert sample(7, 5) == [0, 1, 2, 3, 4] and sample(5, 5) == [0, 1, 2, 3, 4]


def test_each_part_of_a_long_stream_has_its_share() -> None:
    items = sample(2_000, 50_000)
    assert len(set(items)) == len(items) == 2_000
    # five standard deviations of the binomial distribution: 200 of each tenth, give or take 67
    assert all(133 < sum(item // 5_000 == tenth for item in items) < 267 for tenth in range(10))


def test_the_same_stream_gives_the_same_sample() -> None:
    assert sample(20, 1_000) == sample(20, 1_000)

"""The order of pairs: rotating in one layout and reordering is reordering and rotating in the other."""

import pytest
import torch

from fairseq_rope.models._options import rotary_embedding
from fairseq_rope.modules.positions.layouts import LAYOUTS, pair_order


@pytest.mark.parametrize("fraction", [1.0, 0.5, 0.25])
@pytest.mark.parametrize(("source", "target"), [("interleaved", "half"), ("half", "interleaved")])
def test_reordering_changes_the_layout_of_a_rotation(source: str, target: str, fraction: float) -> None:
    x = torch.randn(2, 3, 11, 24, generator=torch.Generator().manual_seed(1))
    rotate = {layout: rotary_embedding(24, base=50.0, fraction=fraction, layout=layout) for layout in LAYOUTS}
    order = pair_order(24, rotate[source].rotary_dim, source=source, target=target)
    torch.testing.assert_close(rotate[target].rotate(x[..., order]), rotate[source].rotate(x)[..., order])
    assert not torch.allclose(rotate[target].rotate(x), rotate[source].rotate(x))


def test_both_ways_are_each_others_inverse_and_the_same_layout_is_no_change() -> None:
    there, back = (pair_order(10, 8, source=a, target=b) for a, b in (("interleaved", "half"), ("half", "interleaved")))
    assert there.tolist() == [0, 2, 4, 6, 1, 3, 5, 7, 8, 9]
    assert there[back].tolist() == back[there].tolist() == list(range(10))
    assert pair_order(10, 8, source="half", target="half").tolist() == list(range(10))

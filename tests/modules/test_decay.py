"""Long-term decay: the values of the paper's figure, slow loops, and what the bound says of the model's own scores."""

import cmath
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairseq_rope.models._options import rotary_embedding
from fairseq_rope.models._scaling import Scaling
from fairseq_rope.modules.positions.decay import decay_bound, mean_cosine, relative_phasors, upward_steps
from fairseq_rope.modules.positions.rotary import RotaryEmbedding
from fairseq_rope.modules.positions.xpos import XPos
from tests.reference import scaled_frequencies
from tests.reference_positions import xpos_stretch
from tests.support.near import ROTATED, near

# at distances 0, 1, 10, 50, 100, 250, 1000 with base 10,000
PAPER = {
    128: [32.5, 31.538, 17.954, 12.629, 10.227, 6.548, 4.471],
    64: [16.5, 15.948, 8.814, 5.733, 7.465, 3.669, 4.090],
    32: [8.5, 8.146, 4.151, 2.737, 4.379, 2.424, 2.246],
}
SETTINGS = {
    "RoFormer's": {},
    "half of each head": dict(fraction=0.5, base=500.0),
    "linear": dict(scaling=Scaling("linear", 3.0)),
    "ntk": dict(scaling=Scaling("ntk", 3.0)),
    "yarn": dict(scaling=Scaling("yarn", 3.0, 50)),
    "yarn of half": dict(scaling=Scaling("yarn", 3.0, 50), fraction=0.5),
    "llama3": dict(scaling=Scaling("llama3", 3.0, 50)),
    "xpos": dict(method=XPos),
}
EACH = pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS)


def rotary(head_dim: int = 16, **options) -> RotaryEmbedding:
    return rotary_embedding(head_dim, **{"base": 10000.0, "fraction": 1.0, "layout": "interleaved", **options})


def phasors(distances, head_dim: int = 16, **options) -> torch.Tensor:
    return relative_phasors(rotary(head_dim, **options), torch.tensor(distances), head_dim=head_dim)


def random(*shape: int, seed: int = 3) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("head_dim", PAPER)
def test_the_bound_has_the_values_of_the_papers_figure(head_dim: int):
    bound = decay_bound(phasors([0, 1, 10, 50, 100, 250, 1000], head_dim))
    assert bound.dtype == torch.float64
    assert [round(value, 3) for value in bound.tolist()] == PAPER[head_dim]


def test_the_bound_rises_at_nearly_every_second_step():
    assert upward_steps(decay_bound(phasors(range(257), 128))) == 115
    assert upward_steps(torch.tensor([3.0, 1.0, 1.0, 2.0, 1.5, 1.6])) == 2


@given(
    distance=st.integers(0, 5000),
    head_dim=st.sampled_from([4, 16, 64]),
    base=st.sampled_from([2.0, 500.0, 10000.0]),
    fraction=st.sampled_from([0.5, 1.0]),
    name=st.sampled_from(["none", "linear", "ntk", "yarn", "llama3"]),
)
@settings(max_examples=60, deadline=None)
def test_bound_and_mean_cosine_are_those_of_a_slow_loop(distance, head_dim, base, fraction, name):
    rotary_dim = int(head_dim * fraction)
    if name == "ntk" and rotary_dim < 4:
        return
    thetas, magnitude = scaled_frequencies(name, rotary_dim, base=base, factor=3.0, length=50)
    each = [magnitude**2 * cmath.exp(1j * distance * theta) for theta in thetas]
    each += [1] * ((head_dim - rotary_dim) // 2)  # what does not rotate
    bound = sum(abs(sum(each[:j])) for j in range(1, len(each) + 1)) / (head_dim / 2)
    scaling = Scaling(name, 3.0, 50) if name != "none" else Scaling()
    found = phasors([distance], head_dim, base=base, fraction=fraction, scaling=scaling)
    assert decay_bound(found).item() == pytest.approx(bound, abs=1e-9)
    assert mean_cosine(found).item() == pytest.approx(sum(z.real for z in map(complex, each)) / len(each), abs=1e-9)


@pytest.mark.parametrize("options", [dict(base=2.0), dict(base=500.0, fraction=0.5), SETTINGS["llama3"]])
def test_at_distance_0_they_are_largest_and_both_directions_are_alike(options):
    found = phasors(range(-300, 301), 64, **options)
    bound, cosine = decay_bound(found), mean_cosine(found)
    assert bound[300] == (64 / 2 + 1) / 2 and cosine[300] == 1
    assert (bound <= bound[300]).all() and (cosine.abs() <= 1).all()
    near(bound, bound.flip(0))
    near(cosine, cosine.flip(0))


def test_the_magnitude_of_yarn_counts_for_query_and_key():
    magnitude = 0.1 * math.log(3) + 1
    found = phasors([0], 64, **SETTINGS["yarn"])
    assert decay_bound(found).item() == pytest.approx(16.5 * magnitude**2)
    assert mean_cosine(found).item() == pytest.approx(magnitude**2)


def score(method: RotaryEmbedding, q: torch.Tensor, k: torch.Tensor, distance: int) -> torch.Tensor:
    """q k of each pair of vectors (N, 16), all at one distance, by the model's rotation."""
    # (2, N, 1, 1, D): a sentence of one token each
    queries, keys = (torch.stack((x, x))[:, :, None, None].clone() for x in (q, k))
    method.rotate_(queries, offset=distance)
    method.rotate_(keys)
    return (queries[0] * keys[1]).sum(dim=-1).flatten()


@EACH
@pytest.mark.parametrize("distance", [0, 1, 7, 40])
def test_the_mean_cosine_is_the_score_of_equal_query_and_key_by_the_models_rotation(options, distance):
    ones = torch.ones(1, 16, dtype=torch.float64)
    found = score(rotary(**options), ones, ones, distance) / 16
    near(mean_cosine(phasors([distance], **options)), found, 3 * ROTATED[torch.float64])


@EACH
@pytest.mark.parametrize("distance", [0, 1, 9, 120])
def test_no_score_of_the_model_is_above_the_bound(options, distance):
    """|score| <= D/2 B(n) max |h_(i+1) - h_i|, h_i = q_i k_i* of pair i, h_(D/2) = 0 (eq. 36 and 37)."""
    q, k = random(500, 16), random(500, 16, seed=4)
    pairs = [torch.view_as_complex(x.view(500, 8, 2)) for x in (q, k)]
    products = torch.nn.functional.pad(pairs[0] * pairs[1].conj(), (0, 1))
    change = products.diff(dim=-1).abs().amax(dim=-1)
    bound = 8 * decay_bound(phasors([distance], **options))
    assert (score(rotary(**options), q, k, distance).abs() <= change * bound).all()


@EACH
@pytest.mark.parametrize("distance", [0, 1, 9, 120])
def test_one_score_of_the_model_is_the_bound(options, distance):
    """Where each h_(i+1) - h_i has size 1 and the direction that turns its S_(i+1) into -|S_(i+1)|."""
    found = phasors([distance], **options)
    partial = found[0].cumsum(dim=0)
    products = (partial.conj() / partial.abs()).flip(0).cumsum(dim=0).flip(0)
    q, k = torch.view_as_real(products).reshape(1, 16), torch.tensor([1.0, 0.0] * 8, dtype=torch.float64)[None]
    near(score(rotary(**options), q, k, distance), 8 * decay_bound(found), 100 * ROTATED[torch.float64])


def test_xpos_shrinks_each_pair_by_its_own_zeta():
    stretch = xpos_stretch(100, 16, rotary_dim=16, layout="interleaved").diagonal()[::2]
    near(phasors([100], method=XPos).abs()[0], stretch)


def test_heads_that_are_no_pairs_are_refused():
    with pytest.raises(ValueError, match=r"^a head's dimensions must be pairs, but are 9$"):
        relative_phasors(rotary(16, fraction=0.5), torch.tensor([1]), head_dim=9)

"""Frequency schedules: the papers' formulas in slow loops, Hugging Face's functions, limits, distances only."""

import importlib
import math
import sys
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairseq_rope.models._options import rotary_embedding
from fairseq_rope.models._scaling import Scaling, scaled_schedule
from fairseq_rope.modules.positions.frequencies import Frequencies
from tests.reference import scaled_frequencies
from tests.support.near import ROTATED, near

NAMES = ("linear", "ntk", "yarn", "llama3")
NAME = pytest.mark.parametrize("name", NAMES)


def frequencies(name: str, rotary_dim: int, *, base: float = 10000.0, factor: float, length: int = 1) -> Frequencies:
    return scaled_schedule(Scaling(name, factor, length), base=base, rotary_dim=rotary_dim)(rotary_dim)


def rotary(name: str, head_dim: int = 16, *, factor: float = 3.0, length: int = 50, fraction: float = 1.0):
    scaling = Scaling(name, factor, length)
    return rotary_embedding(head_dim, base=10000.0, fraction=fraction, layout="interleaved", scaling=scaling)


def random(*shape: int, seed: int = 3) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@NAME
@given(
    rotary_dim=st.sampled_from([4, 6, 10, 32, 64, 128]),
    base=st.sampled_from([2.0, 500.0, 10000.0, 1e6]),
    factor=st.sampled_from([1.0, 1.5, 2.0, 4.0, 40.0]),
    length=st.sampled_from([7, 20, 50, 100, 128, 1000, 8192]),
)
@settings(max_examples=60, deadline=None)
def test_it_equals_the_papers_formula(name, rotary_dim, base, factor, length):
    theta, magnitude = frequencies(name, rotary_dim, base=base, factor=factor, length=length)
    expected, expected_magnitude = scaled_frequencies(name, rotary_dim, base=base, factor=factor, length=length)
    assert theta.dtype == torch.float64
    torch.testing.assert_close(theta, torch.tensor(expected, dtype=torch.float64), rtol=1e-9, atol=0)
    assert magnitude == pytest.approx(expected_magnitude, abs=1e-12)


@pytest.fixture
def oracle(monkeypatch: pytest.MonkeyPatch):
    """Import Hugging Face's formulas, without torchaudio, whose binary does not load beside every torch."""
    monkeypatch.setitem(sys.modules, "torchaudio", None)
    pytest.importorskip("transformers", reason="the oracle, Hugging Face transformers, is not installed")
    return importlib.import_module("transformers.modeling_rope_utils").ROPE_INIT_FUNCTIONS


@NAME
@pytest.mark.parametrize("factor", [1.0, 2.0, 8.0])
@pytest.mark.parametrize(("head_dim", "base"), [(32, 10000.0), (64, 10000.0), (64, 500000.0)])
@pytest.mark.parametrize("length", [50, 128, 1024, 8192])
def test_it_equals_hugging_faces(oracle, name, factor, head_dim, base, length):
    parameters = dict(rope_theta=base, factor=factor, original_max_position_embeddings=length)
    parameters |= dict(low_freq_factor=1.0, high_freq_factor=4.0)
    config = SimpleNamespace(
        head_dim=head_dim,
        hidden_size=head_dim,
        num_attention_heads=1,
        max_position_embeddings=length,
        rope_parameters=parameters,
        standardize_rope_params=lambda: None,
    )
    kind, options = name, {}
    if name == "ntk":  # its dynamic schedule, whose own factor of 1 leaves base * (s L / L)^(d/(d-2))
        kind, options = "dynamic", dict(seq_len=int(factor * length))
        parameters["factor"] = 1.0
    expected, expected_magnitude = oracle[kind](config, torch.device("cpu"), **options)
    theta, magnitude = frequencies(name, head_dim, base=base, factor=factor, length=length)
    torch.testing.assert_close(theta.float(), expected, rtol=1e-6, atol=0)
    assert magnitude == pytest.approx(expected_magnitude, abs=1e-12)


@NAME
@pytest.mark.parametrize("length", [20, 100, 5000])
def test_a_factor_of_one_changes_nothing(name, length):
    plain = frequencies("none", 64, factor=1.0)
    theta, magnitude = frequencies(name, 64, factor=1.0, length=length)
    torch.testing.assert_close(theta, plain.theta, rtol=1e-15, atol=0)
    assert magnitude == 1


@NAME
@given(m=st.integers(0, 4000), n=st.integers(0, 4000), shift=st.integers(0, 4000))
@settings(max_examples=20, deadline=None)
def test_a_score_depends_on_the_distance_only(name, m, n, shift):
    method, q, k = rotary(name), random(1, 1, 1, 16), random(1, 1, 1, 16, seed=4)
    score, shifted = ((method.rotate(q, offset=m + add) * method.rotate(k, offset=n + add)).sum() for add in (0, shift))
    near(score, shifted, 2 * ROTATED[torch.float64])


def test_positions_within_linear_scaling_are_those_of_the_training():
    """At 3 times the length the angles of positions 0, 3, 6, ... are those that training saw at 0, 1, 2, ..."""
    x = random(1, 1, 1, 16)
    for position in (0, 1, 7, 1000):
        near(rotary("linear").rotate(x, offset=3 * position), rotary("none").rotate(x, offset=position), 1e-6)


def test_ntk_keeps_the_fastest_pair_and_slows_the_slowest_by_the_factor():
    slowdown = frequencies("none", 64, factor=1.0).theta / frequencies("ntk", 64, factor=4.0).theta
    assert slowdown[0] == 1 and slowdown[-1] == pytest.approx(4)
    assert (slowdown.diff() > 0).all()


@pytest.mark.parametrize("name", ["yarn", "llama3"])
def test_pairs_that_turn_often_are_kept_and_those_that_turn_less_than_once_interpolated(name):
    plain, (theta, _) = frequencies("none", 128, factor=1.0).theta, frequencies(name, 128, factor=8.0, length=8192)
    turns = 8192 * plain / (2 * math.pi)
    often = turns > {"yarn": 40, "llama3": 4}[name]
    assert often.sum() > 10 and torch.equal(theta[often], plain[often])
    seldom = turns < 0.8
    assert seldom.sum() > 10
    torch.testing.assert_close(theta[seldom], plain[seldom] / 8, rtol=1e-15, atol=0)
    between = ~often & ~seldom
    assert (theta[between] <= plain[between]).all() and (theta[between] >= plain[between] / 8).all()


def test_at_the_lengths_of_sentences_yarn_keeps_the_first_pair_only():
    """No pair turns 32 times in 100 tokens: the ramp begins at the first pair."""
    slowdown = frequencies("none", 64, factor=1.0).theta / frequencies("yarn", 64, factor=4.0, length=100).theta
    assert slowdown[0] == 1 and (slowdown[:11].diff() > 0).all()
    assert slowdown[10:].tolist() == pytest.approx([4.0] * 22)


@pytest.mark.parametrize("length", [1, 5, 2**31 - 1])
def test_yarn_interpolates_all_but_the_first_pair_below_a_turn_and_none_where_all_turn_often(length):
    slowdown = frequencies("none", 64, factor=1.0).theta / frequencies("yarn", 64, factor=4.0, length=length).theta
    near(slowdown[1:], torch.full((31,), 4.0 if length < 6 else 1.0), 1e-12)


def test_the_magnitude_grows_each_rotated_vector_and_leaves_the_rest():
    method, x = rotary("yarn", fraction=0.5), random(1, 1, 9, 16)
    rotated = method.rotate(x)
    magnitude = 0.1 * math.log(3) + 1
    near(rotated[..., :8].norm(dim=-1), x[..., :8].norm(dim=-1) * magnitude, ROTATED[torch.float64])
    assert torch.equal(rotated[..., 8:], x[..., 8:])


def test_factors_of_any_size_give_frequencies():
    for name in NAMES:
        theta, magnitude = frequencies(name, 64, factor=1e308, length=2**31 - 1)
        assert theta.isfinite().all() and (theta >= 0).all() and math.isfinite(magnitude)


def test_ntk_of_a_single_pair_and_yarn_of_a_base_that_does_not_slow_down_are_refused():
    with pytest.raises(ValueError) as error:
        rotary("ntk", 16, fraction=0.125)
    assert str(error.value) == "--rope-scaling ntk needs a rotary size of at least 4, but it is 2"
    with pytest.raises(ValueError) as error:
        frequencies("yarn", 16, base=1.0, factor=2.0, length=50)
    assert str(error.value) == "--rope-scaling yarn needs a --rope-base above 1, but it is 1.0"

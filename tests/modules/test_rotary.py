"""The rotation: properties of the formula, the float64 matrices, other libraries, precision, bad options."""

import functools
import importlib
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from fairseq_rope.models._options import rotary_embedding
from fairseq_rope.modules.positions.frequencies import Frequencies, inverse_frequencies
from fairseq_rope.modules.positions.layouts import LAYOUTS
from fairseq_rope.modules.positions.rotary import RotaryEmbedding
from tests.reference import rotation_matrix
from tests.support.near import ANGLES, OTHER_ANGLES, ROTATED, near

B, H, T, D = 2, 3, 7, 10
FAR = 4000
NEEDS_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
LAYOUT = pytest.mark.parametrize("layout", LAYOUTS)
DTYPE = pytest.mark.parametrize("dtype", ROTATED, ids=str)
POSITION = st.integers(0, FAR)


def make(head_dim: int = D, *, base: float = 10000.0, fraction: float = 1.0, layout: str = "interleaved"):
    return rotary_embedding(head_dim, base=base, fraction=fraction, layout=layout)


def random(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 3) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(dtype)


def at(rotary: RotaryEmbedding, x: Tensor, position: int) -> Tensor:
    """Rotate the vector `x` (D,) as the token at `position`."""
    return rotary.rotate(x[None, None, None], offset=position)[0, 0, 0]


@LAYOUT
@given(position=POSITION)
@settings(max_examples=20, deadline=None)
def test_the_norm_is_kept(layout, position):
    x = random(B, H, T, D)
    near(make(layout=layout).rotate(x, offset=position).norm(dim=-1), x.norm(dim=-1), ROTATED[torch.float32])


@LAYOUT
@DTYPE
def test_position_zero_is_the_identity(layout, dtype):
    x = random(B, H, 1, D, dtype=dtype)
    assert torch.equal(make(layout=layout).rotate(x), x)


@LAYOUT
@given(a=POSITION, b=POSITION)
@settings(max_examples=20, deadline=None)
def test_rotating_by_a_and_then_by_b_is_rotating_by_their_sum(layout, a, b):
    rotary, x = make(layout=layout), random(D, dtype=torch.float64)
    near(at(rotary, at(rotary, x, a), b), at(rotary, x, a + b), ROTATED[torch.float64])


@LAYOUT
@given(m=POSITION, n=POSITION, shift=POSITION)
@settings(max_examples=20, deadline=None)
def test_a_score_depends_on_the_distance_only(layout, m, n, shift):
    rotary, q, k = make(layout=layout), random(D, dtype=torch.float64), random(D, dtype=torch.float64, seed=4)
    near(
        at(rotary, q, m) @ at(rotary, k, n),
        at(rotary, q, m + shift) @ at(rotary, k, n + shift),
        ROTATED[torch.float64],
    )


def test_a_score_changes_with_the_distance():
    rotary, q, k = make(), random(D), random(D, seed=4)
    scores = torch.stack([at(rotary, q, m) @ at(rotary, k, 5) for m in range(12)])
    assert scores.unique().numel() == 12


@pytest.mark.parametrize("fraction", [1.0, 0.6])
def test_halves_are_permuted_neighbors(fraction):
    x, size = random(B, H, T, D), round(D * fraction)
    order = torch.cat((torch.arange(0, size, 2), torch.arange(1, size, 2), torch.arange(size, D)))
    halves = make(fraction=fraction, layout="half").rotate(x[..., order], offset=11)
    near(halves, make(fraction=fraction).rotate(x, offset=11)[..., order], ROTATED[torch.float32])


@LAYOUT
@DTYPE
@pytest.mark.parametrize("fraction", [1.0, 0.6, 0.2])
def test_it_equals_the_rotation_matrix_of_the_paper(layout, dtype, fraction):
    x, offset, base = random(B, H, T, D, dtype=dtype), 900, 500.0
    rotated = make(base=base, fraction=fraction, layout=layout).rotate(x, offset=offset)
    options = dict(base=base, rotary_dim=round(D * fraction), layout=layout)
    matrices = torch.stack([rotation_matrix(offset + t, D, **options) for t in range(T)])
    near(rotated, (matrices @ x.double().unsqueeze(-1)).squeeze(-1), ROTATED[dtype])
    assert rotated.dtype == dtype
    assert torch.equal(rotated[..., round(D * fraction) :], x[..., round(D * fraction) :])


@pytest.fixture
def oracle(monkeypatch: pytest.MonkeyPatch):
    """Import `transformers.models.<name>`, without torchaudio, whose binary does not load beside every torch."""
    monkeypatch.setitem(sys.modules, "torchaudio", None)
    pytest.importorskip("transformers", reason="the oracle, Hugging Face transformers, is not installed")
    return lambda name: importlib.import_module(f"transformers.models.{name}")


def test_neighbors_equal_hugging_face_roformer(oracle):
    roformer = oracle("roformer.modeling_roformer")
    positions = roformer.RoFormerSinusoidalPositionalEmbedding(FAR, D)
    table = positions.create_weight()  # sines, then cosines
    q, k = random(B, H, FAR, D), random(B, H, FAR, D, seed=4)
    rotate = roformer.RoFormerSelfAttention.apply_rotary_position_embeddings
    expected_q, expected_k = rotate(table[None, None], q, k)
    near(make().rotate(q), expected_q, ROTATED[torch.float32])
    near(make().rotate(k), expected_k, ROTATED[torch.float32])


def test_halves_equal_hugging_face_llama(oracle):
    llama = oracle("llama.modeling_llama")
    config = llama.LlamaConfig(hidden_size=H * D, num_attention_heads=H, max_position_embeddings=FAR)
    q, k = random(B, H, FAR, D), random(B, H, FAR, D, seed=4)
    cos, sin = llama.LlamaRotaryEmbedding(config)(q, torch.arange(FAR)[None])
    expected_q, expected_k = llama.apply_rotary_pos_emb(q, k, cos, sin)
    near(make(layout="half").rotate(q), expected_q, OTHER_ANGLES)
    near(make(layout="half").rotate(k), expected_k, OTHER_ANGLES)


@LAYOUT
@DTYPE
@pytest.mark.parametrize("fraction", [1.0, 0.6])
def test_in_place_it_is_the_same_in_any_memory_and_its_transpose_leads_back(layout, dtype, fraction):
    rotary, x = make(fraction=fraction, layout=layout), random(B, H, T, D, dtype=dtype)
    rotated = rotary.rotate(x, offset=11)
    memory = {
        "transposed": torch.empty(T, H, B, D, dtype=dtype).permute(2, 1, 0, 3),
        "from an odd place": torch.empty(B * H * T * D + 1, dtype=dtype)[1:].view(B, H, T, D),
        "an odd number apart": torch.empty(B, H, T, D + 1, dtype=dtype)[..., :D],
        "two apart": torch.empty(B, H, T, D, 2, dtype=dtype)[..., 0],
    }
    for name, y in memory.items():
        y.copy_(x)
        rotary.rotate_(y, offset=11)
        torch.testing.assert_close(y, rotated, atol=ROTATED[dtype] / 10, rtol=0, msg=name)
        rotary.rotate_(y, offset=11, transpose=True)
        near(y, x, ROTATED[dtype])


@LAYOUT
@pytest.mark.parametrize("fraction", [1.0, 0.6])
def test_the_rotation_can_be_differentiated(layout, fraction):
    rotary, x = make(fraction=fraction, layout=layout), random(B, H, T, D, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: rotary.rotate(x, offset=5), x)
    assert torch.autograd.gradgradcheck(lambda x: rotary.rotate(x, offset=5).pow(3), x)


@LAYOUT
@DTYPE
def test_explicit_positions_equal_the_matrix_at_each_of_them_and_whole_ones_the_offset(layout, dtype):
    rotary, x = make(layout=layout), random(B, H, T, D, dtype=dtype)
    positions = torch.tensor([[0.0, 2.5, 2.5, -3.25, 1000.125, 7.0, 1.0], [6, 5, 4, 3, 2, 1, 0]], dtype=torch.float64)
    matrices = [
        [rotation_matrix(p, D, base=10000.0, rotary_dim=D, layout=layout) for p in row] for row in positions.tolist()
    ]
    # (B, T, D, D) -> (B, 1, T, D, D)
    expected = (torch.stack([torch.stack(row) for row in matrices])[:, None] @ x.double()[..., None])[..., 0]
    near(rotary.rotate(x, positions=positions), expected, ROTATED[dtype])
    in_place = torch.stack((x, x))
    rotary.rotate_(in_place, positions=positions)
    for actual in in_place:
        near(actual, expected, ROTATED[dtype])
    whole = torch.arange(11, 11 + T).expand(B, T)
    near(rotary.rotate(x, positions=whole), rotary.rotate(x, offset=11), ROTATED[dtype] / 10)


def test_the_table_grows_and_old_positions_stay():
    rotary, x = make(), random(B, H, FAR, D)
    early = rotary.rotate(x[:, :, :T])
    late = rotary.rotate(x[:, :, -T:], offset=FAR - T)
    assert torch.equal(rotary.rotate(x[:, :, :T]), early)
    # the ends of a tensor and its middle are rounded differently
    near(rotary.rotate(x)[:, :, :T], early, 1e-6)
    near(rotary.rotate(x)[:, :, -T:], late, 1e-6)


def test_a_table_that_another_thread_replaces_by_a_shorter_one_is_whole_all_the_same():
    class Overtaken(RotaryEmbedding):
        def __setattr__(self, name: str, value: object) -> None:
            # the other thread asked for three positions, and writes just after
            super().__setattr__(name, value[:3] if isinstance(value, Tensor) and name == "_table" else value)

    rotary = Overtaken(D, frequencies=functools.partial(inverse_frequencies, base=10000.0))
    x = random(B, H, T, D)
    assert torch.equal(rotary.rotate(x), make().rotate(x))


@pytest.mark.parametrize("device", ["meta", pytest.param("cuda", marks=NEEDS_CUDA)])
def test_the_table_follows_the_device_there_and_back(device):
    rotary, x = make(), random(B, H, T, D)
    before = rotary.rotate(x)
    assert rotary.rotate(x.to(device)).device.type == device
    assert torch.equal(rotary.rotate(x), before)


def test_another_frequency_schedule_can_be_passed_in():
    def stretched(rotary_dim: int) -> Frequencies:
        return Frequencies(inverse_frequencies(rotary_dim, base=10000.0).theta / 4, magnitude=1.5)

    x = random(B, H, 1, D)
    slow = RotaryEmbedding(D, frequencies=stretched).rotate(x, offset=48)
    near(slow, 1.5 * make().rotate(x, offset=12), ROTATED[torch.float32])


@pytest.mark.parametrize("cast", [nn.Module.half, nn.Module.bfloat16, lambda m: m.half().bfloat16().float()])
def test_angles_are_exact_at_4000_positions_whatever_the_model_is_cast_to(cast):
    rotary = make(64)
    model = nn.Linear(2, 2)
    model.rotary = rotary
    rotary.rotate(random(B, H, T, 64))
    cast(model)
    rotary.rotate(random(B, H, T, 64, dtype=next(model.parameters()).dtype), offset=FAR)
    theta = torch.tensor([10000.0 ** (-2 * i / 64) for i in range(32)], dtype=torch.float64)
    angles = torch.arange(FAR, dtype=torch.float64)[:, None] * theta
    phasors = rotary.table(FAR, torch.device("cpu"))
    near(phasors.real, angles.cos(), ANGLES)
    near(phasors.imag, angles.sin(), ANGLES)
    assert not list(model.buffers())
    assert set(model.state_dict()) == {"weight", "bias"}


PAIRS = "which must be even and above 0, because dimensions rotate in pairs"
BAD_OPTIONS = {
    "fraction 0": (dict(fraction=0), "--rope-fraction must be in (0, 1], but is 0"),
    "fraction below 0": (dict(fraction=-1.0), "--rope-fraction must be in (0, 1], but is -1.0"),
    "fraction above 1": (dict(fraction=1.5), "--rope-fraction must be in (0, 1], but is 1.5"),
    "fraction nan": (dict(fraction=float("nan")), "--rope-fraction must be in (0, 1], but is nan"),
    "odd": (dict(fraction=0.5), f"--rope-fraction 0.5 of the head size 10 gives a rotary size of 5, {PAIRS}"),
    "zero": (dict(fraction=0.01), f"--rope-fraction 0.01 of the head size 10 gives a rotary size of 0, {PAIRS}"),
    "odd head": (dict(head_dim=7), f"--rope-fraction 1.0 of the head size 7 gives a rotary size of 7, {PAIRS}"),
    "base 0": (dict(base=0), "--rope-base must be above 0 and finite, but is 0"),
    "base below 0": (dict(base=-1.0), "--rope-base must be above 0 and finite, but is -1.0"),
    "base infinite": (dict(base=float("inf")), "--rope-base must be above 0 and finite, but is inf"),
    "base nan": (dict(base=float("nan")), "--rope-base must be above 0 and finite, but is nan"),
    "layout": (dict(layout="thirds"), "--rope-layout must be one of interleaved, half, but is 'thirds'"),
}


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_a_bad_option_is_named_with_its_rule_and_value(options, message):
    with pytest.raises(ValueError) as error:
        make(**options)
    assert str(error.value) == message


@pytest.mark.parametrize("size", [-2, 0, 1, 5])
def test_a_rotary_size_that_makes_no_pairs_is_refused(size):
    with pytest.raises(ValueError) as error:
        RotaryEmbedding(size, frequencies=functools.partial(inverse_frequencies, base=10000.0))
    assert str(error.value) == f"the rotary size must be even and above 0, but is {size}"

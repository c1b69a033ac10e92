"""Positions stay exact in half precision: far out, a model cast to it scores as its float32 copy."""

import copy

import pytest
import torch
from fairseq.modules import FairseqDropout
from torch import Tensor, nn

from fairseq_rope.models._positions import POSITION_METHODS
from fairseq_rope.modules import attention_core
from fairseq_rope.modules.attention_core import attend
from fairseq_rope.modules.positions.alibi import ALiBi
from tests.reference_positions import absolute, alibi_slope, t5_bucket
from tests.support.near import HALF, ROTATED, near
from tests.support.small import EOS, WORDS, small

CASTS = {"float16": nn.Module.half, "bfloat16": nn.Module.bfloat16}
LENGTH = 1100
casts = pytest.mark.parametrize("cast", CASTS.values(), ids=CASTS)


def far_logits(model: nn.Module) -> Tensor:
    """The logits of the last of many tokens."""
    generator = torch.Generator().manual_seed(3)
    source, target = (torch.randint(4, WORDS, (1, LENGTH), generator=generator) for _ in range(2))
    target[0, 0] = EOS
    with torch.no_grad():
        return model(source, None, target)[0][0, -50:].float()


@pytest.mark.parametrize("method", POSITION_METHODS)
@casts
def test_a_model_in_half_precision_knows_far_positions(method: str, cast) -> None:
    model = small(position_method=method, max_source_positions=LENGTH, max_target_positions=LENGTH)
    for name, parameter in model.named_parameters():
        if "position_weights" in name:
            nn.init.normal_(parameter.data)
        if "self_attn.q_proj.weight" in name:
            parameter.data *= 3  # attention sharp enough that angles in half precision would show
    half = cast(copy.deepcopy(model))
    # its weights, and positions that were never in half precision
    model.load_state_dict(half.state_dict())
    near(far_logits(half), far_logits(model), HALF)


@casts
def test_alibis_distances_are_exact(cast) -> None:
    method = cast(small(position_method="alibi")).decoder.position_method
    query = cast(nn.Linear(1, 1)).weight.new_zeros(1, 3, 1, 8)
    biases = method.bias(query, num_keys=LENGTH + 1, offset=LENGTH)[0, :, 0]
    for head, of_head in enumerate(biases.double()):
        # a slope is a power of 2: no product is rounded
        expected = [-alibi_slope(head, 3) * (LENGTH - key) for key in range(LENGTH + 1)]
        assert of_head.tolist() == expected


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@torch.no_grad()
def test_alibis_biases_stay_exact_on_their_way_to_the_softmax(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch):
    heads, kernel, biases = 8, attention_core.F.scaled_dot_product_attention, []
    q, k = (torch.zeros(1, heads, length, 16, dtype=dtype) for length in (1, LENGTH))
    bias = ALiBi(heads).bias(q, num_keys=LENGTH, offset=LENGTH - 1)
    options = dict(attn_mask=None, key_padding_mask=None, dropout=FairseqDropout(0.0), position_bias=bias)
    _, weights = attend(q, k, k, **options, need_weights=True)
    exact = bias.double().softmax(dim=-1)
    seen = exact > 1e-4
    # the last rounding alone; rounded biases would be off by 1.6%
    assert (weights.double()[seen] / exact[seen] - 1).abs().max() < torch.finfo(dtype).eps
    monkeypatch.setattr(
        attention_core.F, "scaled_dot_product_attention", lambda *args: (biases.append(args[3]), kernel(*args))[1]
    )
    attend(q, k, k, **options, need_weights=False)
    assert torch.equal(biases[0], bias)


@casts
def test_t5s_buckets_are_exact(cast) -> None:
    method = cast(small(position_method="t5")).decoder.position_method
    table = method.weights["biases"]
    nn.init.normal_(table.data)
    biases = method.bias(table.new_zeros(1, 3, 1, 8), num_keys=LENGTH + 1, offset=LENGTH)[0, :, 0]
    rows = [t5_bucket(key - LENGTH, bidirectional=False) for key in range(LENGTH + 1)]
    assert torch.equal(biases, table[rows].t())


@casts
def test_sinusoids_are_rounded_once(cast) -> None:
    # a table of 1,024 positions, which grows after the cast
    embedding = cast(small(position_method="sinusoidal")).encoder.embed_positions
    rows = embedding(torch.full((1, LENGTH), 5))[0]
    for m in (0, 1, 999, 1023, 1024, LENGTH - 1):
        near(rows[m], absolute(m, rows.size(1), None), ROTATED[rows.dtype])

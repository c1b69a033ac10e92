"""What a position method can do beside rotation: a bias on scores, and something added to values."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from fairseq_rope.models._options import rotary_embedding
from fairseq_rope.modules.attention import SelfAttention
from fairseq_rope.modules.positions.alibi import ALiBi
from fairseq_rope.modules.positions.base import PositionMethod
from fairseq_rope.modules.positions.shaw import ShawLayer
from fairseq_rope.modules.positions.xpos import XPos

T, B, H, D = 6, 3, 2, 4
E = H * D
CAUSAL = torch.ones(T, T).triu(1).bool()
PADDING = torch.arange(T) >= torch.tensor([T, 4, 5])[:, None]


class Distance(PositionMethod):
    """A slope for each head, as ALiBi has, and an embedding of each distance for values, as Shaw et al. have."""

    slopes = torch.tensor([0.5, 0.25], dtype=torch.float64)
    embedding = torch.randn(2 * T, D, dtype=torch.float64, generator=torch.Generator().manual_seed(5))

    def bias(self, q: Tensor, *, num_keys: int, offset: int = 0, positions: Tensor | None = None) -> Tensor:
        distance = self.distances(q.size(2), num_keys, offset)
        return -self.slopes[:, None, None] * distance.abs()

    def added_values(self, *, offset: int = 0, positions: Tensor | None = None) -> Callable[[Tensor], Tensor]:
        def values(weights: Tensor) -> Tensor:
            distance = self.distances(*weights.shape[2:], offset)
            return torch.einsum("bhts,tsd->bhtd", weights, self.embedding[distance + T])

        return values

    @staticmethod
    def distances(queries: int, keys: int, offset: int) -> Tensor:
        return torch.arange(keys) - torch.arange(offset, offset + queries)[:, None]


def make() -> SelfAttention:
    torch.manual_seed(1)
    return SelfAttention(E, H, position_method=Distance()).double().eval()


def slow(attention: SelfAttention, x: Tensor, hidden: Tensor) -> Tensor:
    """Attention as loops over sentences, heads, queries and keys; `hidden` is (B, T, T)."""
    method, output = attention.position_method, torch.zeros(T, B, E, dtype=torch.float64)
    q, k, v = (proj(x).view(T, B, H, D) for proj in (attention.q_proj, attention.k_proj, attention.v_proj))
    for b in range(B):
        for h in range(H):
            for t in range(T):
                seen = [s for s in range(T) if not hidden[b, t, s]]
                scores = [q[t, b, h] @ k[s, b, h] / D**0.5 - method.slopes[h] * abs(s - t) for s in seen]
                weights = torch.stack(scores).softmax(dim=0)
                values = [v[s, b, h] + method.embedding[s - t + T] for s in seen]
                output[t, b, h * D : (h + 1) * D] = sum(w * value for w, value in zip(weights, values, strict=True))
    return attention.out_proj(output)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("padded", [True, False])
def test_a_bias_and_added_values_are_those_of_slow_loops(need_weights: bool, causal: bool, padded: bool):
    attention, x = make(), torch.randn(T, B, E, dtype=torch.float64)
    hidden = torch.zeros(B, T, T).bool() | (CAUSAL if causal else False) | (PADDING[:, None] if padded else False)
    masks = {"attn_mask": CAUSAL if causal else None, "key_padding_mask": PADDING if padded else None}
    actual, _ = attention(x, x, x, need_weights=need_weights, **masks)
    torch.testing.assert_close(actual, slow(attention, x, hidden))


def test_a_bias_alone_is_added_by_the_fused_kernel_too(monkeypatch: pytest.MonkeyPatch):
    attention, x = make(), torch.randn(T, B, E, dtype=torch.float64)
    monkeypatch.setattr(Distance, "added_values", PositionMethod.added_values)
    for attn_mask in (CAUSAL, torch.empty(0), None):
        fused, _ = attention(x, x, x, need_weights=False, attn_mask=attn_mask)
        plain, _ = attention(x, x, x, need_weights=True, attn_mask=attn_mask)
        torch.testing.assert_close(fused, plain)


def test_steps_ask_for_their_own_positions():
    attention, x, state = make(), torch.randn(T, B, E, dtype=torch.float64), {}
    full, _ = attention(x, x, x, attn_mask=CAUSAL)
    steps = [attention(x[t : t + 1], None, None, incremental_state=state)[0] for t in range(T)]
    torch.testing.assert_close(torch.cat(steps), full)


def test_some_queries_alone_may_be_asked_for_where_only_the_rotation_knows_places():
    xpos = XPos(D, frequencies=lambda size: (torch.ones(size // 2), 1.0))
    rotary = rotary_embedding(D, base=100.0, fraction=1.0, layout="interleaved")
    assert PositionMethod().takes_some_queries and rotary.takes_some_queries
    assert not any(method.takes_some_queries for method in (Distance(), ALiBi(H), ShawLayer(D, clip=2), xpos))

"""Another kernel in the place of softmax, with a decoding state of its own."""

import torch
from torch import Tensor

from fairseq_rope.modules.attention import SelfAttention
from fairseq_rope.modules.positions.base import PositionMethod

T, B, H, D = 5, 4, 2, 3
E = H * D


class RunningSum:
    """The sum of the values so far, (B, H, D)."""

    def __init__(self) -> None:
        self.length = 0
        self.total = torch.zeros(1)

    def reorder(self, order: Tensor) -> None:
        self.total = self.total[order]


class MeanKernel:
    """The mean of the values so far, whatever the scores: constant memory."""

    def new_state(self) -> RunningSum:
        return RunningSum()

    def attend(self, projected: Tensor, method: PositionMethod, state: RunningSum | None, **_: object):
        # (T, B, 3, H, D) -> (T, B, H, D)
        values = projected[:, :, 2]
        before = RunningSum() if state is None else state
        totals = values.cumsum(dim=0) + before.total
        counts = before.length + torch.arange(1, len(values) + 1)
        before.total, before.length = totals[-1], int(counts[-1])
        return (totals / counts[:, None, None, None]).permute(1, 2, 0, 3), None


def test_a_kernel_decodes_with_its_own_state_and_follows_the_hypotheses():
    torch.manual_seed(1)
    attention = SelfAttention(E, H, position_method=PositionMethod(), kernel=MeanKernel()).eval()
    x, state, order = torch.randn(T, B, E), {}, torch.tensor([2, 0, 0])
    for t in range(T - 1):
        attention(x[t : t + 1], None, None, incremental_state=state)
    attention.reorder_incremental_state(state, order)
    last, _ = attention(x[-1:, order], None, None, incremental_state=state)
    full, _ = attention(x, x, x)
    torch.testing.assert_close(last[0], full[-1, order])
    values = attention.v_proj(x)
    torch.testing.assert_close(full[-1], attention.out_proj(values.mean(dim=0)))

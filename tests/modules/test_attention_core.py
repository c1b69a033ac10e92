"""Which of torch's kernels attends."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from fairseq.modules import FairseqDropout
from torch import Tensor

from fairseq_rope.modules.attention_core import attend


@pytest.mark.parametrize("chosen", [True, False])
def test_cudnn_is_left_out_on_a_gpu_and_the_users_choice_stays(monkeypatch: pytest.MonkeyPatch, chosen: bool):
    # it would make a plan for every new shape; a device without numbers stands in for a GPU
    product, seen = F.scaled_dot_product_attention, []

    def looked_at(*args: Any, **kwargs: Any) -> Tensor:
        seen.append(torch.backends.cuda.cudnn_sdp_enabled())
        return product(*args, **kwargs)

    monkeypatch.setattr(F, "scaled_dot_product_attention", looked_at)
    q = torch.empty(2, 3, 5, 8, device="meta")
    before = torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(chosen)
    try:
        attend(q, q, q, attn_mask=None, key_padding_mask=None, dropout=FairseqDropout(0.0), need_weights=False)
        assert torch.backends.cuda.cudnn_sdp_enabled() == chosen
    finally:
        torch.backends.cuda.enable_cudnn_sdp(before)
    assert seen == [False]

"""Padding: the bias that hides it, made once for all layers."""

import pytest
import torch
from fairseq.modules import FairseqDropout
from torch import Tensor

from fairseq_rope.modules import padding as padding_module
from fairseq_rope.modules.attention_core import attend
from fairseq_rope.modules.padding import Padding
from tests.support.models import SMALL, build_model, make_task

# the last two of 11 keys, none, the first three, all
MASK = torch.arange(11).expand(4, 11).ge(torch.tensor([9, 11, 11, 0])[:, None])
MASK[2, :3] = True


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_hidden_keys_get_no_attention_and_a_row_without_any_key_is_finite(dtype: torch.dtype):
    probabilities = (torch.randn(4, 2, 5, 11).to(dtype) * 50 + Padding(MASK).bias(dtype)).softmax(dim=-1)
    assert not probabilities[:3].masked_select(MASK[:3, None, None].expand(3, 2, 5, 11)).any()
    assert probabilities.isfinite().all()


def test_it_hides_what_its_mask_hides():
    q, k, v = (torch.randn(4, 2, length, 8, dtype=torch.float64) for length in (5, 11, 11))

    def attended(**bias: Tensor) -> Tensor:
        return attend(
            *(q, k, v),
            attn_mask=None,
            key_padding_mask=Padding(MASK),
            dropout=FairseqDropout(0.0),
            need_weights=False,
            **bias,
        )[0]

    bias = torch.randn(1, 2, 5, 11, dtype=torch.float64)
    for row, keys in enumerate(~MASK[:3]):
        scores = q[row] @ k[row, :, keys].mT / 8**0.5
        torch.testing.assert_close(attended()[row], scores.softmax(dim=-1) @ v[row, :, keys])
        biased = (scores + bias[0, :, :, keys]).softmax(dim=-1) @ v[row, :, keys]
        torch.testing.assert_close(attended(position_bias=bias)[row], biased)


def test_rows_begin_where_kernels_of_a_gpu_want_them():
    assert all(stride % 8 == 0 for stride in Padding(MASK).bias(torch.float16).stride()[:3])


def test_all_layers_of_a_stack_share_one_bias(monkeypatch: pytest.MonkeyPatch):
    hidden, made = padding_module.hidden, []
    monkeypatch.setattr(padding_module, "hidden", lambda dtype: made.append(dtype) or hidden(dtype))
    task = make_task()
    pad, eos = task.source_dictionary.pad(), task.source_dictionary.eos()
    source = torch.tensor([[5, 6, 7, 8, 9, 10, 11, 12, 13, 14, eos], [pad, 6, 7, 8, 9, 10, 11, 12, 13, 14, eos]])
    build_model("transformer_rope", task, **SMALL)(source, torch.tensor([11, 10]), torch.tensor([[eos, 5], [eos, 6]]))
    # the encoder's and the decoder's
    assert len(made) == 2

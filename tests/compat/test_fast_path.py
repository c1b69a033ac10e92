"""Stock models that are loaded and evaluated take batches with padding, on fairseq 0.12.2 too."""

import torch

import fairseq_rope  # noqa: F401  applies the quirks
from tests.support.models import SMALL, build_model
from tests.support.near import LOGITS, near


@torch.no_grad()
def test_a_loaded_stock_model_reads_a_padded_batch_as_its_sentences() -> None:
    stock = build_model("transformer", **SMALL)
    stock.load_state_dict(stock.state_dict())  # after which fairseq 0.12.2 goes by its fast path
    # padding, 1, stands before the shorter sentence
    batch = (torch.tensor([[5, 6, 7, 8, 2], [1, 1, 9, 6, 2]]), torch.tensor([5, 3]), torch.tensor([[2, 9], [2, 7]]))
    alone = (torch.tensor([[9, 6, 2]]), torch.tensor([3]), torch.tensor([[2, 7]]))
    near(stock(*batch)[0][1:], stock(*alone)[0], LOGITS["same weights"])

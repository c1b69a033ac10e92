"""Selected tokens side by side: there and back, and the places where they stood."""

import pytest
import torch

from fairseq_rope.modules.selected_tokens import side_by_side


@pytest.mark.parametrize("share", [0.0, 0.15, 1.0])
@pytest.mark.parametrize("shape", [(4, 20), (1, 1), (3, 0), (0, 5)], ids=str)
def test_selected_tokens_come_to_the_front_of_their_sentence(shape: tuple[int, int], share: float):
    selected = torch.rand(shape, generator=torch.Generator().manual_seed(1)) < share
    x = torch.randn(*shape, 3)
    rows, places = side_by_side(selected)
    sentences = rows.restore(x[selected])
    counts = selected.sum(dim=1)
    assert sentences.shape == (len(selected), counts.max() if selected.numel() else 0, 3)
    for sentence, where, tokens, mask, count in zip(sentences, places, x, selected, counts.tolist(), strict=True):
        assert torch.equal(sentence[:count], tokens[mask]) and not sentence[count:].any()
        assert torch.equal(tokens[where[:count]], tokens[mask])
    assert torch.equal(rows.take(sentences), x[selected])

"""What `from_pretrained` of an encoder returns: fairseq's interface, for every segmentation and for none."""

from typing import Any

import torch
from fairseq import utils
from fairseq.models.roberta import RobertaHubInterface

MASK = "<mask>"


class AsItIs:
    """The segmentation of text that is segmented already."""

    def encode(self, text: str) -> str:
        """Return the text."""
        return text

    def decode(self, text: str) -> str:
        """Return the text."""
        return text


class RoformerHubInterface(RobertaHubInterface):
    """fairseq's interface of RoBERTa."""

    def __init__(self, cfg: Any, task: Any, model: torch.nn.Module):
        super().__init__(cfg, task, model)
        if self.bpe is None:
            self.bpe: Any = AsItIs()

    def fill_mask(self, masked_input: str, topk: int = 5) -> list[tuple[str, float, str]]:
        """Return the likeliest words for a `<mask>`, best first.

        In the place of fairseq's (0.12.2 and main), which glues a word to the one before it unless the segmentation is
        GPT-2's, mixes up the probabilities where `</s>` is among the likeliest, and asks the task for its mask, which
        those of fine-tuned models do not name.

        Args:
            masked_input: text with one `<mask>`.
            topk: how many words.

        Returns: (text, probability, word) for each; special tokens are left out.

        Raises:
            ValueError: there is no `<mask>`, or several.
        """
        parts = [self.bpe.encode(part.strip()) for part in masked_input.split(MASK)]
        if len(parts) != 2:
            raise ValueError(f"the input must have one {MASK}, but is {masked_input!r}")
        words = self.task.source_dictionary
        mask = words.index(MASK)
        pieces = f"<s> {parts[0]} {MASK} {parts[1]} </s>"
        tokens = words.encode_line(pieces, append_eos=False, add_if_not_exist=False)[None].long().to(self.device)
        with utils.model_eval(self.model), torch.no_grad():
            logits, _ = self.model(tokens, masked_tokens=tokens.eq(mask))
        # (1, V) -> (V,)
        probabilities = logits[0].float().softmax(dim=0)
        candidates = probabilities.clone()
        special = [words.bos(), words.pad(), words.eos(), words.unk(), mask]
        candidates[special] = -1
        found = []
        for index in candidates.topk(min(topk, len(words) - len(special))).indices.tolist():
            piece = words[index]
            text = self.bpe.decode(" ".join(part for part in (parts[0], piece, parts[1]) if part))
            found.append((text, probabilities[index].item(), self.bpe.decode(piece)))
        return found

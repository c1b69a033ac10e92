"""The report on the masked tokens of a text: scores as those of a translation, and the sums of each block."""

import dataclasses
import json
import math
from dataclasses import dataclass, field
from typing import Any

from fairseq_rope.scoring.block_sums import BlockSums, accuracy, mean_bits
from fairseq_rope_data.errors import UserError

BEYOND_TABLE = "beyond-table"


@dataclass(frozen=True)
class MaskedReport:
    """What a model makes of masked tokens.

    Args:
        subset: the text.
        length: tokens of a block, as it is read.
        trained_length: those of a block in training.
        signature: how masks were drawn.
        sums: of each block; None where the model cannot read blocks of this length.
        notes: one sentence each.
    """

    subset: str
    length: int
    trained_length: int
    signature: str
    sums: BlockSums | None
    notes: list[str] = field(default_factory=list)

    def scores(self) -> list[dict[str, Any]]:
        """Return bits and accuracy of all masked tokens together.

        Raises:
            UserError: there is no masked token.
        """
        if self.sums is None:
            return []
        whole = self.sums.statistics().sum(axis=0)
        if not whole[0]:
            raise UserError(f"--subset {self.subset} must have words that are masked, but none of its tokens is")
        bits = mean_bits(whole)
        perplexity = 2**bits if bits < 1024 else math.inf
        percent = accuracy(whole)
        texts = {
            "bits": (bits, 3, f"bits = {bits:.3f} (perplexity {perplexity:.2f})"),
            "accuracy": (percent, 2, f"accuracy = {percent:.2f}"),
        }
        return [
            {
                "name": name,
                "value": value,
                "text": text,
                "signature": self.signature,
                "decimals": decimals,
                "lower_is_better": name == "bits",
            }
            for name, (value, decimals, text) in texts.items()
        ]


def masked_text(report: MaskedReport) -> str:
    """Return a report as text for people: a line for each score, and how masks were drawn."""
    lines = [f"{report.subset} in blocks of {report.length} tokens, trained on {report.trained_length}"]
    if report.sums is not None:
        lines[0] += f": {sum(report.sums.tokens):,} masked tokens in {len(report.sums.tokens):,} blocks"
        lines += [*(score["text"] for score in report.scores()), f"    {report.signature}"]
    return "\n".join(lines + [f"note: {note}" for note in report.notes])


def masked_json(report: MaskedReport) -> str:
    """Return a report as a JSON object on one line, which `report_file.read_report` reads."""
    fields = {
        "scores": report.scores(),
        "subset": report.subset,
        "length": report.length,
        "trained_length": report.trained_length,
        "notes": report.notes,
    }
    if report.sums is not None:
        fields["blocks"] = dataclasses.asdict(report.sums)
    return json.dumps(fields, ensure_ascii=False)


def sums_of(report: dict[str, Any]) -> BlockSums | None:
    """Return the sums of each block of a report that was read, if it has any."""
    return BlockSums(**report["blocks"]) if "blocks" in report else None

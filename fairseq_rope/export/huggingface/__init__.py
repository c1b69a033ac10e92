"""Encoders to and from Hugging Face's RoFormer: `RoFormerForMaskedLM` and `RoFormerForSequenceClassification`."""

from fairseq_rope.export.huggingface.exporter import export_checkpoint
from fairseq_rope.export.huggingface.importer import import_folder

__all__ = ["export_checkpoint", "import_folder"]

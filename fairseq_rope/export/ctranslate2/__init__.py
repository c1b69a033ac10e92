"""Export to CTranslate2, the runtime for translation on CPUs and GPUs."""

from fairseq_rope.export.ctranslate2.exporter import export_checkpoint

__all__ = ["export_checkpoint"]

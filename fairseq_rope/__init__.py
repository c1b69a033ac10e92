"""Rotary position embedding for fairseq's Transformer; what `--user-dir fairseq_rope` imports."""

from fairseq_rope._bf16 import allow_bf16_without_tpu
from fairseq_rope._safe_globals import allow_fairseq_checkpoints
from fairseq_rope.compat.verified_checkpoints import verify_checkpoints
from fairseq_rope.criterions import label_smoothed_cross_entropy_fused as _registered  # noqa: F401
from fairseq_rope.models.translation import TransformerRopeModel

__all__ = ["TransformerRopeModel", "__version__"]
__version__ = "0.1.0"

allow_fairseq_checkpoints()
allow_bf16_without_tpu()
verify_checkpoints()

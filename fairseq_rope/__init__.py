"""Rotary position embedding for fairseq's Transformer; what `--user-dir fairseq_rope` imports."""

from fairseq_rope._bf16 import allow_bf16_without_tpu
from fairseq_rope._safe_globals import allow_fairseq_checkpoints
from fairseq_rope.compat.large_binarized_data import count_bytes_without_limit
from fairseq_rope.compat.numpy_names import keep_old_numpy_names
from fairseq_rope.compat.same_batches import keep_batches_on_resume
from fairseq_rope.criterions import label_smoothed_cross_entropy_fused as _registered  # noqa: F401
from fairseq_rope.models.translation import TransformerRopeModel

__all__ = ["TransformerRopeModel", "__version__"]
__version__ = "0.1.0"

allow_fairseq_checkpoints()
allow_bf16_without_tpu()
count_bytes_without_limit()
keep_old_numpy_names()
keep_batches_on_resume()

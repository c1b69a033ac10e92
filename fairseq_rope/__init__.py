"""Rotary position embedding for fairseq's Transformer; what `--user-dir fairseq_rope` imports."""

from fairseq_rope.compat.openmp import spin_briefly

spin_briefly()  # before torch is imported

from fairseq_rope._bf16 import allow_bf16_without_tpu  # noqa: E402
from fairseq_rope._safe_globals import allow_fairseq_checkpoints  # noqa: E402
from fairseq_rope.compat.checkpoint_options import refuse_code_in_checkpoints  # noqa: E402
from fairseq_rope.compat.fasta_names import quote_fasta_names  # noqa: E402
from fairseq_rope.compat.model_archives import check_archives  # noqa: E402
from fairseq_rope.compat.no_eval import replace_eval  # noqa: E402
from fairseq_rope.criterions import label_smoothed_cross_entropy_fused as _registered  # noqa: E402, F401
from fairseq_rope.models.translation import TransformerRopeModel  # noqa: E402

__all__ = ["TransformerRopeModel", "__version__"]
__version__ = "0.1.0"

allow_fairseq_checkpoints()
allow_bf16_without_tpu()
replace_eval()
refuse_code_in_checkpoints()
quote_fasta_names()
check_archives()

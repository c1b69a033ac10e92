"""Rotary position embedding for fairseq's Transformer; what `--user-dir fairseq_rope` imports."""

import importlib.util
import sys
from pathlib import Path

if importlib.util.find_spec("fairseq_rope_data") is None:  # a clone that is not installed has it beside the package
    sys.path.append(str(Path(__file__).resolve().parents[1] / "data-prep"))

from fairseq_rope.compat.heap import keep_freed_memory
from fairseq_rope.compat.openmp import spin_briefly
from fairseq_rope.compat.product_caches import keep_few_products

# before torch is imported
spin_briefly()
keep_few_products()
keep_freed_memory()

from fairseq_rope.compat.everything import apply_everything  # noqa: E402
from fairseq_rope.criterions import label_smoothed_cross_entropy_fused as _registered  # noqa: E402, F401
from fairseq_rope.models.language import TransformerRopeLanguageModel  # noqa: E402
from fairseq_rope.models.roformer import RoformerModel  # noqa: E402
from fairseq_rope.models.translation import TransformerRopeModel  # noqa: E402
from fairseq_rope.modules.cpu.cross_entropy import replace_cross_entropy  # noqa: E402

__all__ = ["RoformerModel", "TransformerRopeLanguageModel", "TransformerRopeModel", "__version__"]
__version__ = "0.1.0"

apply_everything()
replace_cross_entropy()

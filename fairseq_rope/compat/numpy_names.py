"""Names that numpy 1.24, 2.0 and 2.4 took away, for the modules of fairseq that still use them.

Symptoms, of stock models too: `--num-batch-buckets` ends with "numpy has no attribute 'compat'" or "percentile() got an
unexpected keyword argument 'interpolation'", `--sample-break-mode eos` with the first of these, a conditional random
field (`nacrf_transformer`) with "no attribute 'float'". fairseq 0.12.2 and main; can go when they use the new names.
"""

import types
from typing import Any

import numpy
from fairseq.data import data_utils, language_pair_dataset, token_block_dataset
from fairseq.modules import dynamic_crf_layer


class _OldNames(types.ModuleType):
    """numpy, for the modules of fairseq whose name `np` it is; the process's own numpy stays as it is."""

    int = int
    float = float
    compat = types.SimpleNamespace(long=int)

    def __getattr__(self, name: str) -> Any:
        return getattr(numpy, name)

    @staticmethod
    def percentile(*args: Any, interpolation: str = "linear", **kwargs: Any) -> Any:
        return numpy.percentile(*args, **{"method": interpolation, **kwargs})


def keep_old_numpy_names() -> None:
    """Put the old names into those modules of fairseq."""
    for module in (data_utils, language_pair_dataset, token_block_dataset, dynamic_crf_layer):
        module.np = _OldNames("numpy")

"""Checkpoints of fairseq load with torch's protection on, and a malicious pickle is still refused.

Symptom: "Weights only load failed" for every checkpoint, so that people turn the protection off: since torch 2.6
`torch.load` makes no object of a class that is not named as here, and fairseq names none.
fairseq 0.12.2 and main with torch >= 2.6; can go when fairseq names them. Text that fairseq evaluates later passes:
`no_eval` and `checkpoint_options` are for that.
"""

import argparse
import collections
import typing

import numpy
import torch
from fairseq.distributed.utils import _TensorPlaceholder
from omegaconf import DictConfig, ListConfig, base, nodes

# what a checkpoint holds, then what ranks exchange at the start of a training on several processes
_FAIRSEQ_TYPES: list[typing.Any] = [
    argparse.Namespace,
    _TensorPlaceholder,
    DictConfig,
    ListConfig,
    base.ContainerMetadata,
    base.Metadata,
    *(nodes.AnyNode, nodes.BooleanNode, nodes.EnumNode, nodes.FloatNode, nodes.IntegerNode, nodes.StringNode),
    typing.Any,
    *(bool, int, float, str, list, dict, tuple, set),
    collections.defaultdict,
]
# fairseq keeps the counts of --eval-bleu as arrays among its meters; what an array holds must be trusted by itself
_RECONSTRUCT = numpy.zeros(0).__reduce__()[0]
_ARRAY_TYPES: list[typing.Any] = [
    # numpy 1 and 2 name it by different modules, and read each other's files
    *((_RECONSTRUCT, f"numpy.{core}.multiarray._reconstruct") for core in ("core", "_core")),
    *(numpy.ndarray, numpy.dtype, type(numpy.dtype(numpy.int64)), type(numpy.dtype(numpy.float64))),
]


def allow_fairseq_checkpoints() -> None:
    """Add fairseq's own types to those that `torch.load` trusts in this process."""
    torch.serialization.add_safe_globals([*_FAIRSEQ_TYPES, *_ARRAY_TYPES])

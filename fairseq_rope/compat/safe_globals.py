"""Checkpoints of fairseq load with torch's protection on, and a malicious pickle is still refused.

Symptom: "Weights only load failed" for every checkpoint, so that people turn the protection off: since torch 2.6
`torch.load` makes no object of a class that is not named as here, and fairseq names none.
fairseq 0.12.2 and main with torch >= 2.6; can go when fairseq names them. Text that fairseq evaluates later passes:
`no_eval` and `checkpoint_options` are for that.
"""

import argparse
import collections
import typing

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


def allow_fairseq_checkpoints() -> None:
    """Add fairseq's own types to those that `torch.load` trusts in this process."""
    torch.serialization.add_safe_globals(_FAIRSEQ_TYPES)

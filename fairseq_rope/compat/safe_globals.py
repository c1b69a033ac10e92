"""Lets torch >= 2.6 load what fairseq itself writes, and nothing more.

`torch.load` runs no code from a file unless its classes are named here, so trusted checkpoints load with torch's
protection on and a malicious pickle is still refused. Nobody needs `weights_only=False` or an environment switch.
It lets text through that fairseq evaluates later: `compat/no_eval.py` and `compat/checkpoint_options.py` are for that.
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

"""Long-term decay as numbers: of rotations by their formulas, and of a model's rotations."""

from argparse import Namespace
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
from torch import Tensor

from fairseq_rope.models._options import rotary_embedding
from fairseq_rope.models._scaling import NO_SCALING, Scaling, stack_scaling
from fairseq_rope.modules.positions.decay import decay_bound, mean_cosine, relative_phasors, upward_steps
from fairseq_rope.modules.positions.rotary import RotaryEmbedding
from fairseq_rope_data.errors import UserError

SIDES = ("encoder", "decoder")


@dataclass(frozen=True)
class Rotation:
    """What rotates heads of `head_dim` dimensions, and how a figure names it."""

    title: str
    head_dim: int
    method: RotaryEmbedding


@dataclass(frozen=True)
class Decay:
    """The formulas' values at distances 0 .. N-1, (N,) each, in float64."""

    title: str
    bound: Tensor
    cosine: Tensor

    @property
    def upward_steps(self) -> int:
        """Return how often the bound grows from one distance to the next."""
        return upward_steps(self.bound)


def rotations(
    head_dims: Sequence[int], bases: Sequence[float], fractions: Sequence[float], scaling: Namespace
) -> list[Rotation]:
    """Return all combinations of these settings; where there is a scaling, without and with it.

    Args:
        head_dims: D, each even.
        bases: as `--rope-base`.
        fractions: as `--rope-fraction`.
        scaling: the options of scaling; a pair of them are two scalings.

    Raises:
        UserError: an option breaks its rule.
    """
    try:
        scalings = [NO_SCALING, *(stack_scaling(scaling, side=side) for side in SIDES)]
        found = [
            Rotation(
                rotation_title(head_dim, base=base, fraction=fraction, scaling=each),
                head_dim,
                rotary_embedding(head_dim, base=base, fraction=fraction, layout="interleaved", scaling=each),
            )
            for head_dim, base, fraction, each in product(head_dims, bases, fractions, scalings)
        ]
    except ValueError as error:
        raise UserError(str(error)) from error
    return _without_twins(found)


def rotations_of(model: Any) -> list[Rotation]:
    """Return the rotations of a model's stacks, one where both are the same; none of a model that does not rotate."""
    found = []
    for side in SIDES:
        method = getattr(getattr(model, side), "position_method", None)
        if isinstance(method, RotaryEmbedding):
            options = model.args
            head_dim = getattr(options, f"{side}_embed_dim") // getattr(options, f"{side}_attention_heads")
            title = rotation_title(
                head_dim,
                base=options.rope_base,
                fraction=options.rope_fraction,
                scaling=stack_scaling(options, side=side),
                name="" if type(method) is RotaryEmbedding else f"{options.position_method}, ",
            )
            found.append(Rotation(title, head_dim, method))
    return _without_twins(found)


def rotation_title(head_dim: int, *, base: float, fraction: float, scaling: Scaling, name: str = "") -> str:
    """Return how a table or figure names a rotation: what differs from RoFormer's is said."""
    title = f"{name}d {head_dim}, base {base:.15g}"
    if fraction != 1:
        title += f", fraction {fraction:.15g}"
    return title if scaling.name == "none" else f"{title}, {scaling}"


def decays(found: Iterable[Rotation], limit: int) -> list[Decay]:
    """Return the values of each rotation at distances 0 .. `limit`.

    Raises:
        UserError: a head's dimensions are no pairs.
    """
    values = []
    for rotation in found:
        try:
            phasors = relative_phasors(rotation.method, torch.arange(limit + 1), head_dim=rotation.head_dim)
        except ValueError as error:
            raise UserError(f"--head-dim must be even, but is {rotation.head_dim}") from error
        values.append(Decay(rotation.title, decay_bound(phasors), mean_cosine(phasors)))
    return values


def _without_twins(found: Iterable[Rotation]) -> list[Rotation]:
    # a title has all settings
    return list({rotation.title: rotation for rotation in found}.values())

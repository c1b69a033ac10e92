"""What self-attention looks at, layer by layer, while a model runs; a model that nobody records is left as it is."""

import contextlib
from collections.abc import Iterator
from typing import Any

from fairseq.modules import MultiheadAttention
from torch import Tensor, nn


@contextlib.contextmanager
def recorded_self_attention(stack: nn.Module) -> Iterator[list[Tensor | None]]:
    """Yield a list to which each layer of `stack` appends its probabilities, means over heads, (B, T, S).

    None is of an attention that cannot give them.

    By hooks, within this context only: fairseq's layers throw the probabilities of self-attention away, and ask for
    none. The output stays the same but for rounding, because fused kernels give no probabilities.
    """
    recorded: list[Tensor | None] = []

    def ask(_: nn.Module, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return args, {**options, "need_weights": True}

    def keep(_: nn.Module, __: tuple[Any, ...], output: tuple[Tensor, Tensor | None]) -> None:
        recorded.append(output[1])

    with contextlib.ExitStack() as hooks:
        for module in stack.modules():
            if isinstance(module, MultiheadAttention) and module.self_attention:
                hooks.callback(module.register_forward_pre_hook(ask, with_kwargs=True).remove)
                hooks.callback(module.register_forward_hook(keep).remove)
        yield recorded

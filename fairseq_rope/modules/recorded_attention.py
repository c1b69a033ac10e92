"""What self-attention looks at, layer by layer, while a model runs; a model that nobody records is left as it is."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from fairseq.modules import MultiheadAttention
from torch import Tensor, nn

Summary = TypeVar("Summary")


@contextlib.contextmanager
def recorded_self_attention(stack: nn.Module, summary: Callable[[Tensor], Summary]) -> Iterator[list[Summary | None]]:
    """Yield a list to which each layer of `stack` appends the summary of its heads' probabilities, (H, B, T, S).

    None is of an attention that cannot give them. Of a long text they are large: only the summary is kept.

    By hooks, within this context only: fairseq's layers throw the probabilities of self-attention away, and ask for
    none. The output stays the same but for rounding, because fused kernels give no probabilities.
    """
    recorded: list[Summary | None] = []

    def ask(_: nn.Module, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return args, {**options, "need_weights": True, "need_head_weights": True}

    def keep(_: nn.Module, __: tuple[Any, ...], output: tuple[Tensor, Tensor | None]) -> None:
        recorded.append(None if output[1] is None else summary(output[1]))

    with contextlib.ExitStack() as hooks:
        for module in stack.modules():
            if isinstance(module, MultiheadAttention) and module.self_attention:
                # 0.12.2 and main: leave out torch's own function, of which a stock layer has means over heads only
                hooks.callback(setattr, module, "skip_embed_dim_check", module.skip_embed_dim_check)
                module.skip_embed_dim_check = True
                hooks.callback(module.register_forward_pre_hook(ask, with_kwargs=True).remove)
                hooks.callback(module.register_forward_hook(keep).remove)
        yield recorded

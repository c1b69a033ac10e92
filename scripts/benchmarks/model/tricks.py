"""The package's ways to be fast on a CPU, and how each is switched off alone.

What the package calls them stands in TRICKS and in the functions below it, and nowhere else.
"""

import contextlib
import functools
import os
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

KIND = "tricks"
BOTH = ("train", "generate")
WORKS = (*BOTH, "masked", "finetune")
Note = Callable[[], None]  # called where something is now computed in another way


@dataclass(frozen=True)
class Trick:
    """One way to be fast.

    Args:
        works: those of WORKS that it is for.
        function: what is replaced, below `fairseq_rope`.
        without: returns what stands in its place, made from the function.
        variable: of the environment, in the place of a function; the package sets it, or what it stands for, where the
            user has not.
        default: its value without the package, or one that the package takes for a user's choice.
    """

    works: tuple[str, ...]
    function: str = ""
    without: Callable[[Any, Note], Callable[..., Any]] | None = None
    variable: str = ""
    default: str = ""


def left_out(names: Sequence[str]) -> dict[str, str]:
    """Return which of the tricks cannot be switched off here, with the reason: the user has done it already."""
    reasons = {name: _users_choice(TRICKS[name].variable) for name in names}
    return {name: reason for name, reason in reasons.items() if reason}


def _users_choice(variable: str) -> str:
    """Return in words what the user has set in the place of a trick's variable, nothing where it is the package's."""
    from fairseq_rope.compat import heap, openmp, product_caches

    if variable == _HEAP:
        return "the user has set glibc's allocator here" if heap.is_users_choice() else ""
    ours = openmp.SPIN_COUNT if variable == "GOMP_SPINCOUNT" else product_caches.CAPACITY
    return f"{variable} is not the package's {ours} here" if variable and os.environ.get(variable) != ours else ""


def switchable(names: Sequence[str], work: str) -> list[str]:
    """Return which of the tricks are for `work` and can be switched off here."""
    return [name for name in names if work in TRICKS[name].works and name not in left_out(names)]


def environment(name: str) -> dict[str, str]:
    """Return the settings of a process that is to do without the trick `name`; none where that is empty."""
    trick = TRICKS.get(name)
    return {trick.variable: trick.default} if trick and trick.variable else {}


@contextlib.contextmanager
def without(name: str) -> Iterator[Callable[[], bool]]:
    """Take the trick `name` out of the package while the block runs; nothing where the name is empty.

    Yields: whether anything has been computed in another way so far.
    """
    trick = TRICKS.get(name)
    if not (trick and trick.without):
        yield lambda: True
        return
    changed: set[bool] = set()
    owner, _, attribute = trick.function.rpartition(".")
    holder = pkgutil.resolve_name(f"fairseq_rope.{owner}")
    original = getattr(holder, attribute)
    setattr(holder, attribute, functools.wraps(original)(trick.without(original, lambda: changed.add(True))))
    try:
        yield lambda: bool(changed)
    finally:
        setattr(holder, attribute, original)


def _never(answer: Callable[..., bool], note: Note) -> Callable[..., bool]:
    def no(*args: Any, **options: Any) -> bool:
        if answer(*args, **options):
            note()
        return False

    return no


def _not_done(_: Callable[..., Any], note: Note) -> Callable[..., None]:
    return lambda *_: note()


def _nothing(function: Callable[..., Any], note: Note) -> Callable[..., None]:
    def none(*args: Any) -> None:
        if function(*args) is not None:
            note()

    return none


def _fairseq_criterion(_: Any, note: Note) -> Callable[..., Any]:
    from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion

    def forward(*args: Any, **options: Any) -> Any:
        note()
        return LabelSmoothedCrossEntropyCriterion.forward(*args, **options)

    return forward


def _pure_rotation(_: Any, note: Note) -> Callable[..., Any]:
    def rotate_qkv(projected: Any, method: Any, *, offset: int = 0, positions: Any = None) -> Any:
        note()
        # (T, B, 3, H, D) -> (B, H, T, D) each
        q, k, v = projected.permute(2, 1, 3, 0, 4)
        q, k = (method.rotate(x, offset=offset, positions=positions) for x in (q, k))
        return q, k, v

    return rotate_qkv


def _by_concatenation(append: Callable[..., Any], note: Note) -> Callable[..., Any]:
    import torch

    def concatenate(*args: Any) -> Any:
        note()
        with torch.enable_grad():  # where the cache selects and concatenates, as fairseq does always
            return append(*args)

    return concatenate


def _every_module(_: Any, note: Note) -> Callable[..., None]:
    from fairseq.models import FairseqIncrementalDecoder

    def reorder(*args: Any) -> None:
        note()
        FairseqIncrementalDecoder.reorder_incremental_state_scripting(*args)

    return reorder


def _with_mask(attend: Callable[..., Any], note: Note) -> Callable[..., Any]:
    import torch

    @functools.lru_cache(maxsize=1)
    def causal_mask(length: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        return torch.full((length, length), -torch.inf, dtype=dtype, device=device).triu_(1)

    def masked(q: Any, *args: Any, attn_mask: Any, key_padding_mask: Any, **options: Any) -> Any:
        if attn_mask is not None and attn_mask.numel() == 0:
            if key_padding_mask is None:
                note()
            attn_mask = causal_mask(q.size(2), q.dtype, q.device)
        return attend(q, *args, attn_mask=attn_mask, key_padding_mask=key_padding_mask, **options)

    return masked


_FUSED = "criterions.label_smoothed_cross_entropy_fused.FusedLabelSmoothedCrossEntropyCriterion.forward"
_REORDER = "modules.decoder.Decoder.reorder_incremental_state_scripting"
_HEAP = "GLIBC_TUNABLES"
TRICKS = {
    "onednn": Trick(BOTH, "modules.cpu.linear._is_for_onednn", _never),
    "dropout": Trick(("train", "masked"), "modules.cpu.dropout.Dropout.kept", _nothing),
    "attention-parts": Trick(("train", "masked", "finetune"), "modules.attention_core._kept_in_parts", _nothing),
    "joined-qkv": Trick(BOTH, "modules.cpu.joined.can_join", _never),
    "in-place-rotation": Trick(BOTH, "modules.attention_kernels.rotate_qkv_", _pure_rotation),
    "no-causal-mask": Trick(("train",), "modules.attention_kernels.attend", _with_mask),
    "fused-criterion": Trick(("train",), _FUSED, _fairseq_criterion),
    "cross-entropy": Trick(("masked",), "modules.cpu.cross_entropy._is_for_training", _never),
    "one-pass-adam": Trick(("train",), "compat.adam.can_fuse", _never),
    "sentence-rows": Trick(("generate",), "models.translation.TransformerRopeModel.set_beam_size", _not_done),
    "kv-cache": Trick(("generate",), "modules.kv_cache.KVCache.append", _by_concatenation),
    "attention-reorder": Trick(("generate",), _REORDER, _every_module),
    "packed-weights": Trick(("generate",), "modules.cpu.packing.PackedLinear.product", _nothing),
    "plain-products": Trick(("generate",), "modules.attention_core._is_step", _never),
    "token-rows": Trick(WORKS, "modules.encoder.token_rows", _nothing),
    "unpadding": Trick(("finetune",), "modules.token_rows._is_worth_leaving_out", _never),
    "selected-queries": Trick(("masked", "finetune"), "modules.attention.SelfAttention._takes_some_queries", _never),
    # without effect in itself, but a user's choice: glibc works in its own way
    "kept-heap": Trick(BOTH, variable=_HEAP, default="glibc.malloc.check=0"),
    "spin-count": Trick(BOTH, variable="GOMP_SPINCOUNT", default="300000"),
    "onednn-cache": Trick(BOTH, variable="ONEDNN_PRIMITIVE_CACHE_CAPACITY", default="1024"),
    "ideep-cache": Trick(BOTH, variable="LRU_CACHE_CAPACITY", default="1024"),
}

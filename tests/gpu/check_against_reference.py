"""The rotary model on this machine's GPU, else its CPU, against the tests' float64 reference in every dtype.

`python -m tests.gpu.check_against_reference`, with scripts/, data-prep/ and the repository's root on PYTHONPATH.
"""

import logging
from argparse import Namespace
from typing import Any

import torch
from torch import Tensor

from benchmarks.model.rotation import without_rotation
from fairseq_rope.models._options import rotary_embedding
from fairseq_rope.modules.positions.layouts import LAYOUTS
from fairseq_rope_data.errors import UserError, run
from tests.reference import ReferenceTransformer, rotation_matrix

# dtype -> largest error of a rotated value, and of a logit; values and logits are of the order of 1
TOLERANCES = {torch.float32: (1e-5, 2e-4), torch.float16: (4e-3, 2e-2), torch.bfloat16: (3e-2, 1.5e-1)}
_PAD, _EOS, _WORDS, _HEADS = 1, 2, 60, 4
_SIZES = {"layers": 2, "embed_dim": 64, "ffn_embed_dim": 96, "attention_heads": _HEADS}
# source and target words
_SENTENCES = (((7, 21, 9, 33, 50, 12), (44, 8, 17, 25)), ((19, 40, 6), (30, 31, 55, 9, 12, 41, 27)))


def main() -> None:
    """Print the errors and what they may be.

    Raises:
        UserError: one is larger.
    """
    logging.disable(logging.INFO)  # of fairseq
    device = "cuda" if torch.cuda.is_available() else "cpu"
    print(torch.cuda.get_device_name() if device == "cuda" else "no GPU: on the CPU")
    failed = []
    for layout in LAYOUTS:
        for dtype, limits in TOLERANCES.items():
            model, expected = _model(layout, dtype, device)
            errors = (rotation_error(layout, dtype, device), *(_error(run(model, device), expected) for run in RUNS))
            for name, error, limit in zip(NAMES, errors, (limits[0], limits[1], limits[1]), strict=True):
                print(f"{layout}, {dtype}, {name}: off by {error:.1e}, may be {limit:.1e}")
                # not <=: NaN fails too
                if not error <= limit:
                    failed.append(f"{layout}, {dtype}, {name}")
            with without_rotation(model):
                if _error(whole(model, device), expected) < 2 * limits[1]:
                    failed.append(f"{layout}, {dtype}: a model without rotation would pass")
    if failed:
        raise UserError(f"not the float64 reference: {'; '.join(failed)}")


def rotation_error(layout: str, dtype: torch.dtype, device: str) -> float:
    """Return the largest error of a rotation of 64 dimensions up to position 2,047, where rounded angles would show."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(1, 1, 2048, 64, generator=generator).to(dtype)
    rotated = rotary_embedding(64, base=10000.0, fraction=1.0, layout=layout).rotate(x.to(device))
    places = (0, 1, 100, 1023, 2047)
    matrices = (rotation_matrix(m, 64, base=10000.0, rotary_dim=64, layout=layout) for m in places)
    expected = [matrix @ x[0, 0, m].double() for matrix, m in zip(matrices, places, strict=True)]
    return max(_error(rotated[0, 0, m], line) for line, m in zip(expected, places, strict=True))


def whole(model: Any, device: str) -> Tensor:
    """Return the logits of all target tokens of the padded batch, (tokens, V), in one pass."""
    source, target, _ = _batch(device)
    output, _ = model(source, source.ne(_PAD).sum(1), target)
    return _tokens(output)


def stepwise(model: Any, device: str) -> Tensor:
    """Return the same, token by token with cached keys and values, as a beam search does."""
    source, target, _ = _batch(device)
    encoded = model.encoder(source, source.ne(_PAD).sum(1))
    state: dict[str, Any] = {}
    steps = range(1, target.size(1) + 1)
    outputs = [model.decoder(target[:, :n], encoder_out=encoded, incremental_state=state)[0] for n in steps]
    return _tokens(torch.cat(outputs, dim=1))


RUNS = (whole, stepwise)
NAMES = ("rotation", "logits", "logits step by step")


def _model(layout: str, dtype: torch.dtype, device: str) -> tuple[Any, Tensor]:
    """Return a small model of random weights, and its logits in float64 from the same rounded weights."""
    from fairseq.data import Dictionary
    from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY
    from fairseq.tasks.translation import TranslationConfig, TranslationTask

    dictionary = Dictionary()
    for i in range(_WORDS - dictionary.nspecial):
        dictionary.add_symbol(f"w{i}")
    sizes = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in _SIZES.items()}
    args = Namespace(arch="transformer_rope", rope_layout=layout, share_all_embeddings=True, **sizes)
    ARCH_CONFIG_REGISTRY[args.arch](args)
    torch.manual_seed(1)
    task = TranslationTask(TranslationConfig(), dictionary, dictionary)
    model = ARCH_MODEL_REGISTRY[args.arch].build_model(args, task).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("self_attn.q_proj.weight"):
                # attention of new weights is almost even: positions would hardly matter
                parameter.mul_(6)
    model.to(dtype).requires_grad_(False)
    reference = ReferenceTransformer(model.state_dict(), _HEADS, layout=layout)
    expected = torch.cat([reference.logits([*source, _EOS], [_EOS, *target]) for source, target in _SENTENCES])
    return model.to(device), expected


def _batch(device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return source and target input, padded left and right as fairseq does, (B, S) and (B, T)."""
    from fairseq.data.data_utils import collate_tokens

    sources = [torch.tensor([*source, _EOS]) for source, _ in _SENTENCES]
    targets = [torch.tensor([_EOS, *target]) for _, target in _SENTENCES]
    source, target = collate_tokens(sources, _PAD, left_pad=True), collate_tokens(targets, _PAD)
    return source.to(device), target.to(device), target.ne(_PAD)


def _tokens(output: Tensor) -> Tensor:
    # (B, T, V) -> (tokens, V)
    return output.cpu()[_batch("cpu")[2]]


def _error(actual: Tensor, expected: Tensor) -> float:
    return float((actual.cpu().double() - expected).abs().max())


if __name__ == "__main__":
    run("check_against_reference", main)

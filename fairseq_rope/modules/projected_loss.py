"""Label-smoothed cross entropy (Szegedy et al., arXiv 1512.00567, section 7) without a tensor of all logits."""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fairseq_rope.modules.cpu import route
from fairseq_rope.modules.cpu.linear import linear
from fairseq_rope.modules.cpu.thresholds import MAX_GRADIENT_WORDS, MAX_LOGITS
from fairseq_rope.modules.first_derivative import first_derivative_only

# logits that are there at once; their log-probabilities in float32 take 1 GiB on a GPU
_MAX_LOGITS = {"cpu": MAX_LOGITS, "cuda": 2**28}
_MAX_LOGITS_ELSEWHERE = 2**26
# what a gradient in float16 is multiplied by on its way through a product, lest small probabilities vanish
_FLOAT16_SCALE = 1024.0


class ProjectedLoss(NamedTuple):
    """How far a model's features are from the tokens that should follow."""

    loss: Tensor  # of all tokens together, a scalar; the only one with a gradient
    losses: Tensor  # of each token, (N,)
    nll: Tensor  # negative log-likelihood of each token in nats, (N,)
    correct: Tensor  # whether no token is likelier than the target, (N,)


def projected_loss(
    features: Tensor, weight: Tensor, target: Tensor, *, epsilon: float, padding_idx: int
) -> ProjectedLoss:
    """Project features to the vocabulary and compare with the target, a part of the tokens at a time.

    The loss of a token is (1 - epsilon - e) nll + e (sum of nll over the vocabulary) with e = epsilon / (V - 1), as in
    fairseq's `label_smoothed_nll_loss`. Its gradient in the logits is softmax - e - (1 - epsilon - e) onehot, and
    while a part's logits are there both products of the backward pass are made too: as many products as with all
    logits in memory. What all words have in common in that gradient, -e, is added to the products. The gradient can be
    taken once.

    Args:
        features: (N, E), any float type.
        weight: the output projection, (V, E), of the same type.
        target: (N,), indices below V.
        epsilon: label smoothing, in [0, 1).
        padding_idx: the target where nothing is to be predicted; loss and gradient are 0 there.

    Returns: losses in float32 (float64 for float64).
    """
    if not torch.is_grad_enabled():
        # within an autograd function weights look as if gradients were wanted, and their products would be made
        features, weight = features.detach(), weight.detach()
    return ProjectedLoss(*_ProjectedLoss.apply(features, weight, target, epsilon, padding_idx))


class _ProjectedLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, target: Tensor, epsilon: float, padding_idx: int
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        wide = torch.promote_types(features.dtype, torch.float32)
        smooth = epsilon / (weight.size(0) - 1)
        certain = 1 - epsilon - smooth
        scale = _FLOAT16_SCALE if features.dtype == torch.float16 else 1.0
        needs_features, needs_weight = ctx.needs_input_grad[:2]
        training = needs_features or needs_weight
        padding = target == padding_idx
        # a row of zeros takes no part in the weight's gradient
        features = features.masked_fill(padding[:, None], 0)
        # what all words have in common is added to the products, (E,), with no pass over all logits
        weight_sum = weight.sum(dim=0, dtype=wide)
        common = (-smooth * scale * weight_sum).to(weight.dtype)
        grad_features = torch.empty_like(features) if needs_features else None
        grad_weight = (-smooth * features.sum(dim=0, dtype=wide)).repeat(weight.size(0), 1) if needs_weight else None
        losses, nll = (features.new_empty(features.size(0), dtype=wide) for _ in range(2))
        correct = torch.empty_like(padding)
        part = max(1, _MAX_LOGITS.get(features.device.type, _MAX_LOGITS_ELSEWHERE) // weight.size(0))
        for start in range(0, features.size(0), part):
            rows = slice(start, start + part)
            x, wanted = features[rows], target[rows, None]
            # (n, E), (V, E) -> (n, V)
            logits = linear(x, weight, None, work=route.FORWARD if training else None)
            wanted_logits = logits.gather(1, wanted)
            # not max: on the CPU its indices cost five times as much
            correct[rows] = (wanted_logits == logits.amax(dim=1, keepdim=True))[:, 0]
            log_probabilities = logits.log_softmax(dim=1, dtype=wide)
            wanted_log_probabilities = log_probabilities.gather(1, wanted)
            nll[rows] = -wanted_log_probabilities[:, 0]
            # the normalizer times V, less all logits: (n, E), (E,) -> (n,)
            # no product of matrices: autocast makes those in half precision, which all logits together overflow
            all_nll = weight.size(0) * (nll[rows] + wanted_logits[:, 0]) - (x.to(wide) * weight_sum).sum(dim=1)
            losses[rows] = certain * nll[rows] + smooth * all_nll
            if not training:
                continue
            # the softmax, then the gradient but for what all words have in common, in the logits' own memory
            if scale != 1:
                log_probabilities.add_(math.log(scale))
            wanted_grad = (wanted_log_probabilities.exp() - certain) * scale
            grad = torch.exp(log_probabilities, out=logits).scatter_(1, wanted, wanted_grad.to(logits.dtype))
            if grad_features is not None:
                grad_features[rows] = linear(grad, weight.T, common, work=route.INPUT_GRADIENT) / scale
            if grad_weight is not None:
                _add_products(grad_weight, grad, x, factor=1 / scale)
        for result in (losses, nll, correct):
            result.masked_fill_(padding, 0)
        if grad_features is not None:
            grad_features.masked_fill_(padding[:, None], 0)
        ctx.save_for_backward(grad_features, None if grad_weight is None else grad_weight.to(weight.dtype))
        ctx.mark_non_differentiable(losses, nll, correct)
        return losses.sum(), losses, nll, correct

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, grad_loss: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        grad_features, grad_weight = ctx.saved_tensors
        return (
            None if grad_features is None else grad_features.mul_(grad_loss),
            None if grad_weight is None else grad_weight.mul_(grad_loss),
            *(None, None, None),
        )


def _add_products(total: Tensor, grad: Tensor, x: Tensor, *, factor: float) -> None:
    """Add `factor` grad^T x to `total`: (n, V), (n, E) -> (V, E)."""
    at_once = MAX_GRADIENT_WORDS if grad.device.type == "cpu" else grad.size(1)
    for start in range(0, grad.size(1), at_once):
        words = slice(start, start + at_once)
        total[words].add_(linear(grad[:, words].T, x.T, None, work=route.WEIGHT_GRADIENT), alpha=factor)

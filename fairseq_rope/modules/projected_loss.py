"""Label-smoothed cross entropy straight from features, without a tensor of all logits."""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from fairseq_rope.modules.cpu.linear import linear
from fairseq_rope.modules.cpu.thresholds import MAX_GRADIENT_WORDS, MAX_LOGITS

# logits that are there at once, in float32: 1 GiB on a GPU
_MAX_LOGITS = {"cpu": MAX_LOGITS, "cuda": 2**28}
# what a half-precision gradient is multiplied by on its way through a product, lest small probabilities vanish
_HALF_SCALE = 1024.0


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
    logits in memory. The gradient can be taken once.

    Args:
        features: (N, E), any float type.
        weight: the output projection, (V, E), of the same type.
        target: (N,), indices below V.
        epsilon: label smoothing, in [0, 1).
        padding_idx: the target where nothing is to be predicted; loss and gradient are 0 there.

    Returns: losses in float32 (float64 for float64).
    """
    return ProjectedLoss(*_ProjectedLoss.apply(features, weight, target, epsilon, padding_idx))


class _ProjectedLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, target: Tensor, epsilon: float, padding_idx: int
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        wide = torch.promote_types(features.dtype, torch.float32)
        smooth = epsilon / (weight.size(0) - 1)
        scale = 1.0 if features.dtype == wide else _HALF_SCALE
        needs_features, needs_weight = ctx.needs_input_grad[:2]
        training = needs_features or needs_weight
        grad_features = torch.empty_like(features) if needs_features else None
        grad_weight = torch.zeros_like(weight, dtype=wide) if needs_weight else None
        losses, nll = (features.new_empty(features.size(0), dtype=wide) for _ in range(2))
        correct = torch.empty_like(target, dtype=torch.bool)
        part = max(1, _MAX_LOGITS.get(features.device.type, 2**26) // weight.size(0))
        for start in range(0, features.size(0), part):
            rows = slice(start, start + part)
            wanted = target[rows, None]
            padding = wanted == padding_idx
            # a row of zeros takes no part in the weight's gradient
            x = features[rows].masked_fill(padding, 0)
            # (n, E), (V, E) -> (n, V)
            logits = linear(x, weight, None, training=training).to(wide)
            largest = logits.amax(dim=1, keepdim=True)  # not max: on the CPU its indices cost five times as much
            wanted_logits, all_logits = logits.gather(1, wanted), logits.sum(dim=1, keepdim=True)
            # (n, V): in the logits' own memory, as all that follows
            exponentials = logits.sub_(largest).exp_()
            total = exponentials.sum(dim=1, keepdim=True)
            normalizer = largest + total.log()
            token_nll = normalizer - wanted_logits
            all_nll = weight.size(0) * normalizer - all_logits
            token_losses = (1 - epsilon - smooth) * token_nll + smooth * all_nll
            nll[rows], losses[rows] = (x.masked_fill(padding, 0).squeeze(1) for x in (token_nll, token_losses))
            correct[rows] = (wanted_logits == largest).masked_fill(padding, False).squeeze(1)
            if not training:
                continue
            # the softmax, then the gradient
            grad = exponentials.div_(total).sub_(smooth)
            grad.scatter_add_(1, wanted, grad.new_full((), epsilon + smooth - 1).expand_as(wanted))
            grad = (grad * scale).to(features.dtype) if scale != 1 else grad
            if grad_features is not None:
                grad_features[rows] = (linear(grad, weight.T, None, training=True) / scale).masked_fill_(padding, 0)
            if grad_weight is not None:
                _add_products(grad_weight, grad, x, factor=1 / scale)
        ctx.save_for_backward(grad_features, None if grad_weight is None else grad_weight.to(weight.dtype))
        ctx.mark_non_differentiable(losses, nll, correct)
        return losses.sum(), losses, nll, correct

    @staticmethod
    @once_differentiable
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
        total[words].add_(linear(grad[:, words].T, x.T, None, training=True), alpha=factor)

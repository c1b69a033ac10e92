"""fairseq's label-smoothed cross entropy, computed with the output projection: the logits are never all in memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fairseq import utils
from fairseq.criterions import register_criterion
from fairseq.criterions.label_smoothed_cross_entropy import (
    LabelSmoothedCrossEntropyCriterion,
    LabelSmoothedCrossEntropyCriterionConfig,
)
from fairseq.distributed import FullyShardedDataParallel
from torch import Tensor, nn

from fairseq_rope.modules.projected_loss import projected_loss

NAME = "label_smoothed_cross_entropy_fused"


# fairseq's own options class: one of ours inside the configuration would break multi-GPU spawn
@register_criterion(NAME, dataclass=LabelSmoothedCrossEntropyCriterionConfig)
class FusedLabelSmoothedCrossEntropyCriterion(LabelSmoothedCrossEntropyCriterion):
    """`label_smoothed_cross_entropy` with the same options, loss, reports and gradient, in less time and memory.

    For models whose decoder ends in a linear `output_projection`, as all Transformers of fairseq do.
    """

    def forward(self, model: Any, sample: dict[str, Any], reduce: bool = True) -> tuple[Tensor, int, dict[str, Any]]:
        """Return the loss of a batch, its sample size and what is to be logged; see fairseq's criterion of the name.

        Args:
            model: its forward takes `features_only`.
            sample: a batch of fairseq's translation task.
            reduce: sum over tokens; else the loss is (N, 1), 0 at padding, and has no gradient.

        Raises:
            ValueError: `--adaptive-softmax-cutoff` or `--quant-noise-scalar`, whose output is no product with a weight,
                or `--ddp-backend fully_sharded`, under which the weight is whole in the model's forward only.
        """
        if isinstance(model, FullyShardedDataParallel):
            raise ValueError(f"--criterion {NAME} cannot be used with --ddp-backend fully_sharded")
        weight = _output_weight(model.decoder)
        with _used_in_forward(weight, model):
            features, _ = model(**sample["net_input"], features_only=True)
        # (B, T, E), (B, T) -> (N, E), (N,)
        features, target = (x[:, self.ignore_prefix_size :].flatten(0, 1) for x in (features, sample["target"]))
        keep = target.ne(self.padding_idx)
        if features.device.type == "cpu":
            # fewer tokens to project; on a GPU the host would have to wait for their number
            features, target = features[keep], target[keep]
        result = projected_loss(features, weight, target, epsilon=self.eps, padding_idx=self.padding_idx)
        loss, nll = result.loss, result.nll.sum()
        if not reduce:
            losses, nll = result.losses, result.nll
            if features.device.type == "cpu":
                losses, nll = (x.new_zeros(keep.shape).masked_scatter_(keep, x) for x in (losses, nll))
            loss, nll = losses[:, None], nll[:, None]
        sample_size = sample["target"].size(0) if self.sentence_avg else sample["ntokens"]
        logging_output = {
            "loss": loss.data,
            "nll_loss": nll.data,
            "ntokens": sample["ntokens"],
            "nsentences": sample["target"].size(0),
            "sample_size": sample_size,
        }
        if self.report_accuracy:
            logging_output["n_correct"] = utils.item(result.correct.sum())
            logging_output["total"] = utils.item(keep.sum())
        return loss, sample_size, logging_output


def _output_weight(decoder: Any) -> Tensor:
    """Return what features are multiplied by, (V, E), where logits are that and nothing else."""
    if getattr(decoder, "adaptive_softmax", None) is not None:
        raise ValueError(f"--criterion {NAME} cannot be used with --adaptive-softmax-cutoff")
    projection = getattr(decoder, "output_projection", None)
    if not isinstance(projection, nn.Linear) or projection.bias is not None:
        raise ValueError(f"--criterion {NAME} needs a linear output projection without bias, but it is {projection}")
    return projection.weight


@contextmanager
def _used_in_forward(weight: Tensor, model: Any) -> Iterator[None]:
    """Show the weight to DDP with `--find-unused-parameters`, which looks at what forward returns for what is used."""
    if not getattr(model, "find_unused_parameters", False):
        yield
        return
    hook = model.decoder.register_forward_hook(
        lambda _, __, output: (output[0], {**(output[1] or {}), "output_weight": weight.view_as(weight)})
    )
    try:
        yield
    finally:
        hook.remove()

"""The fused criterion against fairseq's own, in everything that it gives."""

import pytest
import torch
from fairseq.criterions import CRITERION_REGISTRY
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.distributed import FullyShardedDataParallel
from fairseq.modules.quantization import scalar

from fairseq_rope.criterions.label_smoothed_cross_entropy_fused import FusedLabelSmoothedCrossEntropyCriterion
from fairseq_rope.modules import projected_loss
from fairseq_rope.modules.cpu import linear
from tests.support.models import SMALL, build_model, make_task
from tests.support.near import GRADIENTS, HALF_GRADIENTS, HALF_LOSSES, LOSSES, near
from tests.support.small import TASK, WORDS, sample, small

CRITERIONS = (LabelSmoothedCrossEntropyCriterion, FusedLabelSmoothedCrossEntropyCriterion)
SETTINGS = {
    "smoothed": {},
    "not smoothed": dict(label_smoothing=0.0),
    "by sentence": dict(sentence_avg=True),
    "without a prefix": dict(ignore_prefix_size=2),
    "with accuracy": dict(report_accuracy=True),
}
MODELS = {
    "all embeddings shared": {},
    "nothing shared": dict(share_all_embeddings=False),
    "projected output": dict(share_all_embeddings=False, decoder_output_dim=16),
}


def step(criterion_class, model, **settings):
    """Train one step; give loss, sample size, reports and each parameter's gradient."""
    settings = {"sentence_avg": False, "label_smoothing": 0.1, **settings}
    model.zero_grad()
    torch.manual_seed(3)
    loss, size, report = criterion_class(TASK, **settings)(model.train(), sample())
    loss.backward()
    return loss, size, report, {name: x.grad.clone() for name, x in model.named_parameters() if x.grad is not None}


@pytest.fixture(autouse=True)
def as_of_large_models(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(linear, "MIN_ONEDNN_PRODUCTS", 1)
    # three tokens at a time, and their gradient seven words at a time, so that parts divide neither
    monkeypatch.setitem(projected_loss._MAX_LOGITS, "cpu", 300)
    monkeypatch.setattr(projected_loss, "MAX_GRADIENT_WORDS", 7)


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_loss_reports_and_gradient_are_fairseqs(settings, options):
    model = small(**options)
    (loss, size, report, grads), (our_loss, our_size, our_report, our_grads) = (
        step(criterion, model, **settings) for criterion in CRITERIONS
    )
    near(our_loss, loss, LOSSES["sum"])
    assert our_size == size and set(our_report) == set(report)
    for name, value in report.items():
        near(torch.as_tensor(our_report[name]), torch.as_tensor(value), LOSSES["sum"])
    assert set(our_grads) == set(grads)
    for name, grad in grads.items():
        near(our_grads[name], grad, GRADIENTS["model"])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_gradients_are_as_near_to_those_of_float32_as_fairseqs(dtype):
    model = small(dropout=0.0)
    exact = step(LabelSmoothedCrossEntropyCriterion, model)[3]
    stock, ours = (step(criterion, model.to(dtype))[3] for criterion in CRITERIONS)
    for name, grad in exact.items():
        error, our_error = (
            (grads[name].float() - grad).norm() / grad.norm().clamp(min=1e-3) for grads in (stock, ours)
        )
        assert our_error <= max(1.5 * error, HALF_GRADIENTS[dtype]), name


@pytest.mark.parametrize("smoothing", [0.1, 0.0])
def test_all_logits_together_may_be_beyond_what_float16_holds_under_autocast(smoothing):
    task = make_task(20_000)
    model = build_model("transformer_rope", task, **{**SMALL, "dropout": 0.0, "share_all_embeddings": False})
    with torch.no_grad():  # what all logits have in common changes no loss
        model.decoder.layers[-1].final_layer_norm.bias[0] = 1.0
        model.decoder.output_projection.weight[:, 0] -= 8
    with torch.autocast("cpu", torch.float16):
        stock, ours = (criterion(task, False, smoothing)(model, sample())[0] for criterion in CRITERIONS)
    near(ours, stock, HALF_LOSSES)


@torch.no_grad()
def test_validation_makes_no_products_of_a_backward_pass(monkeypatch: pytest.MonkeyPatch):
    products, product = [], projected_loss.linear
    monkeypatch.setattr(
        projected_loss, "linear", lambda *args, **options: products.append(1) or product(*args, **options)
    )
    model, batch = small().eval(), sample()
    FusedLabelSmoothedCrossEntropyCriterion(TASK, False, 0.1)(model, batch)
    assert len(products) == -(-batch["ntokens"] // (300 // WORDS))  # a part has three tokens


def test_unreduced_losses_are_fairseqs():
    model = small()
    results = [criterion(TASK, False, 0.1)(model, sample(), reduce=False) for criterion in CRITERIONS]
    near(results[1][0], results[0][0], LOSSES["sum"])
    near(results[1][2]["nll_loss"], results[0][2]["nll_loss"], LOSSES["sum"])


def test_frozen_embeddings_get_no_gradient_and_the_rest_does():
    model = small(share_all_embeddings=False)
    model.decoder.output_projection.weight.requires_grad = False
    stock, ours = (step(criterion, model)[3] for criterion in CRITERIONS)
    assert set(stock) == set(ours)
    for name, grad in stock.items():
        near(ours[name], grad, GRADIENTS["model"])


def test_padding_that_is_not_taken_out_counts_for_nothing():
    # as on a GPU
    torch.manual_seed(1)
    features, weight, target = torch.randn(7, 5), torch.randn(11, 5), torch.tensor([3, 1, 4, 1, 5, 9, 1])
    keep = target.ne(1)
    results = []
    for x, wanted in ((features, target), (features[keep], target[keep])):
        x, w = x.clone().requires_grad_(), weight.clone().requires_grad_()
        result = projected_loss.projected_loss(x, w, wanted, epsilon=0.1, padding_idx=1)
        result.loss.backward()
        results.append((result, x.grad, w.grad))
    (padded, padded_grad, padded_weight), (kept, grad, weight_grad) = results
    near(padded.losses[keep], kept.losses, 1e-6)
    near(padded_grad[keep], grad, 1e-6)
    near(padded_weight, weight_grad, 1e-6)
    for x in (padded.losses[~keep], padded.nll[~keep], padded_grad[~keep], padded.correct[~keep].float()):
        assert x.eq(0).all()


def test_an_adaptive_softmax_is_refused():
    model = small(share_all_embeddings=False, adaptive_softmax_cutoff="20,50")
    with pytest.raises(ValueError, match="cannot be used with --adaptive-softmax-cutoff"):
        FusedLabelSmoothedCrossEntropyCriterion(TASK, False, 0.1)(model, sample())


@pytest.mark.parametrize(
    "projection",
    [None, torch.nn.Linear(24, 90), scalar.modules.IntLinear(24, 90, bias=False)],
    ids=["none", "biased", "quantized"],
)
def test_an_output_that_is_more_than_a_product_is_refused(projection):
    model = small(share_all_embeddings=False)
    model.decoder.output_projection = projection
    with pytest.raises(ValueError) as error:
        FusedLabelSmoothedCrossEntropyCriterion(TASK, False, 0.1)(model, sample())
    rule = "--criterion label_smoothed_cross_entropy_fused needs a linear output projection without bias"
    assert str(error.value) == f"{rule}, but it is {projection}"


def test_a_sharded_model_is_refused():
    model = FullyShardedDataParallel.__new__(FullyShardedDataParallel)  # its __init__ wants fairscale and a GPU
    with pytest.raises(ValueError, match="cannot be used with --ddp-backend fully_sharded"):
        FusedLabelSmoothedCrossEntropyCriterion(TASK, False, 0.1)(model, sample())


def test_it_is_registered():
    assert CRITERION_REGISTRY["label_smoothed_cross_entropy_fused"] is FusedLabelSmoothedCrossEntropyCriterion

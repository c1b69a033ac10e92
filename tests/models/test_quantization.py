"""fairseq's quantization of a rotary model replaces what it replaces in a stock one, and computes the same."""

from argparse import Namespace

import pytest
import torch
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.modules import MultiheadAttention
from fairseq.modules.quantization import pq
from fairseq.quantization_utils import quantize_model_scalar
from torch import Tensor

from benchmarks.model.rotation import without_rotation
from tests.support.models import SMALL
from tests.support.near import GRADIENTS, LOSSES, near
from tests.support.small import TASK, sample, small, stock

# without padding: what stands there reaches no token but counts for the range that activations are quantized in
BATCH = dict(
    net_input=dict(
        src_tokens=torch.arange(4, 40).view(4, 9),
        src_lengths=torch.full((4,), 9),
        prev_output_tokens=torch.arange(5, 33).view(4, 7),
    ),
    target=torch.arange(6, 34).view(4, 7),
    ntokens=28,
)
# not the encoder: the names of fairseq 0.12.2's copies of its weights begin as those of its layers
PQ_LAYERS = r"decoder\.layers\.\d+\.(fc[12]|(self_attn|encoder_attn)\.(q_proj|k_proj|v_proj|out_proj))"


def scalar_(model) -> None:
    # noise everywhere, so that nothing is random
    quantize_model_scalar(model, Namespace(quant_noise_scalar=1.0))


def product_(model) -> None:
    torch.manual_seed(1)
    sizes, centroids = {"Linear": ("fuzzy_name", {"*": 4})}, {"Linear": ("in_features", {"*": 5})}
    pq.quantize_model_(model, pq.SizeTracker(model), [PQ_LAYERS], sizes, centroids, n_iter=3, verbose=False)


def results(model) -> tuple[Tensor, dict[str, Tensor]]:
    """Train a step and give its loss and gradients."""
    for module in model.modules():
        if isinstance(module, MultiheadAttention):
            # stock attention leaves layers out that quantization replaced, unless it is told to call them
            module.skip_embed_dim_check = True
    loss, *_ = LabelSmoothedCrossEntropyCriterion(TASK, False, 0.1)(model.train(), BATCH)
    loss.backward()
    return loss.detach(), {name: x.grad for name, x in model.named_parameters() if x.grad is not None}


@pytest.mark.parametrize("quantize", [scalar_, product_])
@pytest.mark.parametrize("options", [{}, dict(share_all_embeddings=False)], ids=["shared", "not shared"])
def test_layers_loss_and_gradients_are_those_of_stock(monkeypatch: pytest.MonkeyPatch, quantize, options):
    monkeypatch.setattr(Tensor, "cuda", lambda x: x)  # where fairseq asks for a GPU, needed or not
    # in float64, lest rounding decide what is clipped
    ours, theirs = small(dropout=0.0, **options).double(), stock(dropout=0.0, **options).double()
    theirs.load_state_dict(ours.state_dict(), strict=False)  # 0.12.2 has copies of its own
    classes = []
    for model in (ours, theirs):
        before = {name: type(module) for name, module in model.named_modules()}
        quantize(model)
        after = {name: type(module) for name, module in model.named_modules()}
        classes.append({name: after[name] for name in before if after.get(name) is not before[name]})
    assert classes[0] == classes[1] and len(classes[0]) >= 30
    with without_rotation(ours):
        (loss, grads), (stock_loss, stock_grads) = results(ours), results(theirs)
    near(loss / stock_loss, torch.ones(()), LOSSES["ratio"])
    for name, grad in stock_grads.items():
        near(grads[name], grad, GRADIENTS["quantized"])


@pytest.mark.parametrize("ffn", [None, "geglu"])
def test_a_model_with_noise_trains_and_decodes(ffn: str | None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Tensor, "cuda", lambda x: x)
    model = TASK.build_model(Namespace(arch="transformer_rope", quant_noise_scalar=0.5, ffn=ffn, **SMALL))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(8):
        model.zero_grad()
        loss, *_ = LabelSmoothedCrossEntropyCriterion(TASK, False, 0.1)(model.train(), sample())
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    assert losses[-1] < 0.9 * losses[0]
    found = TASK.build_generator([model.eval()], Namespace(beam=2)).generate([model], sample())
    assert len(found) == 3 and all(len(hypotheses) == 2 for hypotheses in found)

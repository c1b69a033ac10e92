"""Training never waits for a device: on one that holds no numbers, every look at a number would be an error."""

import pytest
import torch
from fairseq.criterions import CRITERION_REGISTRY

from tests.support.encoders import encoder
from tests.support.models import SMALL, build_model, make_task

TASK = make_task()


def sample() -> dict[str, object]:
    tokens = torch.randint(4, 94, (3, 9), device="meta")
    net_input = {"src_tokens": tokens, "src_lengths": tokens.new_empty(3), "prev_output_tokens": tokens}
    return {"net_input": net_input, "target": tokens, "ntokens": 27}


@pytest.mark.parametrize("padded", ["right", "either side"])
@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_no_number_is_looked_at_forward_and_backward(layout: str, padded: str):
    model = build_model("transformer_rope", TASK, **SMALL, rope_layout=layout).train().to("meta")
    model.decoder.left_pad_target = padded == "either side"
    name = "label_smoothed_cross_entropy_fused"
    criterion = CRITERION_REGISTRY[name](TASK, sentence_avg=False, label_smoothing=0.1)
    loss, *_ = criterion(model, sample())
    loss.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_a_language_model_has_no_mask_beside_causality():
    sizes = {"decoder_layers": 1, "decoder_embed_dim": 32, "tokens_per_sample": 16}
    model = build_model("transformer_lm_rope", TASK, **sizes).train().to("meta")
    masks = []

    def look(module: torch.nn.Module, args: object, options: dict[str, object]) -> None:
        masks.append(options["key_padding_mask"])

    model.decoder.layers[0].self_attn.register_forward_pre_hook(look, with_kwargs=True)
    model(torch.randint(4, 94, (3, 9), device="meta"))[0].sum().backward()
    assert masks == [None]


def test_no_number_is_looked_at_for_a_head_of_classification():
    model = encoder().train().to("meta")
    model.register_classification_head("head", num_classes=3)
    tokens = torch.randint(4, 90, (3, 9), device="meta")
    model.to("meta")(tokens, classification_head_name="head")[0].sum().backward()
    assert model.encoder.sentence_encoder.layers[-1].fc1.weight.grad is not None

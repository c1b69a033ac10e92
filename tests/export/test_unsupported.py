"""What CTranslate2 cannot compute is refused by name, and nothing else is."""

import pytest
import torch
from torch import nn

from fairseq_rope.export.ctranslate2.unsupported import check_supported
from fairseq_rope_data.errors import UserError
from tests.support.small import small

REFUSED = {
    "adaptive softmax": (
        dict(share_all_embeddings=False, adaptive_softmax_cutoff="20,50"),
        "--adaptive-softmax-cutoff cannot be exported to CTranslate2: it has one softmax over all words",
    ),
    "quant-noise": (
        dict(quant_noise_pq=0.3, quant_noise_pq_block_size=4),
        "--quant-noise-pq cannot be exported to CTranslate2: "
        "it has no product between the embedding and the first layer",
    ),
    "no cross-attention": (
        dict(no_cross_attention=True),
        "--no-cross-attention cannot be exported to CTranslate2: its decoder reads the source",
    ),
    "activation": (
        dict(activation_fn="linear"),
        "--activation-fn linear cannot be exported to CTranslate2: "
        "it has relu, gelu, gelu_fast, gelu_accurate, tanh, swish",
    ),
    "xPos": (
        dict(position_method="xpos"),
        "--position-method xpos cannot be exported to CTranslate2: its rotation does not stretch",
    ),
    "positions by sentence": (
        dict(rope_restart_after="w5"),
        "--rope-restart-after cannot be exported to CTranslate2: "
        "it counts positions from the start of the sequence only",
    ),
    "no layers": (dict(decoder_layers=0), "--decoder-layers 0 cannot be exported to CTranslate2: it needs one"),
    "large base": (
        dict(rope_base=1e39),
        "--rope-base 1e+39 cannot be exported to CTranslate2: it keeps the base in float32",
    ),
    "small base": (
        dict(rope_base=1e-50),
        "--rope-base 1e-50 cannot be exported to CTranslate2: it keeps the base in float32",
    ),
    "large factor": (
        dict(rope_scaling="linear,none", rope_scaling_factor=1e39),
        "--rope-scaling-factor 1e+39 cannot be exported to CTranslate2: it keeps the factor in float32",
    ),
    "large factor of ntk": (
        dict(rope_scaling="none,ntk", rope_scaling_factor="1e300"),
        "--rope-scaling-factor 1e300 cannot be exported to CTranslate2: it keeps the base in float32",
    ),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_an_option_that_the_runtime_lacks_is_refused_by_name(options: dict, message: str) -> None:
    with pytest.raises(UserError) as error:
        check_supported(small(**options))
    assert str(error.value) == message


@pytest.mark.parametrize("quantization", ["float16", "bfloat16", "int8_float16", "int8_bfloat16"])
def test_yarn_is_refused_where_its_frequencies_would_be_rounded(quantization: str) -> None:
    model = small(rope_scaling="none,yarn", rope_scaling_factor=2, rope_original_length=50)
    with pytest.raises(UserError) as error:
        check_supported(model, quantization=quantization)
    assert str(error.value) == (
        f"--rope-scaling yarn cannot be exported to CTranslate2 with --quantization {quantization}: "
        "its frequencies would be rounded to 16 bits"
    )
    for good in ("float32", "int16", "int8", "int8_float32"):
        check_supported(model, quantization=good)


@pytest.mark.parametrize(("option", "value"), [("quant_noise_scalar", 0.5), ("base_layers", 1)])
def test_an_option_that_changes_the_modules_is_refused_by_name(option: str, value: float) -> None:
    model = small()
    setattr(model.args, option, value)
    with pytest.raises(UserError, match=f"--{option.replace('_', '-')} cannot be exported"):
        check_supported(model)


def test_a_weight_that_has_no_place_is_refused_by_name() -> None:
    model = small()
    model.decoder.layers[1].ffn_layernorm = nn.LayerNorm(40)
    with pytest.raises(UserError, match=r"it has no place for decoder\.layers\.1\.ffn_layernorm\.weight"):
        check_supported(model)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_weight_that_is_no_number_is_refused_by_name(value: float) -> None:
    model = small()
    model.encoder.layers[1].fc1.bias.data[3] = value
    with pytest.raises(UserError) as error:
        check_supported(model)
    assert str(error.value) == (
        "the model cannot be exported to CTranslate2: 1 of 40 numbers of encoder.layers.1.fc1.bias are NaN or infinite"
    )


def test_of_the_number_that_sinusoids_never_set_nothing_is_asked() -> None:
    model = small(position_method="sinusoidal")
    # fairseq 0.12.2 has it
    model.encoder.embed_positions.register_buffer("_float_tensor", torch.tensor([float("nan")]))
    check_supported(model, quantization="float16")


@pytest.mark.parametrize("quantization", ["float16", "int8_float16"])
def test_a_weight_that_a_float16_cannot_hold_is_refused_by_name(quantization: str) -> None:
    model = small()
    model.encoder.layers[1].fc1.bias.data[3:5] = -1e5
    with pytest.raises(UserError) as error:
        check_supported(model, quantization=quantization)
    assert str(error.value) == (
        f"the model cannot be exported to CTranslate2 with --quantization {quantization}: "
        "2 of 40 numbers of encoder.layers.1.fc1.bias are beyond what float16 holds"
    )
    for good in ("float32", "bfloat16", "int8", "int8_bfloat16"):
        check_supported(model, quantization=good)


def test_other_frequencies_are_refused() -> None:
    model = small()
    model.encoder.position_method.theta = model.encoder.position_method.theta / 2
    with pytest.raises(UserError, match="its frequencies are not those of --rope-base and --rope-scaling"):
        check_supported(model)

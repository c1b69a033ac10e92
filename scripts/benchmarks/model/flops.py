"""Model FLOPs utilization: the share of a machine's peak that training needs, whatever is really computed.

The peak is a GPU's by its data sheet, a CPU's as `product_rate` measures it before each repetition.

A training step needs 6 floating-point operations for each token and parameter of the matrices that the token meets:
2 in the forward pass, 4 in the backward pass. Source tokens meet the encoder and the keys and values of
cross-attention, target tokens the rest of the decoder and the output projection; looking up an embedding costs nothing.
To these come 12 E for every pair of a query and a key that it may see, in each layer. Padding is not counted.
"""

from typing import Any

# dense peak in TFLOP/s by what stands in the GPU's name, of fp16 and bf16 with sums in fp32, and of fp32 without TF32.
# From the makers' data sheets; the first name that fits counts.
PEAKS = {
    "GH200": (989.4, 66.9),
    "H200": (989.4, 66.9),
    "H100 PCIe": (756.0, 51.2),
    "H100 NVL": (835.0, 60.0),
    "H100": (989.4, 66.9),
    "A100": (312.0, 19.5),
    "A10G": (70.0, 35.0),
    "L40S": (362.0, 91.6),
    "L4": (121.0, 30.3),
    "V100": (125.0, 15.7),
    "T4": (65.0, 8.1),
    "RTX 4090": (165.2, 82.6),
    "RTX 3090": (71.0, 35.6),
}


def peak(gpu: str, dtype: str) -> float | None:
    """Return the peak of the GPU named `gpu` in operations a second, or None when it is not known."""
    words = f" {gpu.replace('-', ' ')} "
    for name, (half, single) in PEAKS.items():
        if f" {name} " in words:
            return (single if dtype == "fp32" else half) * 1e12
    return None


def of_training(model: Any, sample: dict[str, Any]) -> float:
    """Return the operations of one training step on `sample`, a batch of fairseq's translation task.

    Args:
        model: an encoder-decoder with the parameter names of fairseq's `transformer`.
        sample: its `src_tokens` (B, S) and `target` (B, T) are padded.
    """
    pad = model.encoder.padding_idx
    # (B,) each: real tokens
    source, target = (x.ne(pad).sum(1).double() for x in (sample["net_input"]["src_tokens"], sample["target"]))
    met_by_source = met_by_target = 0
    for name, parameter in model.named_parameters():
        # fairseq 0.12.2 keeps copies such as fc1_weight
        if parameter.dim() == 2 and ".layers." in name and name.endswith(".weight"):
            of_source = name.startswith("encoder.") or ".encoder_attn.k_" in name or ".encoder_attn.v_" in name
            met_by_source += parameter.numel() * of_source
            met_by_target += parameter.numel() * (not of_source)
    # counted here, because the parameter is often that of the embedding
    met_by_target += model.decoder.output_projection.weight.numel()
    width, layers = model.encoder.layers[0].embed_dim, (len(model.encoder.layers), len(model.decoder.layers))
    pairs = layers[0] * source**2 + layers[1] * (target * (target + 1) / 2 + source * target)
    return float((6 * (met_by_source * source + met_by_target * target) + 12 * width * pairs).sum())


def of_masked_training(model: Any, sample: dict[str, Any]) -> float:
    """Return the operations of one training step on `sample`, a batch of fairseq's masked_lm without padding.

    Args:
        model: with the parameter names of fairseq's `roberta`; its head is for masked tokens alone.
        sample: its `src_tokens` (B, T) and `target`, which is padding but for masked tokens.
    """
    tokens = sample["net_input"]["src_tokens"]
    masked = int(sample["target"].ne(model.encoder.dictionary.pad()).sum())
    layers = model.encoder.sentence_encoder.layers
    of_layers = sum(
        parameter.numel()
        for name, parameter in layers.named_parameters()
        # fairseq 0.12.2 keeps copies such as fc1_weight
        if parameter.dim() == 2 and name.endswith(".weight")
    )
    head = model.encoder.lm_head
    pairs = 12 * layers[0].embed_dim * len(layers) * tokens.size(1)
    return float(
        tokens.numel() * (6 * of_layers + pairs) + 6 * masked * (head.dense.weight.numel() + head.weight.numel())
    )

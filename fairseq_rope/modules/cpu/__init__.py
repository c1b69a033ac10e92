"""Faster ways on a CPU to compute what fairseq's layers compute; `accelerate` puts them into a model."""

from fairseq.models.roberta import RobertaLMHead
from fairseq.models.transformer import TransformerDecoderBase, TransformerEncoderBase
from fairseq.modules import FairseqDropout, MultiheadAttention
from fairseq.modules.quantization.scalar import utils as scalar_quantization
from fairseq.modules.transformer_layer import TransformerDecoderLayerBase, TransformerEncoderLayerBase
from torch import nn

from fairseq_rope.modules.cpu.dropout import Dropout
from fairseq_rope.modules.cpu.linear import Linear

# what --quant-noise-scalar puts in the place of a layer, by the layer's very class
scalar_quantization.MAPPING[Linear] = scalar_quantization.MAPPING[nn.Linear]

# class of a part of the model -> the name that --retain-dropout-modules knows its dropouts by
_PARTS: dict[type, str] = {
    TransformerEncoderBase: "TransformerEncoder",
    TransformerDecoderBase: "TransformerDecoder",
    TransformerEncoderLayerBase: "TransformerEncoderLayerBase",
    TransformerDecoderLayerBase: "TransformerDecoderLayerBase",
    MultiheadAttention: "MultiheadAttention",
    RobertaLMHead: "RobertaLMHead",
}


def accelerate(model: nn.Module) -> None:
    """Swap Linear and Dropout layers for ours, in place: of stacks, layers, attentions and the head of masked tokens.

    Parameters, their names and hooks stay. Other parts, such as an adaptive softmax, keep their layers.
    """
    for module in model.modules():
        name = next((name for kind, name in _PARTS.items() if isinstance(module, kind)), None)
        for child in module.children() if name else ():
            # another class of the same attributes; fairseq's MultiheadAttention has no hook that builds them
            if type(child) is nn.Linear:
                child.__class__ = Linear
            elif isinstance(child, FairseqDropout):
                child.__class__ = Dropout
                child.module_name = name

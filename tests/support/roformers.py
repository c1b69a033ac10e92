"""Tiny encoders of both kinds: checkpoints of `roformer`, folders of Hugging Face, and batches for either."""

import importlib
import json
import random
from argparse import Namespace
from pathlib import Path
from typing import Any

import torch
from fairseq.data import Dictionary
from fairseq.data.data_utils import collate_tokens
from fairseq.models import ARCH_CONFIG_REGISTRY
from torch import Tensor, nn

from fairseq_rope.export.huggingface.config import FIELDS, ModelConfig
from fairseq_rope.export.huggingface.tensors import SAFETENSORS, write_tensors
from fairseq_rope.export.huggingface.weights import DECODER, EMBEDDINGS, POSITIONS, position_table, weights
from fairseq_rope.models.roformer import RoformerModel
from tests.support.checkpoint_files import save

WORDS = [f"w{i}" for i in range(18)]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# vocabularies begin with [PAD], and anything may stand between the others
TOKENS = [SPECIAL[0], *random.Random(3).sample([*WORDS, *SPECIAL[1:]], len(WORDS) + 4)]
SIZES = {
    "vocab_size": len(TOKENS),
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 40,
    "max_position_embeddings": 64,
}
# two sentences with a mask, one sentence, and a longer pair: tokens, padded on the right
SENTENCES = ["[CLS] w3 w1 [MASK] w7 [SEP] w5 w5 w0 [SEP]", "[CLS] w9 w11 w2 [SEP]", "[CLS] w1 [SEP] w4 [UNK] w17 [SEP]"]


def oracle() -> Any:
    """Hugging Face's module of RoFormer; to be called where torchaudio is hidden (tests/modules/test_rotary.py)."""
    return importlib.import_module("transformers.models.roformer.modeling_roformer")


def write_vocabulary(folder: Path, tokens: list[str]) -> None:
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens), encoding="utf-8")


def their_tensors(*, vocab_size: int = len(TOKENS), **changes: Tensor) -> dict[str, Tensor]:
    """Random weights by all names of a tiny RoFormerForMaskedLM, made without Hugging Face."""
    sizes = {field: {**SIZES, "vocab_size": vocab_size}.get(key, default) for field, (key, default) in FIELDS.items()}
    config = ModelConfig(**sizes, activation="gelu", is_tied=True, labels=None)
    generator = torch.Generator().manual_seed(2)
    made = {weight.theirs: torch.randn(weight.shape, generator=generator) for weight in weights(config, head="")}
    made[DECODER] = made[EMBEDDINGS].clone()
    return {**made, POSITIONS: position_table(config), **changes}


def write_folder(folder: Path, *, weights: dict[str, Tensor] | None = None, **config: Any) -> Path:
    """A folder of RoFormerForMaskedLM, with changes of its configuration; without weights where none are given."""
    folder.mkdir(parents=True)
    kind = {"architectures": ["RoFormerForMaskedLM"], "model_type": "roformer"}
    (folder / "config.json").write_text(json.dumps({**kind, **SIZES, **config}))
    write_vocabulary(folder, TOKENS)
    if weights is not None:
        write_tensors(folder / SAFETENSORS, weights)
    return folder


def random_weights_(model: nn.Module, *, seed: int = 1) -> None:
    """Give all weights values that matter: fresh biases are 0 and norms 1, and their places could be confused."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "embed_positions" not in name:
                noise = torch.randn(weight.shape, generator=generator)
                scale = 0.3 if weight.dim() > 1 else 0.1
                is_gain = name.endswith(("LayerNorm.weight", "layer_norm.weight", "layernorm_embedding.weight"))
                weight.copy_(noise * scale + float(is_gain))


def theirs(kind: str, **options: Any) -> Any:
    """A tiny model of Hugging Face with random weights, in evaluation mode."""
    roformer = oracle()
    torch.manual_seed(1)
    model = getattr(roformer, kind)(roformer.RoFormerConfig(**{**SIZES, **options})).eval()
    random_weights_(model)
    return model


def their_batch(tokens: list[str]) -> dict[str, Tensor]:
    """The sentences as Hugging Face's models take them, numbered by the lines of `vocab.txt`."""
    rows = [[tokens.index(word) for word in sentence.split()] for sentence in SENTENCES]
    types = [[sentence.split()[:i].count("[SEP]") for i in range(len(sentence.split()))] for sentence in SENTENCES]
    pad = tokens.index("[PAD]")
    ids = collate_tokens([torch.tensor(row) for row in rows], pad)
    return {
        "input_ids": ids,
        "token_type_ids": collate_tokens([torch.tensor(row) for row in types], 1),
        "attention_mask": ids.ne(pad).long(),
    }


def our_batch(dictionary: Dictionary) -> Tensor:
    """The sentences as fairseq's models take them, (B, T)."""
    names = {"[CLS]": "<s>", "[SEP]": "</s>", "[UNK]": "<unk>", "[MASK]": "<mask>"}
    rows = [[dictionary.index(names.get(word, word)) for word in sentence.split()] for sentence in SENTENCES]
    return collate_tokens([torch.tensor(row) for row in rows], dictionary.pad())


def our_dictionary(words: list[str] = WORDS) -> Dictionary:
    """The dictionary of a masked_lm task."""
    dictionary = Dictionary()
    for word in [*words, "<mask>"]:
        dictionary.add_symbol(word)
    return dictionary


def our_options(arch: str = "roformer", **options: Any) -> Namespace:
    sizes = dict(encoder_layers=2, encoder_embed_dim=24, encoder_ffn_embed_dim=40, encoder_attention_heads=2)
    args = Namespace(arch=arch, **{**sizes, "max_positions": 64, **options})
    ARCH_CONFIG_REGISTRY[arch](args)
    return args


def our_model(*, words: list[str] = WORDS, heads: dict[str, int] | None = None, **options: Any) -> RoformerModel:
    """A tiny `roformer` with random weights, in evaluation mode; `heads` has the labels of each."""
    dictionary = our_dictionary(words)
    model = RoformerModel.build_model(our_options(**options), Namespace(source_dictionary=dictionary))
    for name, count in (heads or {}).items():
        model.register_classification_head(name, num_classes=count)
    random_weights_(model)
    return model.eval()


def save_ours(folder: Path, model: RoformerModel, *, words: list[str] = WORDS) -> tuple[Path, Path]:
    """Write a checkpoint as fairseq does, and DATA with the dictionary; return both paths."""
    data = folder / "data-bin"
    data.mkdir(exist_ok=True)
    (data / "dict.txt").write_text("".join(f"{word} 7\n" for word in words), encoding="utf-8")
    return save(folder / "checkpoint.pt", dict(model.state_dict()), cfg={"model": model.args}), data


def change_json(path: Path, **changes: Any) -> None:
    """Set keys of a JSON file."""
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")

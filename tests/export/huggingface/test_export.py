"""Checkpoints become folders that `transformers` loads, with the same logits."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from fairseq_rope.export.huggingface import export_checkpoint
from tests.support.near import LOGITS, near
from tests.support.roformers import WORDS, oracle, our_batch, our_dictionary, our_model, save_ours, their_batch


def loaded(folder: Path, kind: str) -> tuple[Any, list[str]]:
    """Load a folder with `transformers`, to which it has neither too few nor too many weights; and its tokens."""
    model, info = getattr(oracle(), kind).from_pretrained(folder, output_loading_info=True)
    assert not any(info[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")), info
    return model.eval(), (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rope_layout": "half", "encoder_attention_heads": 3},
        {"untie_weights_roberta": True, "segments": 2},
        {"segments": 1, "layer_norm_eps": 1e-12},
        {"segments": 3, "activation_fn": "gelu_accurate", "layer_norm_eps": 1e-3},
        {"activation_fn": "relu", "pooler_activation_fn": "tanh"},
    ],
    ids=str,
)
def test_logits_of_masked_tokens_are_fairseqs(options: dict[str, Any], transformers: None, tmp_path: Path):
    model = our_model(**options)
    path, data = save_ours(tmp_path, model)
    export_checkpoint(path, data, tmp_path / "folder")
    theirs, tokens = loaded(tmp_path / "folder", "RoFormerForMaskedLM")
    assert tokens == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    batch = their_batch(tokens)
    batch["token_type_ids"] = batch["token_type_ids"].clamp(max=theirs.config.type_vocab_size - 1)
    is_token = batch["attention_mask"].bool()
    order = torch.tensor([2, 0, 3, 1, *range(5, len(tokens)), 4])
    with torch.no_grad():
        logits, expected = theirs(**batch).logits[..., order], model(our_batch(our_dictionary()))[0]
    near(logits[is_token], expected[is_token], LOGITS["same weights"])
    assert expected[is_token].std() > 0.5


def test_logits_of_labels_are_fairseqs(transformers: None, tmp_path: Path):
    model = our_model(heads={"kind": 3, "other": 2}, segments=2, pooler_activation_fn="gelu")
    path, data = save_ours(tmp_path, model)
    (data / "label").mkdir()
    (data / "label" / "dict.txt").write_text("yes 9\nno 5\nboth 2\nmadeupword0000 0\n")
    export_checkpoint(path, data, tmp_path / "folder", head="kind")
    theirs, tokens = loaded(tmp_path / "folder", "RoFormerForSequenceClassification")
    with torch.no_grad():
        logits = theirs(**their_batch(tokens)).logits
        expected = model(our_batch(our_dictionary()), classification_head_name="kind")[0]
    near(logits, expected, LOGITS["same weights"])
    assert theirs.config.id2label == {0: "yes", 1: "no", 2: "both"}


def test_padded_dictionaries_and_weights_in_half_precision_are_exported(transformers: None, tmp_path: Path):
    words = [*WORDS, "madeupword0000", "madeupword0001"]
    model = our_model(words=words)
    path, data = save_ours(tmp_path, model.half(), words=words)
    export_checkpoint(path, data, tmp_path / "folder")
    theirs, tokens = loaded(tmp_path / "folder", "RoFormerForMaskedLM")
    assert tokens[-2:] == words[-2:]
    batch = their_batch(tokens)
    with torch.no_grad():
        logits, expected = theirs(**batch).logits, model.float()(our_batch(our_dictionary(words)))[0]
    near(logits[..., 5:][batch["attention_mask"].bool()], expected[..., 4:-1][batch["attention_mask"].bool()], 1e-5)


@pytest.mark.parametrize(("asked", "length"), [(None, 64), (200, 200)])
def test_the_table_of_positions_has_the_length_that_is_asked_for(
    asked: int | None, length: int, transformers: None, tmp_path: Path
):
    path, data = save_ours(tmp_path, our_model())
    export_checkpoint(path, data, tmp_path / "folder", max_length=asked)
    theirs, _ = loaded(tmp_path / "folder", "RoFormerForMaskedLM")
    table = theirs.roformer.encoder.embed_positions
    assert table.weight.shape == (length, 12)
    near(table.weight, table.create_weight(), 1e-6)
    assert json.loads((tmp_path / "folder" / "config.json").read_text())["max_position_embeddings"] == length

"""Folders of Hugging Face become checkpoints with the same logits."""

import importlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from fairseq import utils
from torch import Tensor

from fairseq_rope import RoformerModel
from fairseq_rope.export.huggingface import export_checkpoint, import_folder
from fairseq_rope.export.huggingface.config import ACTIVATIONS, read_config
from fairseq_rope.export.huggingface.importer import HEAD
from fairseq_rope.export.huggingface.tensors import read_tensors
from fairseq_rope.export.huggingface.vocabulary import read_vocabulary
from fairseq_rope.export.huggingface.weights import position_table
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.pretrained import pretrained_settings
from tests.support.near import LOGITS, near
from tests.support.roformers import (
    SPECIAL,
    TOKENS,
    change_json,
    oracle,
    our_batch,
    their_batch,
    their_tensors,
    theirs,
    write_folder,
    write_vocabulary,
)


def same_masked_lm(folder: Path, output: Path, model: Any = None) -> Any:
    """Import a folder and compare the logits of all tokens but padding; return the imported model."""
    model = model or oracle().RoFormerForMaskedLM.from_pretrained(folder).eval()
    ours = RoformerModel.from_pretrained(str(output)).eval()
    tokens, batch = our_batch(ours.task.source_dictionary), their_batch(TOKENS)
    order = read_vocabulary(folder / "vocab.txt", size=len(TOKENS)).order
    with torch.no_grad():
        logits, expected = ours.model(tokens)[0], model(**batch).logits[..., order]
    is_token = batch["attention_mask"].bool()
    near(logits[is_token], expected[is_token], LOGITS["same weights"])
    assert expected[is_token].std() > 0.5  # numbers that a wrong weight would change
    return ours


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"hidden_act": "gelu_new"},
        {"hidden_act": "relu", "layer_norm_eps": 1e-3},
        {"tie_word_embeddings": False},
        {"type_vocab_size": 1},
        {"type_vocab_size": 3, "num_attention_heads": 3},
    ],
    ids=str,
)
def test_logits_of_masked_tokens_are_those_of_hugging_face(options: dict[str, Any], transformers: None, tmp_path: Path):
    model = theirs("RoFormerForMaskedLM", **options)
    model.save_pretrained(tmp_path / "theirs")
    write_vocabulary(tmp_path / "theirs", TOKENS)
    import_folder(tmp_path / "theirs", tmp_path / "ours")
    if options.get("type_vocab_size") == 1:  # theirs has no type for a second sentence, ours gives the only one
        forward = model.forward
        model.forward = lambda token_type_ids, **batch: forward(token_type_ids=token_type_ids * 0, **batch)
    same_masked_lm(tmp_path / "theirs", tmp_path / "ours", model)


@pytest.mark.parametrize("form", ["safetensors", "sharded safetensors", "pickle", "old pickle", "sharded pickles"])
def test_weights_are_read_in_every_form(form: str, masked_lm: Path, tmp_path: Path):
    folder = tmp_path / "theirs"
    shutil.copytree(masked_lm, folder)
    if "safetensors" not in form:
        tensors = read_tensors(folder)
        # pickles have the tied ones, too
        tensors["cls.predictions.decoder.weight"] = tensors["roformer.embeddings.word_embeddings.weight"]
        tensors["cls.predictions.decoder.bias"] = tensors["cls.predictions.bias"]
        (folder / "model.safetensors").unlink()
        parts = {"pytorch_model.bin": tensors}
        if form.startswith("sharded"):
            names = sorted(tensors)
            parts = {f"part{i}.bin": {name: tensors[name] for name in names[i::2]} for i in range(2)}
            weight_map = {name: file for file, part in parts.items() for name in part}
            (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": weight_map}))
        for file, part in parts.items():
            torch.save(part, folder / file, _use_new_zipfile_serialization=form != "old pickle")
    elif form.startswith("sharded"):
        model = oracle().RoFormerForMaskedLM.from_pretrained(folder)
        (folder / "model.safetensors").unlink()
        model.save_pretrained(folder, max_shard_size="20KB")
        assert (folder / "model.safetensors.index.json").is_file()
    import_folder(folder, tmp_path / "ours")
    same_masked_lm(masked_lm, tmp_path / "ours")


def test_an_output_layer_of_its_own_is_taken_though_the_configuration_ties_it(masked_lm: Path, tmp_path: Path):
    folder = tmp_path / "theirs"
    shutil.copytree(masked_lm, folder)
    tensors = read_tensors(folder)
    tensors["cls.predictions.decoder.weight"] = tensors["roformer.embeddings.word_embeddings.weight"].roll(1, dims=0)
    tensors["cls.predictions.decoder.bias"] = tensors["cls.predictions.bias"].roll(1)
    (folder / "model.safetensors").unlink()
    torch.save(tensors, folder / "pytorch_model.bin")
    import_folder(folder, tmp_path / "ours")
    same_masked_lm(folder, tmp_path / "ours")  # transformers does so, with a warning


def test_weights_in_half_precision_are_imported_as_they_are(masked_lm: Path, tmp_path: Path):
    folder = tmp_path / "theirs"
    model = oracle().RoFormerForMaskedLM.from_pretrained(masked_lm).half()
    model.save_pretrained(folder)
    shutil.copyfile(masked_lm / "vocab.txt", folder / "vocab.txt")
    import_folder(folder, tmp_path / "ours")
    model.float().roformer.encoder.embed_positions.weight.data = position_table(read_config(folder)[0])  # unrounded
    same_masked_lm(folder, tmp_path / "ours", model.eval())


@pytest.mark.parametrize("count", [3, 1])
def test_logits_of_labels_are_those_of_hugging_face(count: int, transformers: None, tmp_path: Path):
    model = theirs("RoFormerForSequenceClassification", num_labels=count, hidden_act="gelu_new")
    model.save_pretrained(tmp_path / "theirs")
    write_vocabulary(tmp_path / "theirs", TOKENS)
    import_folder(tmp_path / "theirs", tmp_path / "ours")
    ours = RoformerModel.from_pretrained(str(tmp_path / "ours")).eval()
    with torch.no_grad():
        logits = ours.model(our_batch(ours.task.source_dictionary), classification_head_name=HEAD)[0]
        expected = model(**their_batch(TOKENS)).logits
    near(logits, expected, LOGITS["same weights"])
    assert expected.std() > 0.1
    assert (ours.task.cfg.num_classes, ours.task.cfg.regression_target) == (count, count == 1)
    assert ours.model.args.pooler_activation_fn == "gelu_accurate"


def test_labels_become_a_dictionary_of_words(classifier: Path, tmp_path: Path):
    folder = tmp_path / "theirs"
    shutil.copytree(classifier, folder)
    import_folder(folder, tmp_path / "numbers")
    assert (tmp_path / "numbers" / "label" / "dict.txt").read_text() == "0 1\n1 1\n2 1\n"
    change_json(folder / "config.json", id2label={"0": "not a word", "1": "ja", "2": "nein"})
    import_folder(folder, tmp_path / "names")
    assert (tmp_path / "names" / "label" / "dict.txt").read_text() == "not_a_word 1\nja 1\nnein 1\n"


def test_recipes_keep_the_capitals_of_a_cased_model(masked_lm: Path, tmp_path: Path):
    folder = tmp_path / "theirs"
    shutil.copytree(masked_lm, folder)
    import_folder(folder, tmp_path / "silent")  # as that of BERT's tokenizer that says nothing
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    import_folder(folder, tmp_path / "cased")
    found = [pretrained_settings(tmp_path / name)["LOWERCASE"] for name in ("silent", "cased")]
    assert found == ["1", "0"]


@pytest.mark.parametrize("kind", ["masked_lm", "classifier"])
def test_an_exported_import_is_the_same_folder(kind: str, tmp_path: Path, request: pytest.FixtureRequest):
    folder = request.getfixturevalue(kind)
    import_folder(folder, tmp_path / "ours")
    export_checkpoint(tmp_path / "ours" / "model.pt", tmp_path / "ours", tmp_path / "again")
    before, after = read_tensors(folder), read_tensors(tmp_path / "again")
    assert before.keys() == after.keys()
    for name in before:
        near(after[name], before[name], 1e-6 if "embed_positions" in name else 0)
    assert (tmp_path / "again" / "vocab.txt").read_bytes() == (folder / "vocab.txt").read_bytes()
    configs = [json.loads((path / "config.json").read_bytes()) for path in (folder, tmp_path / "again")]
    compared = set(configs[0]) & set(configs[1])
    assert {"architectures", "hidden_size", "hidden_act", "layer_norm_eps", "pad_token_id"} <= compared
    for key in compared:
        assert configs[0][key] == configs[1][key], key


@pytest.mark.parametrize("name", ["gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "relu", "tanh"])
def test_activations_are_those_of_the_same_formula(name: str, transformers: None, tmp_path: Path):
    config, _ = read_config(write_folder(tmp_path / "folder", hidden_act=name))
    x = torch.linspace(-6, 6, 1001)
    expected = importlib.import_module("transformers.activations").ACT2FN[name](x)
    near(utils.get_activation_fn(config.activation)(x), expected, 1e-6)
    # and back
    assert ACTIVATIONS[config.activation] == (name if name in ACTIVATIONS.values() else "gelu_new")


def test_a_mask_is_filled_by_the_import_as_by_hugging_face(masked_lm: Path, tmp_path: Path):
    import_folder(masked_lm, tmp_path / "ours")
    filled = RoformerModel.from_pretrained(str(tmp_path / "ours")).eval().fill_mask("w3 w1 <mask> w7", topk=3)
    model, words = oracle().RoFormerForMaskedLM.from_pretrained(masked_lm).eval(), "[CLS] w3 w1 [MASK] w7 [SEP]"
    with torch.no_grad():
        logits = model(torch.tensor([[TOKENS.index(word) for word in words.split()]])).logits[0, 3]
    likely = [TOKENS[number].replace("[UNK]", "<unk>") for number in logits.argsort(descending=True)]
    assert [word for _, _, word in filled] == [word for word in likely if word not in SPECIAL][:3]


def test_a_far_position_of_the_import_is_no_error(masked_lm: Path, tmp_path: Path):
    import_folder(masked_lm, tmp_path / "ours")
    ours = RoformerModel.from_pretrained(str(tmp_path / "ours"), max_positions=512).eval()
    tokens: Tensor = torch.randint(4, 20, (1, 500))
    assert ours.extract_features(tokens).shape == (1, 500, 24)


def test_nothing_is_left_behind_when_a_weight_is_missing(masked_lm: Path, tmp_path: Path):
    folder = tmp_path / "theirs"
    shutil.copytree(masked_lm, folder)
    change_json(folder / "config.json", num_hidden_layers=3)
    with pytest.raises(ValueError) as caught:
        import_folder(folder, tmp_path / "ours")
    name = "roformer.encoder.layer.2.attention.self.query.weight"
    assert str(caught.value) == f"FOLDER {folder} must have the weight {name} and 15 more"
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]


def test_one_segment_gives_every_token_the_first_type(tmp_path: Path):
    tensors = their_tensors()
    write_folder(tmp_path / "their", weights=tensors)
    import_folder(tmp_path / "their", tmp_path / "ours", segments=1)
    state = torch.load(tmp_path / "ours" / "model.pt", weights_only=False)["model"]
    kept = state["encoder.sentence_encoder.segment_embeddings.weight"]
    assert torch.equal(kept, tensors["roformer.embeddings.token_type_embeddings.weight"][:1])
    assert "--segments 1 " in (tmp_path / "ours" / "options.txt").read_text()
    model = RoformerModel.from_pretrained(str(tmp_path / "ours")).eval()
    assert model.model.encoder.sentence_encoder.segment_embeddings.weight.shape == kept.shape
    with pytest.raises(UserError) as error:
        import_folder(tmp_path / "their", tmp_path / "more", segments=3)
    assert str(error.value) == f"--segments must be from 1 to 2, those of {tmp_path / 'their'}, but is 3"
    assert not (tmp_path / "more").exists()

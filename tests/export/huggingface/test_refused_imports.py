"""What cannot be imported from Hugging Face: an error by name, before weights are read where a configuration tells."""

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from fairseq_rope.export.huggingface import import_folder
from fairseq_rope.export.huggingface.weights import POSITIONS
from tests.support.roformers import TOKENS, their_tensors, write_folder, write_vocabulary


def refused(folder: Path) -> str:
    """Import; return the error, less the folder's name, and check that nothing is left behind."""
    with pytest.raises(ValueError) as caught:
        import_folder(folder, folder.parent / "ours")
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    return str(caught.value).replace(str(folder), "HERE")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"model_type": "bert"}, 'model_type "bert" cannot be imported: only RoFormer can be imported'),
        ({"rotary_value": True}, "rotary_value true cannot be imported: roformer does not rotate values"),
        (
            {"embedding_size": 8},
            "embedding_size 8 cannot be imported: roformer has that of hidden_size, 24",
        ),
        ({"is_decoder": True}, "is_decoder true cannot be imported: roformer has no causal attention"),
        ({"add_cross_attention": True}, "add_cross_attention true cannot be imported: roformer has no cross-attention"),
        (
            {"use_bias": False},
            "use_bias false cannot be imported: it is RoFormer version 2, whose layers have no biases",
        ),
        (
            {"norm_type": "rms_norm"},
            'norm_type "rms_norm" cannot be imported: it is RoFormer version 2, whose norm is another',
        ),
        (
            {"pruned_heads": {"0": [1]}},
            'pruned_heads {"0": [1]} cannot be imported: roformer has all heads in all layers',
        ),
        (
            {"architectures": ["RoFormerForCausalLM"]},
            'architectures ["RoFormerForCausalLM"] cannot be imported: only RoFormerForMaskedLM and '
            "RoFormerForSequenceClassification can be imported",
        ),
        (
            {"hidden_act": "selu"},
            'hidden_act "selu" cannot be imported: '
            "fairseq has gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, relu, tanh",
        ),
        (
            {"num_attention_heads": 8},
            "num_attention_heads 8 cannot be imported: hidden_size 24 must be an even number for each head",
        ),
        ({"num_hidden_layers": 0}, "num_hidden_layers must be a whole number of at least 1, but is 0"),
        ({"vocab_size": "many"}, "vocab_size must be a whole number of at least 1, but is 'many'"),
        ({"tie_word_embeddings": "false"}, "tie_word_embeddings must be true or false, but is 'false'"),
        ({"layer_norm_eps": -1.0}, "layer_norm_eps must be in [0, 1), but is -1.0"),
        ({"layer_norm_eps": 0}, "layer_norm_eps 0 cannot be imported: --layer-norm-eps must be above 0"),
    ],
    ids=lambda value: str(next(iter(value))) if isinstance(value, dict) else "",
)
def test_what_a_configuration_tells_is_refused_before_a_weight_is_read(
    change: dict[str, Any], error: str, tmp_path: Path
):
    at = " " if error.startswith("  ") else ": "
    assert refused(write_folder(tmp_path / "folder", **change)) == f"HERE/config.json{at}{error}"


def test_labels_that_fairseq_cannot_learn_are_refused(tmp_path: Path):
    kind = {"architectures": ["RoFormerForSequenceClassification"]}
    folder = write_folder(tmp_path / "folder", **kind, problem_type="multi_label_classification")
    assert refused(folder) == (
        'HERE/config.json: problem_type "multi_label_classification" cannot be imported: '
        "fairseq's sentence_prediction has one label"
    )
    for number, names in enumerate(({"0": "a b", "1": "a_b"}, {"0": "a", "1": " "})):
        (tmp_path / str(number)).mkdir()
        folder = write_folder(tmp_path / str(number) / "folder", **kind, id2label=names)
        expected = f"HERE/config.json: id2label must give each label a name of its own, but is {names}"
        assert refused(folder) == expected


def test_problems_that_fairseq_cannot_learn_are_refused(tmp_path: Path):
    kind = {"architectures": ["RoFormerForSequenceClassification"]}
    folder = write_folder(tmp_path / "numbers" / "folder", **kind, num_labels=3, problem_type="regression")
    assert refused(folder) == (
        'HERE/config.json: problem_type "regression" cannot be imported: '
        "fairseq's sentence_prediction learns one number"
    )
    folder = write_folder(tmp_path / "unknown" / "folder", **kind, problem_type="ranking")
    assert refused(folder) == (
        'HERE/config.json: problem_type "ranking" cannot be imported: '
        "it must be regression or single_label_classification"
    )


@pytest.mark.parametrize("label", ["<unk>", "<mask>", " <s> ", "madeupword0001", "half\ud800"])
def test_labels_that_no_dictionary_can_hold_are_refused(label: str, tmp_path: Path):
    kind = {"architectures": ["RoFormerForSequenceClassification"]}
    folder = write_folder(tmp_path / "folder", **kind, id2label={"0": "good", "1": label})
    assert refused(folder) == (
        f"HERE/config.json: id2label cannot have {label!r}: fairseq's dictionaries of labels have no such word"
    )


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda folder: (folder / "config.json").unlink(), "FOLDER must hold a model of Hugging Face, but HERE/..."),
        (
            lambda folder: (folder / "config.json").write_text("[1]"),
            "HERE/config.json is damaged: it must be an object",
        ),
        (lambda folder: (folder / "config.json").write_text("{"), "HERE/config.json is damaged: ..."),
        (
            lambda folder: (folder / "vocab.txt").unlink(),
            "cannot read HERE/vocab.txt: there is no such file",
        ),
        (
            lambda folder: write_vocabulary(folder, TOKENS[:-1]),
            "HERE/vocab.txt must have a line for each of 23 tokens of the model, but has 22",
        ),
        (
            lambda folder: write_vocabulary(folder, ["x" if token == "[SEP]" else token for token in TOKENS]),
            "HERE/vocab.txt must have the special token [SEP] once, but has it 0 times",
        ),
        (
            lambda folder: write_vocabulary(folder, ["[PAD]" if token == "w3" else token for token in TOKENS]),
            "HERE/vocab.txt must have the special token [PAD] once, but has it 2 times",
        ),
        (
            lambda folder: write_vocabulary(folder, ["<s>" if token == "w3" else token for token in TOKENS]),
            f"HERE/vocab.txt:{TOKENS.index('w3') + 1}: <s> cannot be a word: it is a special token of fairseq",
        ),
        (
            lambda folder: write_vocabulary(folder, ["w\r3" if token == "w3" else token for token in TOKENS]),
            f"HERE/vocab.txt:{TOKENS.index('w3') + 1}: 'w\\r3' cannot be a word: it has a carriage return",
        ),
        (
            lambda folder: write_vocabulary(folder, [*TOKENS[1:], TOKENS[0]]),
            "HERE: pad_token_id of its configuration must be that of [PAD], 22, but is 0",
        ),
        (lambda folder: None, "FOLDER HERE has no weights: neither model.safetensors nor pytorch_model.bin"),
        (
            lambda folder: (folder / "model.safetensors").write_bytes(b"0" * 99),
            "cannot load HERE/model.safetensors: it is truncated, corrupt or no safetensors (...",
        ),
        (
            lambda folder: torch.save([1], folder / "pytorch_model.bin"),
            "cannot load HERE/pytorch_model.bin: it must hold a dictionary of tensors",
        ),
        (
            lambda folder: (folder / "pytorch_model.bin").write_bytes(pickle.dumps(os.system)),
            "cannot load HERE/pytorch_model.bin: ...",
        ),
        (
            lambda folder: (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "../b"}}'),
            "HERE/model.safetensors.index.json is damaged: the name of a file must have no folder, but is ../b",
        ),
        (
            lambda folder: (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "b"}}'),
            "cannot load HERE/b, which HERE/model.safetensors.index.json names: there is no such file",
        ),
        (
            lambda folder: (folder / "model.safetensors.index.json").write_text("{}"),
            "HERE/model.safetensors.index.json is damaged: KeyError('weight_map')",
        ),
    ],
)
def test_files_that_are_missing_or_damaged_are_named(change: Callable[[Path], object], error: str, tmp_path: Path):
    folder = write_folder(tmp_path / "folder")
    change(folder)
    message = refused(folder)
    start, dots, _ = error.partition("...")
    assert message.startswith(start) if dots else message == error


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (
            {"roformer.pooler.dense.weight": torch.zeros(24, 24)},
            "has a weight that roformer has not: roformer.pooler.dense.weight",
        ),
        (
            {"roformer.embeddings.LayerNorm.bias": torch.zeros(23)},
            "roformer.embeddings.LayerNorm.bias must be of the shape (24,), but is (23,)",
        ),
        (
            {"roformer.embeddings.LayerNorm.bias": torch.zeros(24, dtype=torch.int8)},
            "roformer.embeddings.LayerNorm.bias must be of floating-point numbers, but is torch.int8",
        ),
        (
            {POSITIONS: torch.zeros(64, 12)},
            f"{POSITIONS} must be RoFormer's table of the base 10000, but is not",
        ),
    ],
)
def test_weights_that_do_not_fit_the_configuration_are_named(change: dict[str, Tensor], error: str, tmp_path: Path):
    pytest.importorskip("safetensors", reason="the extra `export` is not installed")
    message = refused(write_folder(tmp_path / "folder", weights=their_tensors(**change)))
    assert message.removeprefix("FOLDER HERE").removeprefix(": ").strip() == error


def test_a_table_of_another_length_is_told_before_one_of_that_length_is_made(tmp_path: Path):
    pytest.importorskip("safetensors", reason="the extra `export` is not installed")
    folder = write_folder(tmp_path / "folder", weights=their_tensors(), max_position_embeddings=2**31 - 1)
    assert refused(folder) == f"FOLDER HERE: {POSITIONS} must be RoFormer's table of the base 10000, but is not"


def test_layers_and_labels_of_any_number_are_told_before_there_is_a_name_for_each(tmp_path: Path):
    pytest.importorskip("safetensors", reason="the extra `export` is not installed")
    most = 2**31 - 1
    folder = write_folder(tmp_path / "layers" / "folder", weights=their_tensors(), num_hidden_layers=most)
    assert refused(folder) == "FOLDER HERE has 43 weights, too few for num_hidden_layers 2,147,483,647"
    kind = {"architectures": ["RoFormerForSequenceClassification"]}
    folder = write_folder(tmp_path / "labels" / "folder", **kind, num_labels=most)
    assert refused(folder) == "HERE/config.json: num_labels must be at most 1,048,576, but is 2147483647"


def test_a_pickle_that_runs_something_is_refused(tmp_path: Path):
    class Runs:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.system, (f"touch {tmp_path / 'ran'}",)

    folder = write_folder(tmp_path / "folder")
    torch.save({"a": Runs()}, folder / "pytorch_model.bin")
    error = refused(folder)
    assert error.startswith("cannot load HERE/pytorch_model.bin: it wants to run ")
    assert error.endswith("system, which a checkpoint never needs; refused")

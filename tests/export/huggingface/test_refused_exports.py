"""What cannot be exported to Hugging Face: an error by name, and nothing half-written."""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from fairseq_rope.export.huggingface import export_checkpoint, import_folder
from fairseq_rope_data.errors import UserError
from tests.support.checkpoint_files import save
from tests.support.roformers import (
    TOKENS,
    WORDS,
    our_model,
    our_options,
    save_ours,
    their_tensors,
    write_folder,
    write_vocabulary,
)


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "safetensors.torch", None)
    with pytest.raises(ValueError) as caught:
        export_checkpoint(tmp_path / "no.pt", tmp_path, tmp_path / "out")
    assert str(caught.value) == (
        "the package safetensors (extra `export`) cannot be imported: pip install 'fairseq-rope[export]'"
    )


def test_an_output_that_exists_is_refused(tmp_path: Path):
    path, data = save_ours(tmp_path, our_model())
    for write in (
        lambda: export_checkpoint(path, data, data),
        lambda: import_folder(write_folder(tmp_path / "folder", weights=their_tensors()), data),
    ):
        with pytest.raises(ValueError) as caught:
            write()
        assert str(caught.value) == f"{data} exists already; remove it or choose another name"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (
            {"position_method": "sinusoidal", "sinusoid_scale": 0.02},
            "--position-method sinusoidal ...: its RoFormer has no other positions",
        ),
        ({"position_method": "none"}, "--position-method none ...: its RoFormer has no other positions"),
        ({"rope_base": 500.0}, "--rope-base 500.0 ...: the base of its RoFormer is 10000"),
        ({"rope_fraction": 0.5}, "--rope-fraction 0.5 ...: all dimensions of its RoFormer's heads rotate"),
        (
            {"rope_scaling": "linear", "rope_scaling_factor": 2},
            "--rope-scaling linear ...: its RoFormer has no scaling",
        ),
        (
            {"rope_restart_after": "w1"},
            "--rope-restart-after w1 ...: its RoFormer counts positions from the start of the input only",
        ),
        ({"ffn": "geglu"}, "--ffn geglu ...: its RoFormer has no gated layers"),
        ({"encoder_normalize_before": True}, "--encoder-normalize-before True ...: its RoFormer is post-norm"),
        (
            {"layernorm_embedding": False},
            "--layernorm-embedding False ...: its RoFormer has a norm after the embeddings",
        ),
        (
            {"activation_fn": "linear"},
            "--activation-fn linear ...: it must be one of gelu, gelu_accurate, gelu_fast, relu, tanh",
        ),
    ],
    ids=lambda value: str(next(iter(value))) if isinstance(value, dict) else "",
)
def test_options_that_cannot_be_exported_are_named(options: dict[str, Any], error: str, tmp_path: Path):
    pytest.importorskip("safetensors", reason="the extra `export` is not installed")
    weights = {"encoder.sentence_encoder.embed_tokens.weight": torch.zeros(len(TOKENS), 24)}  # no others are needed
    path = save(tmp_path / "checkpoint.pt", weights, cfg={"model": our_options(**options)})
    with pytest.raises(ValueError) as caught:
        export_checkpoint(path, tmp_path, tmp_path / "out")
    assert str(caught.value) == error.replace("...", "cannot be exported to Hugging Face")
    assert not (tmp_path / "out").exists()


def export_error(path: Path, data: Path, **options: Any) -> str:
    pytest.importorskip("safetensors", reason="the extra `export` is not installed")
    with pytest.raises(ValueError) as caught:
        export_checkpoint(path, data, path.parent / "out", **options)
    assert not list(path.parent.glob("out*"))
    return str(caught.value)


def test_heads_that_cannot_be_exported_are_named(tmp_path: Path):
    path, data = save_ours(tmp_path, our_model(heads={"a": 2, "b": 2}))
    assert export_error(path, data) == f"--path {path} has several heads, choose one with --head: a, b"
    assert export_error(path, data, head="c") == f"--head must be one of a, b that --path {path} has, but is c"
    assert export_error(path, data, head="a") == (
        "--pooler-activation-fn tanh cannot be exported to Hugging Face: its RoFormer's head has the activation of "
        "the layers, here gelu"
    )
    (data / "label").mkdir()
    (data / "label" / "dict.txt").write_text("yes 9\nmadeupword0000 0\n")
    assert export_error(path, data, head="a") == f"{data}/label/dict.txt must have the 2 labels of the head, but has 1"


def test_dictionaries_that_do_not_fit_a_checkpoint_are_named(tmp_path: Path):
    path, data = save_ours(tmp_path, our_model())
    assert (
        export_error(path, tmp_path) == f"DATA must be a folder of fairseq-preprocess, but {tmp_path} has no dict.txt"
    )
    words = (data / "dict.txt").read_text()
    write_vocabulary(data, [*WORDS, "[PAD]"])
    assert export_error(path, data) == (
        f"{data}/vocab.txt must have the words of {data}/dict.txt and no others, but has not"
    )
    (data / "dict.txt").write_text(words.replace("w5 ", "[SEP] "))
    assert export_error(path, data) == f"{data}/dict.txt has the word [SEP], which is a special token of Hugging Face"
    (data / "dict.txt").write_text(words.partition("\n")[2])
    assert export_error(path, data) == f"--path has 23 tokens, but {data}/dict.txt makes 22: it is of another model"
    (data / "dict.txt").write_bytes(b"\xef\xbb\xbf" + words.encode())
    assert export_error(path, data) == (
        f"{data}/dict.txt:1: must begin with a word, but has a byte order mark before it"
    )
    (data / "dict.txt").write_text("w0\n")
    assert export_error(path, data).startswith(f"cannot load {data}/dict.txt: ")


def test_checkpoints_of_another_model_are_refused(tmp_path: Path):
    model = our_model()
    path, data = save_ours(tmp_path, model)
    other = save(tmp_path / "other.pt", {}, cfg={"model": {"arch": "transformer_rope"}})
    assert export_error(other, data) == (
        f"--path {other}: only encoders, roformer..., can be exported, but its arch is transformer_rope"
    )
    state = dict(model.state_dict())
    name = "encoder.sentence_encoder.layers.1.fc2.bias"
    lacks = save(tmp_path / "lacks.pt", {**state, name: torch.zeros(3)}, cfg={"model": model.args})
    assert export_error(lacks, data) == f"--path {lacks}: {name} must be of the shape (24,), but is (3,)"
    more = save(tmp_path / "more.pt", {**state, "encoder.more": torch.zeros(3)}, cfg={"model": model.args})
    assert export_error(more, data) == (
        f"--path {more} cannot be exported to Hugging Face: it has no place for encoder.more"
    )
    text = save(tmp_path / "text.pt", {**state, name: "0"}, cfg={"model": model.args})
    assert export_error(text, data) == f"--path {text}: {name} must be a tensor, but is a str"
    assert export_error(path, data, max_length=0) == "--max-length must be at least 1, but is 0"


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("encoder_layers", "2", "--encoder-layers must be a whole number of at least 0, but is '2'"),
        ("encoder_layers", None, "--encoder-layers must be a whole number of at least 0, but is None"),
        ("encoder_attention_heads", 0, "--encoder-attention-heads must be a whole number of at least 1, but is 0"),
        ("encoder_attention_heads", 5, "--encoder-embed-dim 24 must be an even number for each of 5 heads"),
        ("max_positions", -3, "--max-positions must be a whole number of at least 1, but is -3"),
        ("segments", "2", "--segments must be a whole number of at least 0, but is '2'"),
        (
            "activation_fn",
            ["gelu"],
            "--activation-fn ['gelu'] cannot be exported to Hugging Face: it must be one of ...",
        ),
        ("encoder_layers", 10**9, "--path ... weights, too few for --encoder-layers 1,000,000,000"),
    ],
)
def test_options_that_are_no_model_are_named(name: str, value: Any, error: str, tmp_path: Path):
    pytest.importorskip("safetensors", reason="the extra `export` is not installed")
    model = our_model()
    setattr(model.args, name, value)
    path, data = save_ours(tmp_path, model)
    with pytest.raises(UserError) as caught:
        export_checkpoint(path, data, tmp_path / "folder")
    start, _, end = error.partition("...")
    assert str(caught.value).startswith(start) and end in str(caught.value)
    assert not (tmp_path / "folder").exists()


@pytest.mark.parametrize(
    ("name", "weight"),
    [
        ("encoder.sentence_encoder.embed_tokens.weight", torch.tensor(1.0)),
        ("encoder.sentence_encoder.segment_embeddings.weight", torch.tensor(1.0)),
        ("encoder.sentence_encoder.segment_embeddings.weight", torch.ones(1, 2, 24)),
        ("classification_heads.kind.out_proj.weight", torch.tensor(1.0)),
        ("encoder.sentence_encoder.layers.0.fc1.weight", torch.ones(40, 24).to_sparse()),
        ("encoder.sentence_encoder.layers.0.fc1.weight", torch.ones(40, 24).long()),
    ],
)
def test_weights_of_other_forms_are_named(name: str, weight: Tensor, tmp_path: Path):
    pytest.importorskip("safetensors", reason="the extra `export` is not installed")
    path, data = save_ours(tmp_path, our_model(heads={"kind": 2}, segments=2, pooler_activation_fn="gelu"))
    checkpoint = torch.load(path, weights_only=False)
    checkpoint["model"][name] = weight
    torch.save(checkpoint, path)
    with pytest.raises(UserError, match=f"{name} must be ") as caught:
        export_checkpoint(path, data, tmp_path / "folder")
    assert str(path) in str(caught.value) and not (tmp_path / "folder").exists()

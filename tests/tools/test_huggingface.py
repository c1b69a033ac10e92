"""The command lines of the exchange with Hugging Face."""

import sys
from pathlib import Path

import pytest

from fairseq_rope.tools import huggingface
from tests.support.roformers import their_tensors, write_folder

OPTIONS = (
    "--arch roformer --encoder-layers 2 --encoder-embed-dim 24 --encoder-ffn-embed-dim 40 --encoder-attention-heads 2 "
    "--activation-fn gelu --pooler-activation-fn gelu --dropout 0.1 --attention-dropout 0.1 --pooler-dropout 0.1 "
    "--layer-norm-eps 1e-12 --segments 2 --position-method rope --rope-layout interleaved --max-positions 64\n"
)


def test_a_folder_is_imported_and_exported_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    pytest.importorskip("safetensors", reason="the extra `export` is not installed")
    monkeypatch.chdir(tmp_path)
    write_folder(Path("theirs"), weights=their_tensors())
    monkeypatch.setattr(sys, "argv", ["huggingface", "import", "theirs", "--output", "ours"])
    huggingface.main()
    told = "imported theirs into ours; options of fairseq-train for the same model:\n"
    assert capsys.readouterr().out == told + OPTIONS
    assert {path.name for path in Path("ours").iterdir()} == {"model.pt", "dict.txt", "vocab.txt", "options.txt"}
    assert Path("ours/options.txt").read_text() == OPTIONS
    words = "huggingface export --path ours/model.pt --data ours --output again --max-length 1500"
    monkeypatch.setattr(sys, "argv", words.split())
    huggingface.main()
    assert capsys.readouterr().out == (
        "exported ours/model.pt into again: masked tokens, inputs of up to 1,500 tokens\n"
    )
    assert {path.name for path in Path("again").iterdir()} == {"model.safetensors", "config.json", "vocab.txt"}
    assert len({path.stat().st_mode for path in Path("again").iterdir()}) == 1

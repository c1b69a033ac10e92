"""fairseq-train goes on with what was imported, in both tasks, and what it saves is exported again."""

import json
import re
import shlex
from pathlib import Path

import pytest
import torch
from fairseq import options
from fairseq_cli import preprocess

from fairseq_rope.checkpoints.files import load_checkpoint
from fairseq_rope.export.huggingface import export_checkpoint, import_folder
from tests.support import ROOT
from tests.support.roformers import their_tensors, write_folder
from tests.support.trained import call

TEXT = "w3 w1 w7 w5\nw9 w11 w2\nw1 w4 w17 w17 w2\nw0 w6\n"
# an update that changes no weight shows that all of them were loaded
TRAINING = """
    --optimizer adam --lr 0 --max-update 1 --batch-size 2 --seed 1 --cpu --num-workers 0 --no-epoch-checkpoints
    --disable-validation --required-batch-size-multiple 1
"""


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("safetensors", reason="the extra `export` is not installed")
    folder = tmp_path_factory.mktemp("imported")
    import_folder(write_folder(folder / "theirs", weights=their_tensors()), folder / "ours")
    return folder / "ours"


def binarize(text: str, dictionary: Path, data: Path) -> None:
    """Run fairseq-preprocess with a dictionary that is there."""
    data.parent.mkdir(exist_ok=True)
    file = data.parent / f"{data.name}.text"
    file.write_text(text)
    # fairseq 0.12.2 insists on a set to validate with
    texts = ["--trainpref", str(file), "--validpref", str(file)]
    words = ["--only-source", "--srcdict", str(dictionary), *texts, "--destdir", str(data)]
    preprocess.main(options.get_preprocessing_parser().parse_args(words))


def train(imported: Path, data: Path, save: Path, *task: str) -> Path:
    model = (imported / "options.txt").read_text().split()
    start = ["--user-dir", str(ROOT / "fairseq_rope"), "--finetune-from-model", str(imported / "model.pt")]
    call("fairseq_cli.train", str(data), "--save-dir", str(save), *start, *TRAINING.split(), *model, *task)
    return save / "checkpoint_last.pt"


def test_masked_tokens_are_trained_on(imported: Path, tmp_path: Path):
    binarize(TEXT, imported / "dict.txt", tmp_path / "bin")
    assert (tmp_path / "bin" / "dict.txt").read_bytes() == (imported / "dict.txt").read_bytes()
    task = ["--task", "masked_lm", "--criterion", "masked_lm", "--tokens-per-sample", "16"]
    path = train(imported, tmp_path / "bin", tmp_path / "save", *task)
    before, after = load_checkpoint(imported / "model.pt")["model"], load_checkpoint(path)["model"]
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    export_checkpoint(path, tmp_path / "bin", tmp_path / "folder", max_length=128)
    assert json.loads((tmp_path / "folder" / "config.json").read_text())["layer_norm_eps"] == 1e-12


def test_labels_of_pairs_are_fine_tuned(imported: Path, tmp_path: Path):
    data = tmp_path / "bin"
    for name, text in (("input0", TEXT), ("input1", TEXT)):
        binarize(text, imported / "dict.txt", data / name)
    (tmp_path / "labels").write_text("yes 1\nno 1\n")
    binarize("yes\nno\nno\nyes\n", tmp_path / "labels", data / "label")
    task = ["--task", "sentence_prediction", "--criterion", "sentence_prediction", "--num-classes", "2"]
    path = train(imported, data, tmp_path / "save", *task, "--init-token", "0")
    before, after = load_checkpoint(imported / "model.pt")["model"], load_checkpoint(path)["model"]
    heads = {name for name in after if name.startswith("classification_heads.")}
    assert len(heads) == 4 and before.keys() == after.keys() - heads
    assert all(torch.equal(before[name], after[name]) for name in before)
    export_checkpoint(path, data, tmp_path / "folder")
    config = json.loads((tmp_path / "folder" / "config.json").read_text())
    assert (config["architectures"], config["id2label"]) == (
        ["RoFormerForSequenceClassification"],
        {"0": "yes", "1": "no"},
    )


def test_the_commands_of_the_documentation_fine_tune_pairs(imported: Path, tmp_path: Path):
    (tmp_path / "roformer").symlink_to(imported)
    for name in ("train", "valid"):
        for column, text in (("input0", TEXT), ("input1", TEXT), ("label", "yes\nno\nno\nyes\n")):
            (tmp_path / f"{name}.{column}").write_text(4 * text)
    page = (ROOT / "docs" / "huggingface.md").read_text(encoding="utf-8")
    block = page[page.index("    fairseq-preprocess") :].partition("\n\n")[0].replace("\\\n", " ")
    for line in block.splitlines():
        program, *words = shlex.split(line)
        words = [re.sub(r"^(?=roformer/|pairs|train\.|valid\.|checkpoints)", f"{tmp_path}/", word) for word in words]
        if program == "fairseq-train":  # a smaller model than the page's
            words += [*(imported / "options.txt").read_text().split(), "--cpu", "--num-workers", "0"]
        call(program.replace("fairseq-", "fairseq_cli."), *words)
    assert (tmp_path / "checkpoints" / "checkpoint_last.pt").is_file()

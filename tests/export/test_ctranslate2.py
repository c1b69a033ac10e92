"""The command that exports a checkpoint: what is in its folder, and one clear line for a bad input."""

import os
import signal
import subprocess
import sys
import types
from argparse import Namespace
from pathlib import Path

import ctranslate2
import pytest
import torch
from fairseq.data import Dictionary
from fairseq.models.transformer import TransformerConfig

from fairseq_rope.export.ctranslate2 import export_checkpoint
from fairseq_rope.export.ctranslate2.__main__ import main
from fairseq_rope.export.ctranslate2.model_folder import read_model_folder, token_names
from fairseq_rope_data.errors import UserError
from tests.support import ROOT
from tests.support.ctranslate2_runtime import fairseq_scores, pair, runtime, runtime_scores, stir, task_of
from tests.support.models import SMALL, build_model
from tests.support.near import SCORES, near
from tests.support.small import EOS
from tests.support.trained import Trained, call

FILES = {
    *("model.bin", "config.json", "shared_vocabulary.json"),
    *("dict.en.txt", "dict.de.txt", "fairseq_rope.json", "SHA256SUMS"),
}

HYDRA_SIZES = {"layers": 2, "embed_dim": 32, "ffn_embed_dim": 64, "attention_heads": 2}  # those of `trained`


def export(monkeypatch: pytest.MonkeyPatch, *options: object) -> None:
    monkeypatch.setattr(sys, "argv", ["export.ctranslate2", *map(str, options)])
    main()


def needed(trained: Trained, output: Path) -> list[object]:
    return ["--path", trained.checkpoint, "--data", trained.data, "--output", output]


def test_the_command_writes_a_complete_folder(trained: Trained, tmp_path: Path) -> None:
    output = tmp_path / "model"
    options = [*map(str, needed(trained, output)), "--quantization", "int8", "--copy-files", str(trained.codes)]
    done = call("fairseq_rope.export.ctranslate2", *options)
    assert done.stdout.decode() == f"exported {trained.checkpoint} (int8) into {output}\n"
    assert done.stderr == b""
    assert {path.name for path in output.iterdir()} == FILES | {"codes"}
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert (output / "codes").read_bytes() == trained.codes.read_bytes()
    for lang in ("en", "de"):
        assert (output / f"dict.{lang}.txt").read_bytes() == (trained.data / f"dict.{lang}.txt").read_bytes()
    listed = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=output, capture_output=True, text=True, check=True)
    assert listed.stdout.splitlines() == [f"{name}: OK" for name in sorted(FILES - {"SHA256SUMS"} | {"codes"})]
    settings = read_model_folder(output).settings
    assert settings == ("en", "de", 1024, 1024, "int8")
    assert ctranslate2.Translator(str(output)).compute_type.startswith("int8")


def test_an_average_and_an_old_checkpoint_with_args_are_exported(trained: Trained, tmp_path: Path) -> None:
    state = torch.load(trained.checkpoint, map_location="cpu", weights_only=True)
    state["args"], state["cfg"] = state["cfg"]["model"], None
    del state["last_optimizer_state"]
    torch.save(state, tmp_path / "old.pt")
    for path in (trained.checkpoint, tmp_path / "old.pt"):
        export_checkpoint(path, trained.data, tmp_path / f"{path.stem}-model")
    old, new = (tmp_path / f"{name}-model" / "model.bin" for name in ("old", trained.checkpoint.stem))
    assert old.read_bytes() == new.read_bytes()


def test_a_checkpoint_of_hydra_is_exported(trained: Trained, tmp_path: Path) -> None:
    state = torch.load(trained.checkpoint, map_location="cpu", weights_only=True)
    sizes = {f"{side}_{name}": number for side in ("encoder", "decoder") for name, number in HYDRA_SIZES.items()}
    joined = {"share_decoder_input_output_embed": state["cfg"]["model"].share_decoder_input_output_embed}
    state["cfg"]["model"] = {"_name": "transformer_rope_tiny", **sizes, **joined}
    torch.save(state, tmp_path / "hydra.pt")
    for path in (trained.checkpoint, tmp_path / "hydra.pt"):
        export_checkpoint(path, trained.data, tmp_path / f"{path.stem}-model")
    one, other = (tmp_path / f"{name}-model" / "model.bin" for name in ("hydra", trained.checkpoint.stem))
    assert one.read_bytes() == other.read_bytes()


def test_a_checkpoint_trained_with_layerdrop_is_exported_with_all_its_layers(trained: Trained, tmp_path: Path) -> None:
    state = torch.load(trained.checkpoint, map_location="cpu", weights_only=True)
    state["cfg"]["model"].encoder_layerdrop = state["cfg"]["model"].decoder_layerdrop = 1.0
    torch.save(state, tmp_path / "dropped.pt")
    for path in (trained.checkpoint, tmp_path / "dropped.pt"):
        export_checkpoint(path, trained.data, tmp_path / f"{path.stem}-model")
    one, other = (tmp_path / f"{name}-model" / "model.bin" for name in ("dropped", trained.checkpoint.stem))
    assert one.read_bytes() == other.read_bytes()


def test_separate_dictionaries_stay_separate(tmp_path: Path) -> None:
    source, target = Dictionary(), Dictionary()
    for i in range(30):
        source.add_symbol(f"s{i}")
    for i in range(50):
        target.add_symbol(f"t{i}")
    options = {**SMALL, "share_all_embeddings": False}
    model = stir(build_model("transformer_rope", task_of(source, target), **options))
    translator = runtime(model, tmp_path / "model")
    folder = read_model_folder(tmp_path / "model")
    assert (folder.source_names, folder.target_names) == (source.symbols, target.symbols)
    batch = pair(torch.tensor([5, 33, 8, EOS]), torch.tensor([53, 4, 9, 20, EOS]))
    (result,) = translator.score_batch([["s1", "s29", "s4"]], [["t49", "t0", "t5", "t16"]])
    near(torch.tensor(result.log_probs), fairseq_scores(model, batch), SCORES["runtime"])


def test_words_that_overwrite_marks_are_words_and_the_marks_stay_marks(tmp_path: Path) -> None:
    text = tmp_path / "dict.txt"
    text.write_text("a 9\n</s> 7 #fairseq:overwrite\nb 5\n<unk> 3 #fairseq:overwrite\nmadeupword0000 0\n")
    dictionary = Dictionary.load(str(text))
    model = stir(build_model("transformer_rope", task_of(dictionary, dictionary), **SMALL))
    translator = runtime(model, tmp_path / "model")
    assert (tmp_path / "model" / "dict.en.txt").read_text() == text.read_text()
    assert len(set(token_names(dictionary))) == len(dictionary)
    # the words </s> and <unk> are tokens 5 and 7; the source and the target still end with token 2
    batch = pair(torch.tensor([4, 5, 6, EOS]), torch.tensor([5, 7, 3, EOS]))
    near(runtime_scores(translator, dictionary, batch), fairseq_scores(model, batch), SCORES["runtime"])
    (result,) = translator.score_batch([["a", "</s>", "b"]], [["</s>", "<unk>", "never seen"]])
    near(torch.tensor(result.log_probs), fairseq_scores(model, batch), SCORES["runtime"])


ODD_WORDS = ["", "a b", "\u2028", "\x85", "\u00a0", "e\u0301", "#", '"', "\\"]
ODD_WORDS += ["🔥", "｟x｠", "<blank>", "</s>#2", "@@", "▁"]


def test_odd_words_keep_their_numbers(tmp_path: Path) -> None:
    text = tmp_path / "dict.txt"
    # some are there twice, and </s>#2 would be the name of the first </s>
    words = [*ODD_WORDS, "</s> 1 #fairseq:overwrite", '" 1 #fairseq:overwrite', "madeupword0001"]
    text.write_text("".join(f"{word if word.endswith('overwrite') else f'{word} 1'}\n" for word in words))
    dictionary = Dictionary.load(str(text))
    assert len(dictionary) == 4 + len(words) and dictionary.symbols[4:-3] == ODD_WORDS
    model = stir(build_model("transformer_rope", task_of(dictionary, dictionary), **SMALL))
    translator = runtime(model, tmp_path / "model")
    assert Dictionary.load(str(tmp_path / "model" / "dict.de.txt")).indices == dictionary.indices
    assert len(set(token_names(dictionary))) == len(dictionary)
    tokens = torch.tensor([*range(4, len(dictionary)), EOS])
    batch = pair(tokens, tokens)
    near(runtime_scores(translator, dictionary, batch), fairseq_scores(model, batch), SCORES["runtime"])
    # to the runtime a word is what it is to fairseq
    (result,) = translator.score_batch([ODD_WORDS], [ODD_WORDS])
    words = torch.tensor([*map(dictionary.index, ODD_WORDS), EOS])
    near(torch.tensor(result.log_probs), fairseq_scores(model, pair(words, words)), SCORES["runtime"])


@pytest.mark.skipif(not hasattr(TransformerConfig, "merge_src_tgt_embed"), reason="only fairseq's main branch has it")
def test_merged_dictionaries_are_written_as_the_model_has_them(tmp_path: Path) -> None:
    source, target = Dictionary(), Dictionary()
    for word in ("a", "b", "c"):
        source.add_symbol(word)
    for word in ("c", "d"):
        target.add_symbol(word)
    options = {**SMALL, "share_all_embeddings": False, "merge_src_tgt_embed": True}
    task = task_of(source, target)
    runtime(build_model("transformer_rope", task, **options), tmp_path / "model", task=task)
    folder = read_model_folder(tmp_path / "model")
    assert folder.source_names == folder.target_names == ["<s>", "<pad>", "</s>", "<unk>", "a", "b", "c", "d"]
    assert Dictionary.load(str(tmp_path / "model" / "dict.de.txt")).symbols == folder.target_names


def test_an_output_that_exists_is_an_error_and_stays_as_it_is(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model").mkdir()
    with pytest.raises(UserError, match="model exists already; remove it or choose another name"):
        export(monkeypatch, *needed(trained, tmp_path / "model"))
    assert list((tmp_path / "model").iterdir()) == []


KILLED = """
import os, shutil, signal, sys
from fairseq_rope.export.ctranslate2.__main__ import main
shutil.copyfile = lambda source, target: os.kill(os.getpid(), signal.SIGKILL)
main()
"""


def test_a_kill_leaves_no_folder_under_the_name_and_the_next_export_is_complete(
    trained: Trained, tmp_path: Path
) -> None:
    options = [*map(str, needed(trained, tmp_path / "model")), "--copy-files", str(trained.codes)]
    killed = subprocess.run([sys.executable, "-c", KILLED, *options], cwd=ROOT, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.name.startswith("model.part-") and (left / "model.bin").is_file()
    # in a container the next process has the same number
    left.rename(tmp_path / f"model.part-{os.getpid()}")
    export_checkpoint(trained.checkpoint, trained.data, tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert {path.name for path in (tmp_path / "model").iterdir()} == FILES


def test_a_type_that_this_machine_lacks_is_written_and_told(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ctranslate2, "get_cuda_device_count", lambda: 0)
    export(monkeypatch, *needed(trained, tmp_path / "model"), "--quantization", "int8_float16")
    assert read_model_folder(tmp_path / "model").settings.quantization == "int8_float16"
    note = "note: --quantization int8_float16 cannot be computed on this machine's cpu; --compute-type can be float32, "
    assert note in capsys.readouterr().err


def checkpoint(folder: Path, **options: object) -> Path:
    path = folder / "checkpoint.pt"
    torch.save({"cfg": {"model": Namespace(**options)}, "model": {}}, path)
    return path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(arch="transformer"), "only rotary models, transformer_rope..., can be exported, but its arch is transfo"),
        (dict(arch="fancy"), "but its arch is fancy"),
        (dict(arch="transformer_rope"), "can be exported, not of None"),
        (dict(_name="transformer_lm"), "but its arch is transformer_lm"),
        (
            dict(arch="transformer_rope", task="translation_lev"),
            "only models of --task translation can be exported, not of translation_lev",
        ),
    ],
    ids=["stock", "of another plugin", "without a task", "language model", "of another task"],
)
def test_a_model_that_is_not_rotary_translation_is_refused(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict, message: str
) -> None:
    path = checkpoint(tmp_path, **options)
    with pytest.raises(UserError) as error:
        export(monkeypatch, *needed(trained, tmp_path / "model"), "--path", path)
    assert f"{path}: " in str(error.value) and message in str(error.value)
    assert list(tmp_path.iterdir()) == [path]


def test_dictionaries_of_another_size_are_refused(trained: Trained, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for lang in ("en", "de"):
        text = (trained.data / f"dict.{lang}.txt").read_text(encoding="utf-8")
        (data / f"dict.{lang}.txt").write_text(f"{text}another 1\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"checkpoint_last.pt does not fit DATA .*size mismatch") as error:
        export_checkpoint(trained.checkpoint, data, tmp_path / "model", source_lang="en", target_lang="de")
    assert "\n" not in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--path", "/no/model.pt"], "cannot load /no/model.pt: there is no such file"),
        (
            ["--path", "a.pt:b.pt"],
            "--path must be one checkpoint, because the runtime has no ensembles, but is a.pt:b.pt",
        ),
        (["--data", "/no/data"], "DATA must be a folder of fairseq-preprocess, but /no/data is not a folder"),
        (["-s", "en", "-t", "xx"], "has no dictionary dict.xx.txt (--target-lang xx)"),
        (["--output", "/no/folder/model"], "cannot write /no/folder/model: there is no folder /no/folder"),
        (["--copy-files", "/no/codes"], "--copy-files /no/codes: there is no such file"),
        (["--copy-files", "/"], "--copy-files /: it is a folder"),
    ],
)
def test_bad_options_get_one_clear_line_and_leave_nothing(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
) -> None:
    with pytest.raises(UserError) as error:
        export(monkeypatch, *needed(trained, tmp_path / "model"), *options)
    assert message in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_copied_file_must_not_replace_one_of_the_model(trained: Trained, tmp_path: Path) -> None:
    (tmp_path / "dict.en.txt").write_text("")
    with pytest.raises(UserError, match=r"the model folder has a file dict.en.txt of its own"):
        export_checkpoint(trained.checkpoint, trained.data, tmp_path / "model", copy_files=[tmp_path / "dict.en.txt"])
    assert [path.name for path in tmp_path.iterdir()] == ["dict.en.txt"]


@pytest.mark.parametrize(
    "name", ["SHA256SUMS", "config.json", "source_vocabulary.json", "shared_vocabulary.txt", "vmap.txt"]
)
def test_a_copied_file_must_not_be_taken_for_one_of_the_model(trained: Trained, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("[]")
    with pytest.raises(UserError) as error:
        export_checkpoint(trained.checkpoint, trained.data, tmp_path / "model", copy_files=[tmp_path / name])
    assert (
        str(error.value) == f"--copy-files {tmp_path / name}: in a model folder {name} would be read as the model's own"
    )
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_type_that_does_not_exist_is_refused(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        export(monkeypatch, *needed(trained, tmp_path / "model"), "--quantization", "int4")
    assert "--quantization: invalid choice: 'int4'" in capsys.readouterr().err


def test_a_missing_or_old_package_is_told_with_the_command_that_installs_it(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(UserError, match=r"the package ctranslate2 .* pip install 'ctranslate2>=4.6.3'"):
        export_checkpoint(trained.checkpoint, trained.data, tmp_path / "model")
    old = types.ModuleType("ctranslate2")
    old.__version__ = "4.6.2"
    monkeypatch.setitem(sys.modules, "ctranslate2", old)
    with pytest.raises(UserError, match=r"ctranslate2 must be newer than 4.6.2: pip install"):
        export_checkpoint(trained.checkpoint, trained.data, tmp_path / "model")

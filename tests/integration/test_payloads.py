"""A checkpoint whose options are code: every command that reads it names it, and nothing runs."""

import copy
import os
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from fairseq import checkpoint_utils

from fairseq_rope import TransformerRopeModel
from fairseq_rope.compat.checkpoint_options import UnsafeCheckpoint
from tests.support import forked
from tests.support.trained import Trained

OPTION = "model.adaptive_softmax_cutoff"
Change = Callable[[dict[str, Any], str], object]


def payload(marker: Path) -> str:
    return f"__import__('pathlib').Path({str(marker)!r}).touch() or [10]"


def changed(trained: Trained, folder: Path, change: Change) -> Path:
    """Save the trained checkpoint with code in one of its options."""
    state = copy.deepcopy(torch.load(trained.checkpoint))
    change(state, payload(folder / "marker"))
    torch.save(state, folder / "evil.pt")
    return folder / "evil.pt"


def in_model(state: dict[str, Any], code: str) -> None:
    state["cfg"]["model"].adaptive_softmax_cutoff = code


def in_language_model(state: dict[str, Any], code: str) -> None:
    state["cfg"]["model"] = {"_name": "transformer_lm", "adaptive_softmax_cutoff": code, "tokens_per_sample": 64}


def commands(trained: Trained, evil: Path) -> dict[str, list[str]]:
    out = evil.parent
    plugin = ["--user-dir", "fairseq_rope", "--cpu"]
    data = str(trained.data)
    train = [data, *plugin, "--arch", "transformer_rope_tiny", "--max-update", "151", "--max-tokens", "500"]
    for side in ("encoder", "decoder"):
        train += [f"--{side}-layers", "2", f"--{side}-embed-dim", "32", f"--{side}-attention-heads", "2"]
    train += ["--optimizer", "adam", "--lr", "1e-3", "--criterion", "label_smoothed_cross_entropy"]
    train += ["--num-workers", "0", "--disable-validation", "--save-dir", str(out / "save")]
    return {
        "fairseq_rope.tools.translate": [data, "--path", str(evil), "--cpu"],
        "fairseq_rope.export.ctranslate2": ["--path", str(evil), "--data", data, "--output", str(out / "model")],
        "fairseq_cli.generate": [data, "--path", str(evil), *plugin, "--gen-subset", "valid"],
        "fairseq_cli.interactive": [data, "--path", str(evil), *plugin],
        "fairseq_cli.validate": [data, "--path", str(evil), *plugin, "--task", "translation", "--max-tokens", "500"],
        "fairseq_cli.eval_lm": [data, "--path", str(evil), *plugin, "--gen-subset", "valid", "--max-tokens", "500"],
        "fairseq_cli.train resume": [*train, "--restore-file", str(evil)],
        "fairseq_cli.train finetune": [*train, "--finetune-from-model", str(evil)],
    }


@pytest.mark.parametrize(
    "name",
    [
        *("fairseq_rope.tools.translate", "fairseq_rope.export.ctranslate2"),
        *("fairseq_cli.generate", "fairseq_cli.interactive", "fairseq_cli.validate", "fairseq_cli.eval_lm"),
        *("fairseq_cli.train resume", "fairseq_cli.train finetune"),
    ],
)
def test_no_command_runs_an_option_of_a_checkpoint(trained: Trained, tmp_path: Path, name: str):
    if name.startswith("fairseq_rope.export"):
        pytest.importorskip("ctranslate2")
    is_language_model = name == "fairseq_cli.eval_lm"
    evil = changed(trained, tmp_path, in_language_model if is_language_model else in_model)
    options = commands(trained, evil)[name]
    if is_language_model:
        (tmp_path / "data").mkdir()
        for source, target in (("dict.en.txt", "dict.txt"), ("valid.en-de.en.bin", "valid.bin")):
            (tmp_path / "data" / target).symlink_to(trained.data / source)
        (tmp_path / "data" / "valid.idx").symlink_to(trained.data / "valid.en-de.en.idx")
        options[0] = str(tmp_path / "data")
    done = forked.run(name.split()[0], *options, text="a line\n")
    assert not (tmp_path / "marker").exists()
    assert done.returncode != 0
    last = done.stderr.splitlines()[-1]
    assert f"cannot load {evil}: its option {OPTION} must be plain data" in last and "import" in last
    assert not (tmp_path / "model").exists() and not list((tmp_path / "save").glob("*"))


def in_old_arguments(state: dict[str, Any], code: str) -> None:
    state["args"] = copy.deepcopy(state["cfg"]["model"])
    state["args"].adaptive_softmax_cutoff = code
    state["cfg"] = None


def in_nested_model(state: dict[str, Any], code: str) -> None:
    state["cfg"]["model"].w2v_args = {"model": Namespace(conv_feature_layers=code)}


def in_criterion(state: dict[str, Any], code: str) -> None:
    state["cfg"]["criterion"] = {"_name": "ctc", "wer_args": code}


def in_task(state: dict[str, Any], code: str) -> None:
    state["cfg"]["task"] = Namespace(_name="multilingual_translation", task="multilingual_translation")
    state["cfg"]["task"].left_pad_source = code


@pytest.mark.parametrize("change", [in_old_arguments, in_nested_model, in_criterion, in_task, in_language_model])
def test_code_is_found_wherever_a_checkpoint_keeps_options(trained: Trained, tmp_path: Path, change: Change):
    evil = changed(trained, tmp_path, change)
    with pytest.raises(UnsafeCheckpoint, match=rf"cannot load {evil}: its option \S+ must be plain data"):
        checkpoint_utils.load_model_ensemble_and_task([str(evil)], {"data": str(trained.data)})
    assert not (tmp_path / "marker").exists()


def test_from_pretrained_runs_no_option(trained: Trained, tmp_path: Path):
    changed(trained, tmp_path, in_model)
    with pytest.raises(UnsafeCheckpoint, match=OPTION):
        TransformerRopeModel.from_pretrained(str(tmp_path), "evil.pt", str(trained.data))
    assert not (tmp_path / "marker").exists()


def test_a_user_dir_in_a_checkpoint_is_not_imported(trained: Trained, tmp_path: Path):
    (tmp_path / "plugin").mkdir()
    (tmp_path / "plugin" / "__init__.py").write_text(f"open({str(tmp_path / 'marker')!r}, 'w')")

    def change(state: dict[str, Any], code: str) -> None:
        state["cfg"]["common"]["user_dir"] = str(tmp_path / "plugin")
        state["cfg"]["model"].user_dir = str(tmp_path / "plugin")

    changed(trained, tmp_path, change)
    model = TransformerRopeModel.from_pretrained(str(tmp_path), "evil.pt", str(trained.data))
    assert model.models and not (tmp_path / "marker").exists() and "plugin" not in sys.modules


def test_a_program_of_torch_script_is_no_checkpoint(tmp_path: Path):
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), tmp_path / "program.pt")
    with pytest.raises(Exception, match=r"[Tt]orch[Ss]cript"):
        checkpoint_utils.load_checkpoint_to_cpu(str(tmp_path / "program.pt"))


def test_protection_of_torch_is_on_wherever_fairseq_reads_a_file(tmp_path: Path):
    class Malicious:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "marker"),)

    torch.save({"extra_state": {"ema": Malicious()}, "model": {}}, tmp_path / "evil.pt")
    for load in (checkpoint_utils.load_checkpoint_to_cpu, checkpoint_utils.load_ema_from_checkpoint):
        with pytest.raises(Exception, match="mkdir"):
            load(str(tmp_path / "evil.pt"))
    assert not (tmp_path / "marker").exists()


def test_plain_options_of_a_checkpoint_are_loaded(trained: Trained, tmp_path: Path):
    def change(state: dict[str, Any], code: str) -> None:
        state["cfg"]["model"].adaptive_softmax_cutoff = "[20, 40]"
        state["cfg"]["optimizer"]["adam_betas"] = "(0.9, 0.98)"
        state["cfg"]["criterion"]["wer_args"] = "${model.unknown}"

    state = checkpoint_utils.load_checkpoint_to_cpu(str(changed(trained, tmp_path, change)))
    assert state["cfg"]["model"].adaptive_softmax_cutoff == "[20, 40]"

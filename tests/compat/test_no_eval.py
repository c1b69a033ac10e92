"""No module of fairseq reaches Python's `eval`, and every option that one evaluates is known by its name."""

import ast
import functools
import sys
from argparse import Namespace
from pathlib import Path

import fairseq
import pytest
from fairseq import tasks, utils
from fairseq.criterions import CRITERION_REGISTRY
from fairseq.data.codedataset import parse_manifest

from fairseq_rope.compat.checkpoint_options import EVALUATED
from fairseq_rope.compat.plain_data import NotPlainData, evaluate
from tests.support.models import SMALL, build_model, make_task

ROOT = Path(fairseq.__file__).parent
BUILTINS = ("eval", "exec", "compile", "__import__")
POSITIONS = dict(max_source_positions=64, max_target_positions=64)
EVALUATING = ("eval_str_list", "eval_str_dict", "eval_bool")


@functools.cache
def calls() -> list[tuple[str, str, ast.Call]]:
    """List module, function and call for each that evaluates text, or makes code from it, in fairseq's sources."""
    found = []
    for path in ROOT.rglob("*.py"):
        parts = ("fairseq", *path.relative_to(ROOT).with_suffix("").parts)
        if parts[1] != "examples":  # scripts of their own, which no command imports
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call):
                    name = ast.unparse(node.func).rpartition(".")[2]
                    # model.eval() and re.compile(...) are something else
                    if name in EVALUATING or (name in BUILTINS and isinstance(node.func, ast.Name)):
                        found.append((".".join(parts).removesuffix(".__init__"), name, node))
    return found


def test_every_module_of_fairseq_that_evaluates_has_the_eval_for_plain_data():
    found = {module for module, name, _ in calls() if name == "eval"}
    assert len(found) > 15
    assert not [module for module in found if vars(sys.modules[module])["eval"] is not evaluate]


def test_fairseq_makes_no_code_in_other_ways():
    assert {name for _, name, _ in calls()} == {"eval", *EVALUATING}


def test_the_options_that_fairseq_evaluates_are_those_that_are_checked_when_a_checkpoint_is_read():
    options = {call.args[0].attr for _, _, call in calls() if isinstance(call.args[0], ast.Attribute)}
    assert len(options) > 15
    assert not options - EVALUATED


def payload(marker: Path) -> str:
    return f"__import__('pathlib').Path({str(marker)!r}).touch() or [10]"


@pytest.mark.parametrize(
    ("arch", "option"),
    [
        ("transformer", "adaptive_softmax_cutoff"),
        ("transformer_rope", "adaptive_softmax_cutoff"),
        ("lstm", "adaptive_softmax_cutoff"),
        ("lstm", "decoder_attention"),
        ("fconv", "encoder_layers"),
        ("fconv", "decoder_layers"),
        ("fconv_self_att", "pretrained"),
    ],
)
def test_no_arch_runs_an_option(arch: str, option: str, tmp_path: Path):
    sizes = SMALL if "transformer" in arch else POSITIONS
    with pytest.raises(NotPlainData, match="Path"):
        build_model(arch, **{**sizes, "criterion": "adaptive_loss", option: payload(tmp_path / "marker")})
    assert not (tmp_path / "marker").exists()


def test_no_criterion_runs_an_option(tmp_path: Path):
    cfg = Namespace(wer_args=payload(tmp_path / "marker"), wer_kenlm_model=None, zero_infinity=False, post_process="")
    with pytest.raises(NotPlainData):
        CRITERION_REGISTRY["ctc"](cfg, make_task())
    assert not (tmp_path / "marker").exists()


def test_no_task_runs_an_option(tmp_path: Path):
    options = dict(data=str(tmp_path), lang_pairs="de-en", source_lang=None, target_lang=None, left_pad_target="False")
    task = Namespace(task="multilingual_translation", left_pad_source=payload(tmp_path / "marker"), **options)
    with pytest.raises(NotPlainData):
        tasks.setup_task(task)
    assert not (tmp_path / "marker").exists()


def test_a_line_of_data_does_not_run(tmp_path: Path):
    (tmp_path / "manifest").write_text(f"{payload(tmp_path / 'marker')}\n")
    with pytest.raises(NotPlainData):
        parse_manifest(str(tmp_path / "manifest"), {})
    assert not (tmp_path / "marker").exists()


def test_legal_values_build_the_models_that_they_did():
    adaptive = build_model(
        "transformer_rope", **{**SMALL, "criterion": "adaptive_loss", "adaptive_softmax_cutoff": "[20, 40]"}
    )
    assert adaptive.decoder.adaptive_softmax.cutoff == [20, 40, 94]
    layers = dict(encoder_layers="[(32, 3)] * 2", decoder_layers="[(32, 3)] * 2 + [(32, 5)]")
    convolutional = build_model("fconv", **POSITIONS, **layers)
    assert len(convolutional.encoder.convolutions) == 2 and len(convolutional.decoder.convolutions) == 3
    assert utils.eval_bool("True") is True and utils.eval_bool(True, default=None) is None

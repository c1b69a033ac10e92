"""Longer inputs after the training, through the real command lines: `--model-overrides` and nothing else changes."""

import math
import re
from pathlib import Path

import pytest
import torch
from fairseq import checkpoint_utils
from fairseq.models.transformer import TransformerModel

import fairseq_rope
from fairseq_rope.export.ctranslate2 import export_checkpoint
from fairseq_rope.export.ctranslate2.__main__ import main as export_main
from fairseq_rope.inference.translator import Translator
from fairseq_rope_data.errors import UserError
from tests.integration.test_generate import USER_DIR, generate, lines
from tests.reference import ReferenceTransformer
from tests.support import ROOT
from tests.support.trained import SIZES, Trained, call
from tests.support.translators import load

SCALING = dict(rope_scaling="yarn,linear", rope_scaling_factor=4, rope_original_length="12")
OVERRIDES = ("--model-overrides", str(SCALING))
FIXED = ("--model-overrides", "{'rope_base': 500.0}")
REFUSED = r"--model-overrides: rope_base must stay 10000\.0, as \S+ was trained with it, but is 500\.0"


@pytest.fixture
def rebuilt(trained: Trained, tmp_path: Path) -> str:
    """A checkpoint of the same weights that was trained, so it says, with the options."""
    state = torch.load(trained.checkpoint, map_location="cpu", weights_only=True)
    for name, value in SCALING.items():
        setattr(state["cfg"]["model"], name, value)
    torch.save(state, tmp_path / "rebuilt.pt")
    return str(tmp_path / "rebuilt.pt")


def test_generate_with_overrides_gives_what_the_formulas_give(trained):
    log = generate(trained, "--lenpen", "0", *OVERRIDES)
    models, _, task = checkpoint_utils.load_model_ensemble_and_task([str(trained.checkpoint)])
    scaling = {"encoder": ("yarn", 4.0, 12), "decoder": ("linear", 4.0, 1)}
    reference = ReferenceTransformer(dict(models[0].state_dict()), num_heads=2, scaling=scaling)
    dictionary = task.target_dictionary
    sources, hypotheses, scores = (lines(log, kind) for kind in "SHP")
    for number in range(0, 300, 60):
        source = dictionary.encode_line(sources[number][0], add_if_not_exist=False).tolist()
        target = dictionary.encode_line(hypotheses[number][0].split("\t")[1], add_if_not_exist=False).tolist()
        log_probs = reference.logits(source, [dictionary.eos(), *target[:-1]]).log_softmax(-1)
        expected = log_probs[torch.arange(len(target)), torch.tensor(target)]
        actual = torch.tensor([float(x) for x in scores[number][0].split()], dtype=torch.float64)
        torch.testing.assert_close(actual * math.log(2), expected, atol=2e-4, rtol=0)


def test_validate_with_overrides_reports_the_loss_of_a_model_of_these_options(trained, rebuilt):
    losses = [
        re.search(rb"valid on 'valid' subset \| loss ([\d.]+)", validate(trained, path, *options))[1]
        for path, options in ((str(trained.checkpoint), OVERRIDES), (rebuilt, ()))
    ]
    assert losses[0] == losses[1]


def validate(trained: Trained, path: str, *options: str) -> bytes:
    command = ["fairseq_cli.validate", str(trained.data), "--path", path, "--cpu", *USER_DIR]
    done = call(*command, "--task", "translation", "--valid-subset", "valid", "--max-tokens", "600", *options)
    return done.stdout + done.stderr


def scores(translator: Translator, texts: list[str]) -> list[float]:
    sources = [translator.codec.encode(text, max_tokens=1000).tokens for text in texts]
    found = dict(translator.engine.translate(sources))
    return [found[i].score for i in range(len(texts))]


def test_translate_takes_overrides(trained, rebuilt):
    texts = trained.lines[:20]
    plain, overridden = (scores(load(trained, *options)[0], texts) for options in ((), OVERRIDES))
    assert overridden != pytest.approx(plain, abs=1e-3)
    assert overridden == scores(load(trained, "--path", rebuilt)[0], texts)


def test_from_pretrained_takes_them_as_keywords(trained):
    folder = str(trained.checkpoint.parent)
    model = fairseq_rope.TransformerRopeModel.from_pretrained(
        folder, checkpoint_file=trained.checkpoint.name, data_name_or_path=str(trained.data), **SCALING
    )
    rotary = model.models[0].encoder.position_method
    assert rotary.magnitude == pytest.approx(0.1 * math.log(4) + 1)


@pytest.mark.parametrize("model", ["default", "half"])
def test_checkpoints_of_before_the_options_take_them(model):
    path = str(ROOT / "tests" / "data" / "0.1.0" / f"{model}.pt")
    data = {"data": str(ROOT / "tests" / "data" / "0.1.0"), "source_lang": "en", "target_lang": "de"}
    theta = []
    for overrides in (data, {**data, "rope_scaling": "linear", "rope_scaling_factor": "3"}):
        models, _, _ = checkpoint_utils.load_model_ensemble_and_task([path], arg_overrides=overrides)
        theta.append(models[0].decoder.position_method.theta)
    torch.testing.assert_close(theta[1] * 3, theta[0], rtol=1e-15, atol=0)


def test_what_is_fixed_in_rotary_models_is_so_in_no_other(trained, tmp_path):
    state = torch.load(trained.checkpoint, map_location="cpu", weights_only=True)
    options = state["cfg"]["model"]
    for name in [name for name in vars(options) if name.startswith("rope_")]:
        delattr(options, name)
    options.arch = options._name = "transformer"
    torch.save(state, tmp_path / "stock.pt")
    overrides = {"rope_base": 500.0, "data": str(trained.data)}
    models, _, _ = checkpoint_utils.load_model_ensemble_and_task([str(tmp_path / "stock.pt")], arg_overrides=overrides)
    assert type(models[0]) is TransformerModel


def test_generate_refuses_another_base_by_name(trained):
    with pytest.raises(AssertionError, match=REFUSED):
        generate(trained, *FIXED)


def test_translate_and_export_refuse_another_base_by_name(trained, tmp_path, monkeypatch):
    with pytest.raises(UserError, match=f"^{REFUSED}$"):
        load(trained, *FIXED)
    words = ["--path", str(trained.checkpoint), "--data", str(trained.data), "--output", str(tmp_path / "model")]
    monkeypatch.setattr("sys.argv", ["export", *words, *FIXED])
    with pytest.raises(UserError, match=f"^{REFUSED}$"):
        export_main()
    assert list(tmp_path.iterdir()) == []


def test_a_bad_override_is_one_line(trained):
    with pytest.raises(UserError, match=r"--rope-scaling-factor must be finite and at least 1, .*, but is 0\.5$"):
        load(trained, "--model-overrides", "{'rope_scaling': 'ntk', 'rope_scaling_factor': 0.5}")


def test_export_writes_the_model_of_the_overrides(trained, rebuilt, tmp_path):
    command = ["fairseq_rope.export.ctranslate2", "--path", str(trained.checkpoint), "--data", str(trained.data)]
    call(*command, "--output", str(tmp_path / "a"), *OVERRIDES)
    export_checkpoint(Path(rebuilt), trained.data, tmp_path / "b")
    written = [(tmp_path / name / "model.bin").read_bytes() for name in "ab"]
    assert written[0] == written[1]
    texts = trained.lines[:20]
    runtime = ["--engine", "ctranslate2", "--path", str(tmp_path / "a")]
    of_runtime, of_fairseq = (load(trained, *options)[0].translate(texts) for options in (runtime, OVERRIDES))
    assert list(of_runtime) == list(of_fairseq)


def test_sources_longer_than_the_limit_of_the_training_are_read(trained, tmp_path):
    """A rotary model has no table that would end; the limits are options, the task's and the model's."""
    text = " ".join(["the dog sees Anna today"] * 150)
    source = tmp_path / "long.en"
    source.write_text("the dog sees Anna today " * 250 + "\n")  # which this command does not split by BPE
    limits = ("--max-source-positions", "2048", "--model-overrides", "{'max_source_positions': 2048}")
    cut, whole = load(trained), load(trained, *limits)
    for translator, notes in (cut, whole):
        list(translator.translate([text]))
        assert bool(notes) is (translator is cut[0])
    command = ["fairseq_cli.interactive", str(trained.data), "--path", str(trained.checkpoint), "--cpu", *USER_DIR]
    command += ["-s", "en", "-t", "de", "--input", str(source), "--beam", "1", "--max-len-b", "20"]
    assert "H-0" in call(*command, *limits).stdout.decode()


def test_a_training_continues_with_a_scaling(trained, tmp_path):
    command = ["fairseq_cli.train", str(trained.data), *USER_DIR, "--save-dir", str(tmp_path)]
    settings = f"{SIZES} --optimizer adam --lr 1e-4 --max-update 1 --max-tokens 500 --cpu --disable-validation"
    options = [word for name, value in SCALING.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    call(*command, *settings.split(), "--num-workers", "0", *options, "--finetune-from-model", str(trained.checkpoint))
    models, cfg, _ = checkpoint_utils.load_model_ensemble_and_task([str(tmp_path / "checkpoint_last.pt")])
    assert cfg.model.rope_scaling == "yarn,linear"
    assert models[0].encoder.position_method.magnitude > 1 == models[0].decoder.position_method.magnitude

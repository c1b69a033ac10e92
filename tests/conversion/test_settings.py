"""The options that make a model of an original's sizes, and how it was trained, as lines of shell."""

import shlex
import subprocess
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import pytest
import torch
from fairseq import options
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.models.transformer import TransformerModel

from fairseq_rope.checkpoints.command_line import option_words
from fairseq_rope.conversion.original import Original, read_original
from fairseq_rope.conversion.rotary import rotary_options
from fairseq_rope.conversion.settings import rotary_words, settings_text, stock_words
from fairseq_rope_data.errors import UserError
from tests.support.originals import data_folder, original_checkpoint, save_original

STOCK = sorted(arch for arch, model in ARCH_MODEL_REGISTRY.items() if model is TransformerModel)
# each of another kind: a number, a flag, a probability, a list, a word
CHANGED = dict(
    **dict(encoder_layers=1, decoder_layers=2, share_decoder_input_output_embed=True, dropout=0.25),
    **dict(adaptive_softmax_cutoff=[10, 20], activation_fn="gelu", encoder_layerdrop=0.125),
)
SMALL_AGAIN = dict(encoder_embed_dim=24, decoder_embed_dim=24, encoder_attention_heads=2, decoder_attention_heads=2)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return data_folder(tmp_path / "data-bin")


def read(state: dict[str, Any], data: Path) -> Original:
    torch.save(state, data.parent / "x.pt")
    return read_original(data.parent / "x.pt", data)


def parsed(words: list[str]) -> dict[str, Any]:
    parser = options.get_training_parser()
    return vars(options.parse_args_and_arch(parser, ["data-bin", *words]))


@pytest.mark.parametrize("changed", [{}, CHANGED], ids=["as the arch", "changed"])
@pytest.mark.parametrize("arch", STOCK)
def test_fairseq_train_reads_the_words_as_the_options_of_the_model(arch: str, changed: dict[str, Any], data: Path):
    state = original_checkpoint()
    state["cfg"]["model"] = type(state["cfg"]["model"])(arch=arch, _name=arch, **changed)
    original = read(state, data).model
    for words, model in ((stock_words(original), original), (rotary_words(original), rotary_options(original))):
        read_back = parsed(words)
        different = {
            name: (value, read_back[name])
            for name, value in vars(model).items()
            if name in read_back and str(read_back[name]) != str(value)
        }
        assert different == {}
    assert len(stock_words(original)) <= 2 + 2 * len(changed) + 4  # not a word for what the arch says


def test_the_settings_are_those_of_the_original_and_a_shell_reads_them(data: Path, tmp_path: Path):
    state = original_checkpoint(**SMALL_AGAIN)
    state["cfg"]["dataset"]["skip_invalid_size_inputs_valid_test"] = True
    text = settings_text(read(state, data))
    arrays = ("TEST_SETS", "MODEL_CONVERTED", "MODEL_CONTINUED", "TRAIN")
    script = text + "".join(f"\nprintf '%s\\0' {name} \"${{{name}[@]}}\"; echo" for name in arrays)
    done = subprocess.run(["bash", "-c", f"set -eu; {script}"], capture_output=True, text=True, check=True)
    found = {words[0]: words[1:-1] for words in (line.split("\0") for line in done.stdout.splitlines())}
    sizes = ["--encoder-embed-dim", "24", "--encoder-ffn-embed-dim", "40", "--encoder-layers", "2"]
    assert found["MODEL_CONVERTED"][:8] == ["--arch", "transformer_rope", *sizes]
    assert found["MODEL_CONTINUED"][:8] == ["--arch", "transformer", *sizes]
    assert found["TRAIN"] == [
        *("--criterion", "label_smoothed_cross_entropy", "--label-smoothing", "0.1"),
        *("--optimizer", "adam", "--adam-betas", "(0.9, 0.98)", "--weight-decay", "0.0001"),
        *("--clip-norm", "0.5", "--skip-invalid-size-inputs-valid-test"),
    ]
    plain = dict(line.split("=", 1) for line in text.splitlines() if "(" not in line)
    assert plain == {
        **{"SOURCE_LANG": "en", "TARGET_LANG": "de", "BPE": "subword_nmt", "ORIGINAL_UPDATES": "40"},
        **{"PEAK_RATE": "0.005", "BATCH_TOKENS": str(2048 * 2 * 4)},
    }
    assert found["TEST_SETS"] == ["test"]


def test_batches_of_sentences_leave_the_number_of_tokens_to_the_conf(data: Path):
    state = original_checkpoint()
    state["cfg"]["dataset"]["max_tokens"] = None
    assert "BATCH_TOKENS" not in settings_text(read(state, data))


def test_pieces_are_known_by_the_dictionary(data: Path):
    for lang in ("en", "de"):
        dictionary = data / f"dict.{lang}.txt"
        dictionary.write_text(dictionary.read_text().replace("w7 ", "\u2581w7 "), encoding="utf-8")
    assert "\nBPE=sentencepiece\n" in settings_text(read(original_checkpoint(), data))
    for lang in ("en", "de"):  # a stray mark among parts of words
        dictionary = data / f"dict.{lang}.txt"
        parts = dictionary.read_text().replace("w8 ", "w8@@ ").replace("w9 ", "w9@@ ")
        dictionary.write_text(parts, encoding="utf-8")
    assert "\nBPE=subword_nmt\n" in settings_text(read(original_checkpoint(), data))


@pytest.mark.parametrize(
    ("section", "value", "message"),
    [
        ("criterion", {"_name": "mine"}, "--from {path}: this installation has no --criterion mine"),
        ("optimizer", {"_name": "mine"}, "--from {path}: this installation has no --optimizer mine"),
    ],
)
def test_what_this_installation_lacks_is_named(section: str, value: dict[str, str], message: str, data: Path):
    state = original_checkpoint()
    state["cfg"][section] = value
    original = read(state, data)
    with pytest.raises(UserError) as caught:
        settings_text(original)
    assert str(caught.value) == message.format(path=original.path)


@pytest.mark.parametrize("updates", [0, None, "many", True])
def test_a_checkpoint_without_updates_is_named(updates: object, data: Path):
    state = original_checkpoint()
    state["optimizer_history"][-1]["num_updates"] = updates
    original = read(state, data)
    with pytest.raises(UserError) as caught:
        settings_text(original)
    expected = f"--from {original.path} must say after how many updates it was saved, but does not"
    assert str(caught.value) == expected


@pytest.mark.parametrize("rate", [None, [], [0.0], [float("nan")], [float("inf")]])
def test_a_checkpoint_without_a_rate_is_named(rate: list[float] | None, data: Path):
    state = original_checkpoint()
    state["cfg"]["optimization"]["lr"] = rate
    original = read(state, data)
    with pytest.raises(UserError, match=r"x.pt must say its learning rate, above 0, but has (0|0.0|nan|inf)$"):
        settings_text(original)


def test_words_are_quoted_for_a_shell(data: Path, tmp_path: Path):
    state = original_checkpoint()
    state["cfg"]["optimizer"]["adam_betas"] = "(0.9, 0.98) #'"
    line = next(line for line in settings_text(read(state, data)).splitlines() if line.startswith("TRAIN"))
    assert "(0.9, 0.98) #'" in shlex.split(line.removeprefix("TRAIN=(").removesuffix(")"))
    assert save_original(tmp_path / "y.pt").is_file()


def in_bash(text: str, folder: Path) -> None:
    """Use the settings as scripts/lib does: words of a command, and in arithmetic, which runs what stands in $( )."""
    command = f"{text}\n: ${{TRAIN[@]}} $(((BATCH_TOKENS + 1) / 2))"
    subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, check=False)


@pytest.mark.parametrize(
    ("section", "name"),
    [
        *(("dataset", "max_tokens"), ("optimization", "lr"), ("optimization", "clip_norm")),
        *(("optimization", "update_freq"), ("distributed_training", "distributed_world_size")),
    ],
)
def test_what_a_shell_computes_with_is_a_number(section: str, name: str, data: Path, tmp_path: Path):
    state = original_checkpoint()
    state["cfg"]["distributed_training"]["distributed_world_size"] = 1
    state["cfg"]["optimization"]["update_freq"] = [1]
    code = "a[$(touch marker)]"
    state["cfg"][section][name] = [code] if isinstance(state["cfg"][section][name], list) else code
    original = read(state, data)
    with pytest.raises(UserError) as caught:
        in_bash(settings_text(original), tmp_path)
    assert str(caught.value) == f"--from {original.path}: its option {name} must be a number, but is {code!r}"
    assert not (tmp_path / "marker").exists()


def test_a_value_that_begins_as_an_option_is_none():
    parser = ArgumentParser()
    parser.add_argument("--first")
    parser.add_argument("--second")
    words = list(option_words(parser, Namespace(first="--user-dir=evil", second="a b"), {}))
    assert words == ["--first=--user-dir=evil", "--second", "a b"]


@pytest.mark.parametrize(
    ("section", "name", "option"),
    [
        *(("criterion", "label_smoothing", "--label-smoothing"), ("optimizer", "weight_decay", "--weight-decay")),
        *(("model", "encoder_layers_to_keep", "--encoder-layers-to-keep"), ("model", "dropout", "--dropout")),
        *(("model", "activation_fn", "--activation-fn"), ("task", "max_source_positions", "--max-source-positions")),
    ],
)
@pytest.mark.parametrize("value", ["$(touch marker)", "--user-dir=evil", "0.1\n0.2", "'"])
def test_a_value_that_fairseq_train_would_refuse_is_named(section: str, name: str, option: str, value: str, data: Path):
    state = original_checkpoint()
    part = state["cfg"][section]
    (vars(part) if section == "model" else part)[name] = value
    original = read(state, data)
    with pytest.raises(UserError) as caught:
        settings_text(original)
    assert str(caught.value) == f"fairseq-train does not take {option} as the checkpoint has it: {value!r}"

"""A gated model through the real command lines: trained, averaged, generated from, translated with, exported."""

import re
from pathlib import Path

import pytest

from fairseq_rope import TransformerRopeModel
from fairseq_rope.export.ctranslate2 import export_checkpoint
from fairseq_rope.inference.translator import Translator
from tests.support import ROOT
from tests.support.trained import Trained, call, trained_model

CHAIN = dict(tokenizer="moses", bpe="subword_nmt")


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A small SwiGLU model, and in the place of its checkpoint the average of it alone."""
    trained = trained_model(tmp_path_factory.mktemp("gated"), "--ffn swiglu")
    averaged = trained.checkpoint.with_name("averaged.pt")
    call("fairseq_rope.tools.average", "--inputs", str(trained.checkpoint), "--output", str(averaged))
    return trained._replace(checkpoint=averaged)


def test_all_ways_to_translate_give_the_same(gated: Trained, tmp_path: Path):
    lines = gated.lines[:40]
    search = ["--beam", "4", "--lenpen", "0.6"]
    translated = list(Translator.from_args([*gated.options(), *search]).translate(lines))
    assert len(set(translated)) > 20  # it learned something
    export_checkpoint(gated.checkpoint, gated.data, tmp_path / "model")
    engine = ["--engine", "ctranslate2", "--path", str(tmp_path / "model")]
    exported = list(Translator.from_args([*gated.options(), *search, *engine]).translate(lines))
    # in a search the runtime gives what <pad> would have had to all words: the beam's last place can go to another one,
    # and where four short hypotheses then end first, the search does
    assert sum(one != other for one, other in zip(exported, translated, strict=True)) <= 2
    files = dict(checkpoint_file=gated.checkpoint.name, data_name_or_path=str(gated.data), bpe_codes=str(gated.codes))
    hub = TransformerRopeModel.from_pretrained(str(gated.checkpoint.parent), **files, **CHAIN)
    assert hub.translate(lines, beam=4, lenpen=0.6) == translated
    command = ["fairseq_cli.generate", *gated.options(), *search, "--user-dir", str(ROOT / "fairseq_rope")]
    log = call(*command, "--gen-subset", "valid", "--required-batch-size-multiple", "1").stdout.decode()
    generated = {int(n): text for n, text in re.findall(r"^D-(\d+)\t\S+\t(.*)$", log, re.MULTILINE)}
    assert [generated[n] for n in range(len(lines))] == translated


def test_a_training_with_two_activations_ends_before_it_starts(gated: Trained, tmp_path: Path):
    options = ["--arch", "transformer_rope_tiny", "--ffn", "geglu", "--activation-fn", "relu", "--optimizer", "adam"]
    command = ["fairseq_cli.train", str(gated.data), "--user-dir", str(ROOT / "fairseq_rope"), *options]
    with pytest.raises(AssertionError) as error:
        call(*command, "--save-dir", str(tmp_path / "save"), "--max-tokens", "500", "--cpu")
    message = "ValueError: --activation-fn relu cannot be used with --ffn geglu: its activation is gelu"
    assert str(error.value).rstrip().endswith(message)
    assert not list(tmp_path.glob("save/*.pt"))

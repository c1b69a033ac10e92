"""Checkpoints of released versions translate as they did, to the word, with scores within rounding."""

from pathlib import Path

import pytest

from fairseq_rope.export.ctranslate2 import export_checkpoint
from fairseq_rope.inference.translator import Translator
from tests.support import ROOT
from tests.support.release import chain, interactive

MODELS = sorted((ROOT / "tests" / "data").glob("*/*.pt"))
PATHS = pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}-{path.stem}")


def recorded(path: Path) -> list[tuple[str, str, float]]:
    """A model's lines, their translations and scores."""
    rows = [row.split("\t") for row in path.with_suffix(".tsv").read_text(encoding="utf-8").splitlines()]
    return [(line, text, float(score)) for line, text, score in rows]


def test_there_are_two_models_of_the_first_version():
    assert [path.stem for path in MODELS if path.parent.name == "0.1.0"] == ["default", "half"]


@PATHS
def test_fairseqs_own_command_gives_the_recorded_translations_and_scores(path: Path):
    lines, texts, scores = zip(*recorded(path), strict=True)
    found = interactive(path.parent, path.stem, list(lines))
    assert [text for text, _ in found] == list(texts)
    assert [score for _, score in found] == pytest.approx(list(scores), abs=1e-4)


@PATHS
@pytest.mark.parametrize("engine", ["fairseq", "ctranslate2"])
def test_translate_gives_the_recorded_translations(path: Path, engine: str, tmp_path: Path):
    lines, texts, _ = zip(*recorded(path), strict=True)
    arguments = chain(path.parent, path.stem)
    if engine == "ctranslate2":
        export_checkpoint(path, path.parent, tmp_path / "model", source_lang="en", target_lang="de")
        arguments += ["--engine", "ctranslate2", "--path", str(tmp_path / "model")]
    assert list(Translator.from_args(arguments).translate(lines)) == list(texts)

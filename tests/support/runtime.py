"""A translator whose engine is CTranslate2."""

from pathlib import Path

from fairseq_rope.inference.translator import Translator
from tests.support.trained import Trained


def load(trained: Trained, folder: Path, *options: str) -> Translator:
    """Return one of a model folder, with beam 2 and a thread a batch."""
    engine = ("--engine", "ctranslate2", "--path", str(folder), "--intra-threads", "1", "--beam", "2")
    return Translator.from_args([*trained.options(), *engine, *options])

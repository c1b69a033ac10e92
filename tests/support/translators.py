"""Translators of the small model, for tests of what they give and of what they refuse."""

from fairseq_rope.inference.translator import Translator
from tests.support.trained import Trained


class Notes(list[tuple[int, str]]):
    """What a translator reports."""

    def __call__(self, number: int, note: str) -> None:
        self.append((number, note))


def load(trained: Trained, *options: str) -> tuple[Translator, Notes]:
    notes = Notes()
    return Translator.from_args([*trained.options(), "--beam", "2", *options], on_note=notes), notes

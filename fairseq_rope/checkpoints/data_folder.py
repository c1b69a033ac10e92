"""The folder that fairseq-preprocess writes: its languages and dictionaries."""

from pathlib import Path

from fairseq import utils
from fairseq.data import data_utils
from fairseq.tasks.translation import TranslationConfig, TranslationTask

from fairseq_rope.checkpoints.loading import brief
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import check_begins_with_word
from fairseq_rope_data.recorded import check_recorded


def check_no_colon(option: str, name: str) -> None:
    """Check that fairseq does not split the name of a file or folder at its colon, as it splits a list.

    Raises:
        UserError: the name has a colon and is there as a whole.
    """
    if len(utils.split_paths(name)) > 1 and Path(name).exists():
        raise UserError(f"{option} {name} has a colon, where fairseq splits it: rename or link it")


def languages(data: Path, source_lang: str | None, target_lang: str | None) -> tuple[str, str]:
    """Return the languages of DATA, from its file names where they are not given; both have a dictionary.

    Args:
        data: a folder, or several with : between them, of which the first counts.
        source_lang: if it is given.
        target_lang: if it is given.

    Raises:
        UserError: no such folder, languages that neither options nor file names tell, a language without a dictionary,
            or a dictionary that is not as a recipe prepared it.
    """
    check_no_colon("DATA", str(data))
    folder = Path(utils.split_paths(str(data))[0])
    if not folder.is_dir():
        named = folder if data == folder else f"{folder} of {data}"
        raise UserError(f"DATA must be a folder of fairseq-preprocess, but {named} is not a folder")
    if source_lang is None or target_lang is None:
        source, target = data_utils.infer_language_pair(str(folder))
        source_lang, target_lang = source_lang or source, target_lang or target
    if source_lang is None or target_lang is None:
        raise UserError(f"give --source-lang and --target-lang: the file names in {folder} do not tell them")
    for option, lang in (("--source-lang", source_lang), ("--target-lang", target_lang)):
        if str(lang).startswith("-"):  # a recipe writes it into a command line
            raise UserError(f"{option} must be a language, but is {lang!r}")
        name = dictionary_name(lang)
        if not (folder / name).is_file():
            raise UserError(f"DATA {folder} has no dictionary {name} ({option} {lang})")
        check_begins_with_word(folder / name)
        check_recorded(folder / name)
    return source_lang, target_lang


def translation_task(data: Path, source_lang: str | None, target_lang: str | None) -> TranslationTask:
    """Return fairseq's task of DATA, with its dictionaries; for the languages see `languages`.

    Raises:
        UserError: see `languages`; or a dictionary is damaged.
    """
    source, target = languages(data, source_lang, target_lang)
    try:
        return TranslationTask.setup_task(TranslationConfig(data=str(data), source_lang=source, target_lang=target))
    except Exception as error:  # a damaged dictionary has errors of its own
        raise UserError(f"cannot load the dictionaries of {data}: {brief(error)}") from error


def dictionary_name(lang: str) -> str:
    """Return the file name of a language's dictionary."""
    return f"dict.{lang}.txt"

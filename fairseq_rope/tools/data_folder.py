"""The folder that fairseq-preprocess writes: its languages and dictionaries."""

from pathlib import Path

from fairseq.data import data_utils

from fairseq_rope.tools._common import ToolError
from fairseq_rope.tools.recorded import check_recorded


def languages(folder: Path, source_lang: str | None, target_lang: str | None) -> tuple[str, str]:
    """Give the languages of a folder, from its file names where they are not given, once their dictionaries are there.

    Raises:
        ToolError: no such folder, languages that nothing tells, a language without a dictionary, or one that is not
            as a recipe prepared it.
    """
    if not folder.is_dir():
        raise ToolError(f"DATA must be a folder of fairseq-preprocess, but {folder} is not a folder")
    if source_lang is None or target_lang is None:
        source, target = data_utils.infer_language_pair(str(folder))
        source_lang, target_lang = source_lang or source, target_lang or target
    if source_lang is None or target_lang is None:
        raise ToolError(f"give --source-lang and --target-lang: the file names in {folder} do not tell them")
    for option, lang in (("--source-lang", source_lang), ("--target-lang", target_lang)):
        name = dictionary_name(lang)
        if not (folder / name).is_file():
            raise ToolError(f"DATA {folder} has no dictionary {name} ({option} {lang})")
        check_recorded(folder / name)
    return source_lang, target_lang


def dictionary_name(lang: str) -> str:
    """Give the file name of a language's dictionary."""
    return f"dict.{lang}.txt"

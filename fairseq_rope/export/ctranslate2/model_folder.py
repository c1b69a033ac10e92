"""The folder of a model for CTranslate2: its files, and what fairseq knows of the model that the runtime does not.

`model.bin`, `config.json` and the vocabularies are the runtime's. Beside them stand the two dictionaries, so that the
folder can serve as DATA; `fairseq_rope.json`, the `ModelSettings`; and `SHA256SUMS`, which `sha256sum -c` reads: none
of these files has a checksum of its own, and with another bit in a weight it is another model.
"""

import hashlib
import json
import re
from collections.abc import Container
from pathlib import Path
from typing import Any, NamedTuple

from fairseq_rope.checkpoints.data_folder import dictionary_name
from fairseq_rope_data.errors import UserError

SETTINGS = "fairseq_rope.json"
CHECKSUMS = "SHA256SUMS"
_CHECKSUM = re.compile(r"([0-9a-f]{64})  ([^/]+)")
QUANTIZATIONS = (
    *("float32", "float16", "bfloat16", "int16"),
    *("int8", "int8_float32", "int8_float16", "int8_bfloat16"),
)


# what the runtime and `read_model_folder` look for in a folder, be it written or not
OWN_NAMES = {
    *(SETTINGS, CHECKSUMS, "model.bin", "config.json", "vmap.txt"),
    *(f"{name}_vocabulary.{end}" for name in ("source", "target", "shared") for end in ("json", "txt")),
}


class ModelSettings(NamedTuple):
    """What a checkpoint holds beyond weights: languages, limits in tokens with </s>, and how it was rounded."""

    source_lang: str
    target_lang: str
    max_source_positions: int
    max_target_positions: int
    quantization: str


class ModelFolder(NamedTuple):
    """A complete folder, with the names that the runtime gives to the tokens, in the order of their numbers.

    Its files are those that have a checksum, and that of the checksums.
    """

    path: Path
    settings: ModelSettings
    source_names: list[str]
    target_names: list[str]
    files: list[Path]


def token_names(dictionary: Any) -> list[str]:
    """Return a name of its own for each token of a fairseq dictionary; the runtime knows tokens by name only.

    A word that `#fairseq:overwrite` put over an earlier one keeps its name, for text finds it by that.
    """
    return [
        symbol if dictionary.indices[symbol] == i else _new_name(f"{symbol}#{i}", dictionary.indices)
        for i, symbol in enumerate(dictionary.symbols)
    ]


def _new_name(name: str, taken: Container[str]) -> str:
    return _new_name(f"{name}#", taken) if name in taken else name


def write_dictionary(dictionary: Any, folder: Path, lang: str) -> None:
    """Write a dictionary as fairseq reads it; its own `save` loses which words overwrite earlier ones."""
    seen = set(dictionary.symbols[: dictionary.nspecial])
    with (folder / dictionary_name(lang)).open("w", encoding="utf-8") as file:
        for symbol, count in list(zip(dictionary.symbols, dictionary.count, strict=True))[dictionary.nspecial :]:
            file.write(f"{symbol} {count}{' #fairseq:overwrite' if symbol in seen else ''}\n")
            seen.add(symbol)


def write_settings(folder: Path, settings: ModelSettings) -> None:
    """Write the settings file of a model folder."""
    (folder / SETTINGS).write_text(json.dumps(settings._asdict(), indent=2) + "\n", encoding="utf-8")


def write_checksums(folder: Path) -> None:
    """Record the checksum of every file of a folder that is otherwise complete."""
    names = sorted(file.name for file in folder.iterdir() if file.name != CHECKSUMS)
    lines = (f"{_sha256(folder / name)}  {name}\n" for name in names)
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")


def check_checksums(folder: Path) -> list[Path]:
    """Compare every file with what `write_checksums` recorded, and return them; files put there later don't matter.

    Raises:
        UserError: a file is missing, or its content isn't what it was.
    """
    # a last line without an end, cut off, is a line too
    lines = _file(folder, CHECKSUMS).read_bytes().decode(errors="replace").removesuffix("\n").split("\n")
    files = [folder / CHECKSUMS]
    for number, line in enumerate(lines, start=1):
        match = _CHECKSUM.fullmatch(line)
        if match is None:
            raise UserError(f"{folder / CHECKSUMS}:{number} is damaged: it must be a SHA-256 and a name")
        files.append(_file(folder, match[2]))
        if _sha256(files[-1]) != match[1]:
            raise UserError(f"{files[-1]} is damaged: its SHA-256 is not the one in {CHECKSUMS}")
    return files


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def read_model_folder(path: Path) -> ModelFolder:
    """Read a folder that `fairseq_rope.export.ctranslate2` wrote.

    Raises:
        UserError: it is not a folder, lacks a file, or has one that is not as it was written.
    """
    if not path.is_dir():
        raise UserError(
            f"--path {path}: with --engine ctranslate2 it must be one folder, made by fairseq_rope.export.ctranslate2"
        )
    files = check_checksums(path)
    try:
        settings = ModelSettings(**_read_json(path, SETTINGS))
    except TypeError as error:
        raise UserError(f"{path / SETTINGS} is damaged: its keys must be {', '.join(ModelSettings._fields)}") from error
    for name, value in settings._asdict().items():
        kind = ModelSettings.__annotations__[name]
        # type, not isinstance: a bool is no number; two tokens are a word and </s>
        if type(value) is not kind or (kind is int and not 2 <= value < 2**31):
            rule = "text" if kind is str else "a number of at least 2"
            raise UserError(f"{path / SETTINGS} is damaged: {name} must be {rule}, but is {str(value)[:40]!r}")
    shared = "shared_vocabulary.json"
    names = [shared, shared] if (path / shared).is_file() else ["source_vocabulary.json", "target_vocabulary.json"]
    dictionaries = map(dictionary_name, (settings.source_lang, settings.target_lang))
    for name in (SETTINGS, "model.bin", "config.json", *dictionaries, *names):
        if _file(path, name) not in files:
            raise UserError(f"{path / CHECKSUMS} is damaged: it has no line for {name}")
    source_names, target_names = (_read_names(path, name) for name in names)
    return ModelFolder(path, settings, source_names, target_names, files)


def _read_names(folder: Path, name: str) -> list[str]:
    names = _read_json(folder, name)
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise UserError(f"{folder / name} is damaged: it must be a list of tokens")
    return names


def _read_json(folder: Path, name: str) -> Any:
    content = _file(folder, name).read_bytes()
    try:
        return json.loads(content)
    except (RecursionError, ValueError) as error:
        raise UserError(f"{folder / name} is damaged: {error}") from error


def _file(folder: Path, name: str) -> Path:
    if not (folder / name).is_file():
        raise UserError(f"the model folder {folder} is incomplete: it has no {name}")
    return folder / name

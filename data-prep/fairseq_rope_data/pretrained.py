"""Print how the text of a pre-trained model became pieces, as settings of the shell, for text that it is fine-tuned on.

    python -m fairseq_rope_data.pretrained runs/mlm

FOLDER is the work folder of a recipe, whose manifest.json has the settings; or a folder with dict.txt and vocab.txt, a
vocabulary of WordPiece, as models of Hugging Face have it: lower-cased unless tokenizer_config.json says otherwise.
Prints SOURCE_LANG, NORMALIZE, LOWERCASE, MOSES, BPE, CODES, the file that BPE or a vocabulary was learned into, and
DICTIONARY.
"""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import check_begins_with_word
from fairseq_rope_data.manifest import MANIFEST
from fairseq_rope_data.recorded import check_recorded

_CODES = {
    "subword_nmt": "codes",
    "sentencepiece": "sentencepiece.model",
    "characters": "vocabulary",
    "words": "vocabulary",
}
_KEPT = ("SOURCE_LANG", "NORMALIZE", "LOWERCASE", "MOSES", "BPE")


def pretrained_settings(folder: Path) -> dict[str, str]:
    """Return the settings above.

    Raises:
        UserError: the folder is no such one, or a file in it is not as it was prepared.
    """
    if (folder / MANIFEST).is_file():
        found = _of_recipe(folder)
    elif (folder / "vocab.txt").is_file():
        config = folder / "tokenizer_config.json"
        is_lower = _json(config).get("do_lower_case", True)
        if not isinstance(is_lower, bool):
            raise UserError(f"{config}: do_lower_case must be true or false, but is {is_lower!r}")
        lowercase = str(int(is_lower))
        found = {"SOURCE_LANG": "en", "NORMALIZE": "0", "LOWERCASE": lowercase, "MOSES": "", "BPE": "wordpiece"}
        found |= {"CODES": f"{folder / 'vocab.txt'}", "DICTIONARY": f"{folder / 'dict.txt'}"}
    else:
        raise UserError(
            f"--from must name a work folder with {MANIFEST} or a folder with vocab.txt and dict.txt, but is {folder}"
        )
    for name in ("CODES", "DICTIONARY"):
        _check_file(Path(found[name]))
    return found


def _of_recipe(folder: Path) -> dict[str, str]:
    path = folder / MANIFEST
    known = _json(path).get("settings")
    if not isinstance(known, dict) or "BPE" not in known:
        raise UserError(f"{path} is damaged: it has no settings of BPE")
    if known["BPE"] not in _CODES:
        raise UserError(f"{path}: BPE must be one of {', '.join(_CODES)}, but is {known['BPE']!r}")
    found = {name: str(known.get(name, {"SOURCE_LANG": "en", "MOSES": ""}.get(name, "0"))) for name in _KEPT}
    codes, dictionary = folder / "text" / _CODES[found["BPE"]], folder / "data-bin" / "dict.txt"
    return {**found, "CODES": f"{codes}", "DICTIONARY": f"{dictionary}"}


def _json(path: Path) -> Mapping[str, Any]:
    """Return the object that a file holds; an empty one where there is no file."""
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is damaged: {error}") from None
    if not isinstance(found, dict):
        raise UserError(f"{path} is damaged: it must be a JSON object")
    return found


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise UserError(f"{path} is missing: the model's own vocabulary is needed, or it would read other words")
    check_begins_with_word(path)
    check_recorded(path)


def main() -> None:
    parser = cli.parser(__doc__, "pretrained")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="of the pre-trained model")
    for name, value in pretrained_settings(parser.parse_args().folder).items():
        print(f"{name}=({shlex.join(value.split())})" if name == "MOSES" else f"{name}={shlex.quote(value)}")


if __name__ == "__main__":
    run("pretrained", main)

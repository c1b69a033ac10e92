"""Record what a prepared corpus is made of: versions, settings, and size and SHA-256 of every file.

    python -m fairseq_rope_data.manifest runs/wmt14 BPE_MERGES=37000

writes runs/wmt14/manifest.json on the files under raw/, text/ and data-bin/. It is the same, byte for byte, when these
are: there is no time in it, and logs and unfinished files (*.log, *.part*) are left out. Text files have their number
of lines, which are the newlines.
"""

import hashlib
import json
import platform
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from importlib import metadata
from pathlib import Path

from fairseq_rope_data import cli
from fairseq_rope_data.archives import Readable, unpacked
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import complete_file, open_text

MANIFEST = "manifest.json"
FOLDERS = ("raw", "text", "data-bin")
PACKAGES = (
    "fairseq fairseq-fixed fairseq-rope numpy regex rjieba sacrebleu sacremoses sentencepiece subword-nmt tokenizers "
    "torch"
)
CHUNK = 1 << 20

Facts = dict[str, int | str]


def versions() -> dict[str, str]:
    """Return the versions of Python and of those packages that are installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES.split():
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def plain(path: Path) -> AbstractContextManager[Readable]:
    """Open a file, or FILE.gz unpacked where there is no FILE; for errors see `open_text` and `unpacked`."""
    packed = Path(f"{path}.gz")  # . and / have no name
    return open_text(path) if path.exists() or not packed.exists() else unpacked(packed)


def facts(path: Path) -> Facts:
    """Return size and SHA-256 of a file, and the number of lines if it is text; memory doesn't depend on its size."""
    with plain(path) as file:
        return facts_of(iter(lambda: file.read(CHUNK), b""))


def facts_of(chunks: Iterable[bytes]) -> Facts:
    """Return the same of the bytes of a file."""
    digest, size, lines, is_text = hashlib.sha256(), 0, 0, True
    for chunk in chunks:
        digest.update(chunk)
        size += len(chunk)
        lines += chunk.count(b"\n")
        is_text = is_text and b"\0" not in chunk
    return {**({"lines": lines} if is_text else {}), "bytes": size, "sha256": digest.hexdigest()}


def files(work: Path) -> Iterator[Path]:
    """Yield the finished files of a corpus, sorted within each folder."""
    for folder in FOLDERS:
        for path in sorted((work / folder).rglob("*")):
            if path.is_file() and path.suffix != ".log" and ".part" not in path.name:
                yield path


def settings(words: list[str]) -> dict[str, str]:
    """Read words of the form key=value.

    Raises:
        UserError: a word has another form, or a key comes twice.
    """
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not key or not equals or key in found:
            raise UserError(f"a setting must be KEY=VALUE, each key once, but is {word!r}")
        found[key] = value
    return found


def main() -> None:
    parser = cli.parser(__doc__, "manifest")
    parser.add_argument("work", type=Path, metavar="WORK", help="folder of the corpus")
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE", help="what the corpus was made with")
    options = parser.parse_args()
    chosen = settings(options.settings)
    hashed = {str(path.relative_to(options.work)): facts(path) for path in files(options.work)}
    if not hashed:
        raise UserError(f"{options.work} has no file in {', '.join(FOLDERS)}")
    content = {"versions": versions(), "settings": chosen, "files": hashed}
    with complete_file(options.work / MANIFEST) as part:
        part.write_text(json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run("manifest", main)

"""Print what tells a text from another: its lines, bytes and SHA-256, a line for each file.

    python -m fairseq_rope_data.fingerprint data/train.en data/train.de

reads data/train.en.gz, unpacked, where there is no data/train.en. With --versions it prints the versions of Python and
of the packages that text goes through, a line each.
"""

from pathlib import Path

from fairseq_rope_data import cli
from fairseq_rope_data.errors import run
from fairseq_rope_data.manifest import Facts, facts, versions


def described(found: Facts) -> str:
    """Return the facts of a text in words."""
    return f"{found.get('lines', 'no')} lines, {found['bytes']} bytes, sha256 {found['sha256']}"


def main() -> None:
    parser = cli.parser(__doc__, "fingerprint")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="a text, or its name without .gz")
    parser.add_argument("--versions", action="store_true", help="print the versions of Python and of packages first")
    options = parser.parse_args()
    if options.versions:
        print(*(f"{name} {version}" for name, version in versions().items()), sep="\n")
    for path in options.files:
        print(described(facts(path)))


if __name__ == "__main__":
    run("fingerprint", main)

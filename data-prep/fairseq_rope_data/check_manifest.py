"""Compare a prepared corpus with its manifest.json: every file that is recorded has its size and SHA-256 still.

Binarized data has no checksum of its own: with a bit changed it is another text, and nobody sees it.

    python -m fairseq_rope_data.check_manifest runs/wmt14 data-bin
"""

from pathlib import Path

from fairseq_rope_data import cli
from fairseq_rope_data.errors import run
from fairseq_rope_data.manifest import FOLDERS, MANIFEST
from fairseq_rope_data.recorded import check_file, recorded_files


def main() -> None:
    parser = cli.parser(__doc__, "check_manifest")
    parser.add_argument("work", type=Path, metavar="WORK", help="folder of the corpus")
    parser.add_argument("folders", nargs="*", default=FOLDERS, metavar="FOLDER", help="of WORK (default: all)")
    options = parser.parse_args()
    manifest = options.work / MANIFEST
    for name, entry in recorded_files(manifest).items():
        if name.partition("/")[0] in options.folders:
            check_file(options.work / name, entry, manifest)


if __name__ == "__main__":
    run("check_manifest", main)

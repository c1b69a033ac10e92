"""Where the runs of an experiment come from: starts, hardware, versions, and checksums of the data."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairseq_rope_data.errors import UserError
from fairseq_rope_data.manifest import MANIFEST, Facts
from fairseq_rope_data.recorded import recorded_files


def run_starts(run: Path) -> list[dict[str, Any]]:
    """Return what provenance.jsonl says of each start of a run; none where there is no such file.

    Raises:
        UserError: a line is no JSON object.
    """
    path = run / "provenance.jsonl"
    if not path.is_file():
        return []
    starts = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        try:
            starts.append(json.loads(line))
        except ValueError:
            raise UserError(f"{path}:{number}: a line must be a JSON object, but is {line[:80]!r}") from None
        if not isinstance(starts[-1], dict):
            raise UserError(f"{path}:{number}: a line must be a JSON object, but is {line[:80]!r}")
    return starts


def raw_files(work: Path) -> dict[str, Facts]:
    """Return name -> lines, bytes and sha256 of the raw text of a work folder; none without a manifest.

    Raises:
        UserError: the manifest is damaged.
    """
    manifest = work / MANIFEST
    files = recorded_files(manifest) if manifest.is_file() else {}
    return {name: facts for name, facts in files.items() if name.startswith("raw/")}


def check_same_data(works: Mapping[Path, Mapping[str, Facts]]) -> None:
    """Check that work folders whose runs are compared have the same raw text.

    Args:
        works: work folder -> its raw files, as `raw_files` returns them.

    Raises:
        UserError: a file differs, or one folder lacks it.
    """
    (first, files), *others = works.items()
    for other, theirs in others:
        for name in sorted({*files, *theirs}):
            if files.get(name, {}).get("sha256") != theirs.get(name, {}).get("sha256"):
                raise UserError(
                    f"{name} of {first} and {other} is not the same: models are compared on the same data only, "
                    "make a page for each"
                )

"""Where the runs of an experiment come from: starts, hardware, versions."""

import json
from pathlib import Path
from typing import Any

from fairseq_rope_data.errors import UserError


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

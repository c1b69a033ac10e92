"""Models of several work folders are compared on the same data only, as the manifests have it."""

from collections.abc import Sequence
from pathlib import Path

from fairseq_rope.experiments.work_folder import Model, find_models
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.manifest import MANIFEST, Facts
from fairseq_rope_data.recorded import recorded_files

# of a manifest: what was given, and what models read, which differs with another segmentation
_RAW, _READ = "raw/", "data-bin/"


def data_files(work: Path) -> dict[str, Facts]:
    """Return name -> lines, bytes and sha256 of the text of a work folder; none without a manifest.

    It is the raw text, or what was made of it where there is no raw text, but text that was given in BPE.

    Raises:
        UserError: the manifest is damaged.
    """
    files = _recorded(work)
    raw = {name: facts for name, facts in files.items() if name.startswith(_RAW)}
    return raw or {name: facts for name, facts in files.items() if name.startswith("text/")}


def compared_models(work: Path | Sequence[Path], names: Sequence[str] = (), *, so_far: bool = False) -> list[Model]:
    """Return the models of one or several work folders, which have the same data: see `find_models`.

    Raises:
        UserError: see `find_models` and `check_same_data`.
    """
    models = find_models(work, names, so_far=so_far)
    check_same_data([work] if isinstance(work, Path) else work)
    return models


def check_same_data(works: Sequence[Path]) -> None:
    """Check that work folders whose runs are compared have the same text, in the same pieces.

    Raises:
        UserError: a file differs, or one folder lacks it, or its manifest.
    """
    if len(works) < 2:
        return
    found = {work: _recorded(work) for work in works}
    for work, files in found.items():
        if not files:
            raise UserError(
                f"{work} has no {MANIFEST}, which would tell its data: models of several folders are compared on the "
                "same data only"
            )
    (first, files), *others = found.items()
    for other, theirs in others:
        for name in sorted({*files, *theirs}, key=lambda name: (not name.startswith(_RAW), name)):
            is_data = name.startswith((_RAW, _READ))
            if is_data and files.get(name, {}).get("sha256") != theirs.get(name, {}).get("sha256"):
                raise UserError(
                    f"{name} of {first} and {other} is not the same: models are compared on the same data only"
                )


def _recorded(work: Path) -> dict[str, Facts]:
    manifest = work / MANIFEST
    return recorded_files(manifest) if manifest.is_file() else {}

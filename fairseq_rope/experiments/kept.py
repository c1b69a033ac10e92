"""The part of an experiment that is kept when checkpoints and text are gone: all that its table is made from.

Training logs without what results do not read, scores, predictions, settings, starts and checksums of the data. Texts
are left out, for they are somebody's; so bootstraps of translations are not in a table of what was kept.
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from fairseq_rope.experiments.origins import STARTS
from fairseq_rope.experiments.same_data import compared_models
from fairseq_rope.experiments.train_log import needed_lines
from fairseq_rope.experiments.work_folder import PRETRAINED, TRAINED, UNTRAINED, is_trained
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import complete_folder
from fairseq_rope_data.manifest import MANIFEST

_AS_THEY_ARE = ("score-*.json", "predictions-*.tsv", UNTRAINED, PRETRAINED, "settings")
# an absolute path of two names or more, after what cannot be a part of one
_PATH = re.compile(r"(?<![\w.:/])(?:/[^/\s'\"\\]+)+/([^/\s'\"\\]+)")


def keep(works: Sequence[Path], folder: Path, names: Sequence[str] = ()) -> int:
    """Write what results are made from into a new folder, of which `results` prints the same numbers.

    Args:
        works: work folders, of one experiment.
        folder: the folder to write.
        names: see `find_models`.

    Returns: how many runs it holds.

    Raises:
        UserError: `folder` exists; see `compared_models`.
        OSError: a file cannot be read or written; there is no folder then.
    """
    if folder.exists():
        raise UserError(f"--output must be a new folder, but {folder} exists")
    models = compared_models(works, names)
    runs = [run for model in models for run in model.runs.values()]
    with complete_folder(folder) as part:
        if (works[0] / MANIFEST).is_file():
            shutil.copyfile(works[0] / MANIFEST, part / MANIFEST)
        logs = {(run / TRAINED).resolve(): run for run in runs if not (run / TRAINED).is_symlink()}
        for run in runs:
            _keep_run(run, part / run.name)
            log = part / run.name / TRAINED
            original = logs.get((run / TRAINED).resolve(), run)
            if original != run:  # the same training, read in another way
                log.symlink_to(f"../{original.name}/{TRAINED}")
            elif is_trained(run):
                log.write_text("".join(f"{line}\n" for line in needed_lines(run / TRAINED)), encoding="utf-8")
    return len(runs)


def without_folders(text: str) -> str:
    """Return `text` with the last name of each absolute path alone: where files lay is nobody's business."""
    return _PATH.sub(r"\1", text)


def _keep_run(run: Path, folder: Path) -> None:
    folder.mkdir()
    for pattern in _AS_THEY_ARE:
        for file in run.glob(pattern):
            shutil.copyfile(file, folder / file.name)
    if (run / STARTS).is_file():
        starts = (run / STARTS).read_text(encoding="utf-8", errors="replace")
        (folder / STARTS).write_text(without_folders(starts), encoding="utf-8")

"""The part of an experiment that is kept when checkpoints and text are gone: all that its table is made from.

Training logs without what results do not read, scores, predictions, settings, starts and checksums of the data. Texts
are left out, for they are somebody's; so bootstraps of translations are not in a table of what was kept.
"""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from fairseq_rope.experiments.origins import STARTS, run_starts
from fairseq_rope.experiments.same_data import compared_models
from fairseq_rope.experiments.train_log import needed_lines
from fairseq_rope.experiments.work_folder import PRETRAINED, TRAINED, UNTRAINED, is_trained
from fairseq_rope.scoring.report_file import read_report
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import complete_folder
from fairseq_rope_data.manifest import MANIFEST

_AS_THEY_ARE = ("predictions-*.tsv", UNTRAINED, PRETRAINED)
# a word as bash's `printf %q` writes it, or as people do
_WORD = re.compile(r"""(?:\$'(?:\\.|[^'\\])*'|'[^']*'|"(?:\\.|[^"\\])*"|\\.|\S)+""", re.S)
# the folders of an absolute path, up to its last name: in a word all of it, a space as well
_IN_WORD = re.compile(r"""(?<![\w./])/(?!/).+/(?=[^/'"])""", re.S)
# in a sentence up to the number of a line or a colon
_IN_NOTE = re.compile(r"(?<![\w./])/(?!/)(?:(?!:[0-9]|: ).)+/(?=[^/ ])", re.S)


def keep(works: Sequence[Path], folder: Path, names: Sequence[str] = ()) -> int:
    """Write what results are made from into a new folder, of which `results` prints the same numbers.

    Args:
        works: work folders, of one experiment.
        folder: the folder to write.
        names: see `find_models`.

    Returns: how many runs it holds.

    Raises:
        UserError: `folder` exists; a score or a start is damaged; see `compared_models`.
        OSError: a file cannot be read or written; there is no folder then.
    """
    if folder.exists():
        raise UserError(f"--output must be a new folder, but {folder} exists")
    models = compared_models(works, names)
    runs = [run for model in models for run in model.runs.values()]
    with complete_folder(folder) as part:
        if (works[0] / MANIFEST).is_file():
            shutil.copyfile(works[0] / MANIFEST, part / MANIFEST)
        trained = [run for run in runs if is_trained(run)]
        logs: dict[Path, Path] = {}
        # the run that was trained, or the first one that reads its training where it is not kept itself
        for run in sorted(trained, key=lambda run: (run / TRAINED).is_symlink()):
            logs.setdefault((run / TRAINED).resolve(), run)
        for run in runs:
            has_log = is_trained(run) and logs[(run / TRAINED).resolve()] == run
            _keep_run(run, part / run.name, origin=_origin(run) if has_log else run)
        for run in trained:
            log = part / run.name / TRAINED
            original = logs[(run / TRAINED).resolve()]
            if original != run:  # the same training, read in another way
                log.symlink_to(f"../{original.name}/{TRAINED}")
            else:
                log.write_text("".join(f"{line}\n" for line in needed_lines(run / TRAINED)), encoding="utf-8")
    return len(runs)


def without_folders(command: str) -> str:
    """Return shell words with the last name of each absolute path alone: where files lay is nobody's business."""
    return _WORD.sub(lambda word: _IN_WORD.sub("", word[0]), command)


def note_without_folders(note: str) -> str:
    """Return the same of a note, where paths are not quoted: `FILE:LINE: what is wrong`, or the last words."""
    return _IN_NOTE.sub("", note)


def _origin(run: Path) -> Path:
    """Return the folder that says where the training of a run comes from: that of the log, which may be a link."""
    folder = (run / TRAINED).resolve().parent
    return folder if any((folder / name).is_file() for name in ("settings", STARTS)) else run


def _keep_run(run: Path, folder: Path, *, origin: Path) -> None:
    folder.mkdir()
    for pattern in _AS_THEY_ARE:
        for file in run.glob(pattern):
            shutil.copyfile(file, folder / file.name)
    for file in run.glob("score-*.json"):
        report = read_report(file)
        report["notes"] = [note_without_folders(note) for note in report.get("notes", [])]
        (folder / file.name).write_text(json.dumps(report, ensure_ascii=False), encoding="utf-8")
    if (origin / "settings").is_file():  # options may name files, as a shell reads them
        settings = (origin / "settings").read_text(encoding="utf-8", errors="surrogateescape")
        (folder / "settings").write_text(without_folders(settings), encoding="utf-8", errors="surrogateescape")
    if (origin / STARTS).is_file():
        starts = [{**start, "command": without_folders(str(start.get("command", "")))} for start in run_starts(origin)]
        lines = (json.dumps(start, ensure_ascii=False) for start in starts)
        (folder / STARTS).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

"""Read GLUE's own files: tab-separated text in which a quote is a character, with every line checked."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import decoded
from fairseq_rope_data.glue_tasks import MSR_IDS, MSR_TRAIN, Column, Layout, Source, Task
from fairseq_rope_data.manifest import plain
from fairseq_rope_data.streams import tell

_CHUNK = 1 << 20
_SHOWN = 60  # characters of what is wrong


@dataclass(frozen=True)
class Example:
    """The sentences of an example, its label as the file has it, None in a test set, and what tells it from others."""

    inputs: tuple[str, ...]
    label: str | None
    ids: tuple[str, ...] = ()


def find_source(folder: Path, task: Task, subset: str) -> Source | None:
    """Return the files of a subset that are there, perhaps with .gz; None where there are none."""
    for source in task.sources[subset]:
        if (folder / source.files[0]).is_file() or (folder / f"{source.files[0]}.gz").is_file():
            return source
    return None


def read_subset(folder: Path, task: Task, subset: str, *, dev_last: int | None = None) -> list[Example]:
    """Read the examples of a subset.

    Args:
        folder: where the files of the task are.
        task: what they hold.
        subset: train, valid, ...
        dev_last: where MRPC's training file holds the validation examples, how many of its last ones these are;
            without it dev_ids.tsv says which.

    Raises:
        UserError: a file is missing, empty, not UTF-8, or has a bad line, which is named.
    """
    source = find_source(folder, task, subset) or task.sources[subset][0]
    is_test = subset.startswith("test")
    found = [each for name in source.files for each in _read_file(folder / name, source.layout, task, is_test=is_test)]
    return _split(found, folder, subset, dev_last) if source.files == (MSR_TRAIN,) else found


def read_rows(path: Path) -> list[list[str]]:
    """Return the cells of each line of a file, or of FILE.gz where there is no FILE.

    Raises:
        UserError: it is missing, empty, not UTF-8 or an HTML page.
    """
    with plain(path) as file:
        data = b"".join(iter(lambda: file.read(_CHUNK), b""))
    if not data.strip():
        raise UserError(f"{path} is empty")
    lines = decoded(io.BufferedReader(io.BytesIO(data)), str(path))
    return [line.removesuffix("\r").split("\t") for line in lines]


def _read_file(path: Path, layout: Layout, task: Task, *, is_test: bool) -> Iterator[Example]:
    rows = read_rows(path)
    first = 0 if layout.widths else 1
    header = rows[0] if first else []
    columns = _columns(path, header, layout, is_test=is_test)
    widths = layout.widths or (len(header),)
    left_out = 0
    for number, cells in enumerate(rows[first:], 1 + first):
        if len(cells) not in widths:
            # a submission has a line for each of the test set's
            if is_test or not task.flawed:
                expected = " or ".join(map(str, widths))
                raise UserError(f"{path}:{number}: must have {expected} columns, but has {len(cells)}")
            left_out += 1
            continue
        yield _example(f"{path}:{number}", [cells[i] if i is not None else None for i in columns], task)
    if left_out:
        tell(f"glue: note: {path}: {left_out} lines of another number of columns are left out, as others do")


def _columns(path: Path, header: Sequence[str], layout: Layout, *, is_test: bool) -> list[int | None]:
    """Return where the label, the sentences and the ids of MRPC are; None for a label or ids that the file lacks.

    Raises:
        UserError: a column is missing.
    """
    if layout.widths:
        return [*(int(column) for column in (layout.label, *layout.inputs)), None, None]
    wanted: list[Column] = [*layout.inputs] if is_test else [layout.label, *layout.inputs]
    if missing := [str(name) for name in wanted if name not in header]:
        shown = ", ".join(header)[:_SHOWN]
        quoted = ", quoted, which GLUE's own are not" if header[0].startswith('"') else ""
        raise UserError(f"{path}:1: must have a column {missing[0]}, but has {shown!r}{quoted}")
    return [header.index(str(name)) if name in header else None for name in (layout.label, *layout.inputs, *MSR_IDS)]


def _example(where: str, cells: Sequence[str | None], task: Task) -> Example:
    label, *inputs = cells
    ids = inputs[-2:]
    sentences = tuple(cell for cell in inputs[:-2] if cell is not None)
    if not all(sentence.strip() for sentence in sentences) and not task.flawed:
        raise UserError(f"{where}: a sentence is blank")
    if label is not None:
        _check_label(where, label, task)
    return Example(sentences, label, tuple(cell for cell in ids if cell is not None))


def _check_label(where: str, label: str, task: Task) -> None:
    if task.labels:
        if label not in task.labels:
            raise UserError(f"{where}: the label must be {' or '.join(task.labels)}, but is {label[:_SHOWN]!r}")
        return
    try:
        is_number = 0 <= float(label) <= task.scale
    except ValueError:
        is_number = False
    if not is_number:
        raise UserError(f"{where}: the label must be a number from 0 to {task.scale:g}, but is {label[:_SHOWN]!r}")


def _split(found: list[Example], folder: Path, subset: str, dev_last: int | None) -> list[Example]:
    """Return what of MRPC's first release is GLUE's train or valid."""
    if dev_last is not None:
        if not 0 < dev_last < len(found):
            raise UserError(f"--dev-last must be from 1 to {len(found) - 1}, but is {dev_last}")
        return found[-dev_last:] if subset == "valid" else found[:-dev_last]
    path = folder / "dev_ids.tsv"
    if not path.is_file():
        raise UserError(
            f"{folder / MSR_TRAIN} holds train and valid: {path}, GLUE's list of the pairs of ids that are valid, is "
            "needed, or --dev-last 408, which takes others"
        )
    ids = {tuple(cells[:2]) for cells in read_rows(path)}
    unknown = ids - {each.ids for each in found}
    if unknown:
        raise UserError(f"{path}: the pair {' '.join(min(unknown))} is not in {folder / MSR_TRAIN}")
    return [each for each in found if (each.ids in ids) == (subset == "valid")]

"""Print the results of an experiment as a table: a column for each model, a row for each figure.

    python -m fairseq_rope.tools.results runs/quickstart

A run is a folder of WORK with a train.log; its scores are in score-SET.json, as tools.score --json writes them. Runs of
one model with several seeds (rope, rope-seed2, rope-seed3 ...) share a column: mean ± standard deviation. Below stand
BLEU by the length of the source, and the paired bootstrap between the first model and each other one of the same seed
on each test set that has WORK/raw/SET.LANG and hyp-SET.LANG of both, which tools.score --save-hyps writes.
"""

import dataclasses
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairseq_rope.experiments.markdown import table
from fairseq_rope.experiments.statistic import Figure, cell
from fairseq_rope.experiments.work_folder import Model, bucket_figures, figures, models, reports
from fairseq_rope.scoring.bootstrap import Comparison
from fairseq_rope.scoring.checks import ALLOWED, ORDER_NOTE
from fairseq_rope.scoring.evaluation import Settings
from fairseq_rope.tools import compare
from fairseq_rope_data import cli
from fairseq_rope_data.errors import run

Rows = dict[str, dict[int, Figure]]  # name of the figure -> that of each seed that has it


@dataclass(frozen=True)
class Difference:
    """What the paired bootstrap says of two models on a test set; the baseline comes first in each comparison."""

    test_set: str
    seed: int
    comparisons: list[Comparison]


def rows(model: Model, figures_of: Callable[[Path], dict[str, Figure]]) -> Rows:
    """Gather the figures of a model's runs."""
    gathered: Rows = {}
    for seed, folder in model.runs.items():
        for name, figure in figures_of(folder).items():
            gathered.setdefault(name, {})[seed] = figure
    return gathered


def figure_table(found: Sequence[Model], figures_of: Callable[[Path], dict[str, Figure]]) -> str:
    """Lay out figures, a column for each model."""
    columns = {}
    for model in found:
        each = rows(model, figures_of)
        columns[model.title] = {name: cell(list(row.values()), runs=len(model.runs)) for name, row in each.items()}
    return table(columns)


def signatures(folders: Sequence[Path]) -> dict[str, list[str]]:
    """Give how each score was made, name -> signatures, which are one unless runs were scored in different ways."""
    made: dict[str, list[str]] = {}
    for folder in folders:
        for report in reports(folder).values():
            for score in report["scores"]:
                known = made.setdefault(score["name"], [])
                if score["signature"] not in known:
                    known.append(score["signature"])
    return made


def allowed(folder: Path) -> list[str]:
    """Give what was wrong with a run's hypotheses and scored nevertheless, a line each."""
    notes = ((name, note) for name, report in reports(folder).items() for note in report.get("notes", []))
    return [
        f"note on {name} of {folder.name}: {note}" for name, note in notes if note.startswith(("--allow", ORDER_NOTE))
    ]


def differences(work: Path, found: Sequence[Model]) -> Iterator[Difference]:
    """Compare the first model with each other one, the baseline, by seed and test set."""
    model = found[0]
    for baseline in found[1:]:
        for seed in sorted(model.runs.keys() & baseline.runs.keys()):
            for file in sorted(model.runs[seed].glob("hyp-*.*"), reverse=True):
                other, reference = baseline.runs[seed] / file.name, work / "raw" / file.name.removeprefix("hyp-")
                if other.is_file() and reference.is_file():
                    files = {baseline.name: other, model.name: file}
                    comparisons = compare.compare_files(files, reference, _settings_of(file))
                    yield Difference(reference.stem, seed, comparisons)


def _settings_of(hyps: Path) -> Settings:
    """Say how the text of hyp-SET.LANG was scored; what was wrong with it was told, or allowed, then."""
    report = reports(hyps.parent).get(hyps.stem.removeprefix("hyp-"), {})
    lowercase = bool(report.get("settings", {}).get("lowercase", False))
    return Settings(hyps.suffix.removeprefix("."), detokenised=True, lowercase=lowercase, allow=ALLOWED)


def as_text(work: Path) -> str:
    """Give everything to people."""
    found = models(work)
    folders = [folder for model in found for folder in model.runs.values()]
    made = [f"{name}: {each}" for name, signatures_ in signatures(folders).items() for each in signatures_]
    notes = [note for folder in folders for note in allowed(folder)]
    parts = ["\n".join([figure_table(found, figures), *made, *notes])]
    if any(bucket_figures(folder) for folder in folders):
        parts.append(f"BLEU by words of the source:\n\n{figure_table(found, bucket_figures)}")
    for each in differences(work, found):
        title = (
            f"Paired bootstrap on {each.test_set}, seed {each.seed}, the baseline first: score (mean ± 95% interval)"
        )
        parts.append(f"{title}\n\n{compare.as_table(each.comparisons)}")
    return "\n\n".join(parts)


def as_json(work: Path) -> str:
    """Give everything to machines: one JSON object on a line."""
    found = models(work)
    folders = [folder for model in found for folder in model.runs.values()]
    fields: dict[str, Any] = {
        "figures": {model.name: _values(rows(model, figures)) for model in found},
        "buckets": {model.name: _values(rows(model, bucket_figures)) for model in found},
        "signatures": signatures(folders),
        "notes": [note for folder in folders for note in allowed(folder)],
        "differences": [dataclasses.asdict(each) for each in differences(work, found)],
    }
    return json.dumps(fields, ensure_ascii=False)


def _values(rows: Rows) -> dict[str, dict[int, float | None]]:
    """Give plain numbers; what is none, such as the time of an unfinished run, is null in JSON."""
    return {
        name: {seed: value if math.isfinite(value := figure.values[0]) else None for seed, figure in row.items()}
        for name, row in rows.items()
    }


def main() -> None:
    """Read the options and print the table."""
    parser = cli.parser(__doc__, "results")
    parser.add_argument("work", type=Path, metavar="WORK", help="work folder of a recipe")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    print(as_json(args.work) if args.json else as_text(args.work))


if __name__ == "__main__":
    run("results", main)

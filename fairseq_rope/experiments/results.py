"""The results of an experiment as text: Markdown tables, and what is to be known of them."""

from collections.abc import Container, Sequence
from pathlib import Path

from fairseq_rope.experiments.bootstraps import bootstrap_text, bootstraps
from fairseq_rope.experiments.equal_updates import equal_updates_texts
from fairseq_rope.experiments.markdown import table, transposed
from fairseq_rope.experiments.origins import origin_notes
from fairseq_rope.experiments.pairs import ONE_SEED, has_one_seed, pair_notes
from fairseq_rope.experiments.reach import TITLE, reach_table, reaches
from fairseq_rope.experiments.remarks import run_folders, run_notes, score_signatures
from fairseq_rope.experiments.same_data import compared_models
from fairseq_rope.experiments.seed_differences import difference_columns, differences_title
from fairseq_rope.experiments.statistic import cell
from fairseq_rope.experiments.work_folder import (
    Model,
    StatisticsOf,
    bucket_statistics,
    model_rows,
    run_statistics,
    validated_models,
)
from fairseq_rope_data.errors import UserError


def results_text(work: Path | Sequence[Path], names: Sequence[str] = ()) -> str:
    """Return the results as text: see `tools.results`.

    Args:
        work: a recipe's work folder, or several with the same data.
        names: see `find_models`.

    Raises:
        UserError: see `compared_models`, `read_train_log`, `read_report` and `compare_seeds`.
    """
    models, left_out = validated_models(compared_models(work, names))
    folders = run_folders(models)
    notes = left_out + origin_notes(models)
    parts = [_with_remarks(statistics_table(models, run_statistics), folders, notes), *_training_noise(models)]
    parts += [bootstrap_text(each) for each in bootstraps(models)]
    if reached := [*reaches(models)]:
        parts.append(f"{TITLE}\n\n{reach_table(reached)}")
    parts += equal_updates_texts(models)
    if any(bucket_statistics(folder) for folder in folders):
        parts.append(f"BLEU by words of the source:\n\n{statistics_table(models, bucket_statistics)}")
    return "\n\n".join(parts)


def chosen_results_text(work: Path | Sequence[Path], names: Sequence[str], statistics: Sequence[str]) -> str:
    """Return some statistics as text, a row for each model, and their differences over seeds.

    Args:
        work: a recipe's work folder, or several with the same data.
        names: see `find_models`.
        statistics: the names of those wanted, in this order.

    Raises:
        UserError: see `results_text`; or no model has a statistic.
    """
    models, left_out = validated_models(compared_models(work, names))
    columns = _statistics_columns(models, run_statistics)
    known = list(dict.fromkeys(name for cells in columns.values() for name in cells))
    for name in statistics:
        if name not in known:
            works = ", ".join(map(str, [work] if isinstance(work, Path) else work))
            raise UserError(f"--statistics {name}: no model in {works} has it, only {', '.join(known)}")
    scores = {name.partition(": ")[2] for name in statistics}
    notes = left_out + origin_notes(models)
    parts = [_with_remarks(table(transposed(columns, statistics)), run_folders(models), notes, scores)]
    parts += _training_noise(models, statistics)
    return "\n\n".join(parts)


def statistics_table(models: Sequence[Model], statistics_of: StatisticsOf) -> str:
    """Lay out statistics, a column for each model."""
    return table(_statistics_columns(models, statistics_of))


def _statistics_columns(models: Sequence[Model], statistics_of: StatisticsOf) -> dict[str, dict[str, str]]:
    columns = {}
    for model in models:
        rows = model_rows(model, statistics_of)
        columns[model.title] = {name: cell(list(row.values()), runs=len(model.runs)) for name, row in rows.items()}
    return columns


def _training_noise(models: Sequence[Model], statistics: Sequence[str] = ()) -> list[str]:
    """Return the differences over seeds, of some statistics as rows of models, and which seeds make no pairs."""
    parts = []
    columns = difference_columns(models)
    if statistics:
        compared = [name for name in statistics if any(name in cells for cells in columns.values())]
        columns = transposed(columns, compared)
    if columns:
        parts.append(f"{differences_title(models)}\n\n{table(columns)}")
    if remarks := [ONE_SEED] * has_one_seed(models) + pair_notes(models):
        parts.append("\n".join(remarks))
    return parts


def _with_remarks(
    text: str, folders: Sequence[Path], notes: Sequence[str], scores: Container[str] | None = None
) -> str:
    """Return a table with the signatures of its scores, all where None, and notes below."""
    known = {
        name: signatures for name, signatures in score_signatures(folders).items() if scores is None or name in scores
    }
    lines = [f"{name}: {each}" for name, signatures in known.items() for each in signatures]
    return "\n".join([text, *lines, *notes, *run_notes(folders)])

"""The results of an experiment as text: Markdown tables, and what is to be known of them."""

from collections.abc import Container, Sequence
from pathlib import Path

from fairseq_rope.experiments.differences import comparison_table, differences
from fairseq_rope.experiments.markdown import table, transposed
from fairseq_rope.experiments.remarks import run_folders, score_notes, score_signatures
from fairseq_rope.experiments.seed_differences import difference_columns, differences_title
from fairseq_rope.experiments.statistic import cell
from fairseq_rope.experiments.work_folder import (
    Model,
    StatisticsOf,
    bucket_statistics,
    find_models,
    model_rows,
    run_statistics,
)
from fairseq_rope_data.errors import UserError


def results_text(work: Path, names: Sequence[str] = ()) -> str:
    """Return the results as text: see `tools.results`.

    Args:
        work: a recipe's work folder.
        names: see `find_models`.

    Raises:
        UserError: see `find_models`, `read_train_log`, `read_report` and `compare_files`.
    """
    models = find_models(work, names)
    folders = run_folders(models)
    parts = [_with_remarks(statistics_table(models, run_statistics), folders)]
    if columns := difference_columns(models):
        parts.append(f"{differences_title(models)}\n\n{table(columns)}")
    if any(bucket_statistics(folder) for folder in folders):
        parts.append(f"BLEU by words of the source:\n\n{statistics_table(models, bucket_statistics)}")
    for each in differences(work, models):
        title = (
            f"Paired bootstrap on {each.test_set}, seed {each.seed}, the baseline first: score (mean ± 95% interval)"
        )
        parts.append(f"{title}\n\n{comparison_table(each.comparisons)}")
    return "\n\n".join(parts)


def chosen_results_text(work: Path, names: Sequence[str], statistics: Sequence[str]) -> str:
    """Return some statistics as text, a row for each model, and their differences over seeds.

    Args:
        work: a recipe's work folder.
        names: see `find_models`.
        statistics: the names of those wanted, in this order.

    Raises:
        UserError: see `results_text`; or no model has a statistic.
    """
    models = find_models(work, names)
    columns = _statistics_columns(models, run_statistics)
    known = list(dict.fromkeys(name for cells in columns.values() for name in cells))
    for name in statistics:
        if name not in known:
            raise UserError(f"--statistics {name}: no model in {work} has it, only {', '.join(known)}")
    scores = {name.partition(": ")[2] for name in statistics}
    parts = [_with_remarks(table(transposed(columns, statistics)), run_folders(models), scores)]
    if differences_ := difference_columns(models):
        compared = [name for name in statistics if any(name in cells for cells in differences_.values())]
        parts.append(f"{differences_title(models)}\n\n{table(transposed(differences_, compared))}")
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


def _with_remarks(text: str, folders: Sequence[Path], scores: Container[str] | None = None) -> str:
    """Return a table with the signatures of its scores, all where None, and the notes on them below."""
    known = {
        name: signatures for name, signatures in score_signatures(folders).items() if scores is None or name in scores
    }
    lines = [f"{name}: {each}" for name, signatures in known.items() for each in signatures]
    return "\n".join([text, *lines, *score_notes(folders)])

"""The sentences that the page shows of each two models that are compared."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairseq_rope.experiments.bootstraps import settings_of
from fairseq_rope.experiments.pairs import shared_seeds
from fairseq_rope.experiments.work_folder import Model, files_of_stem
from fairseq_rope.page.samples import Sample, largest_differences
from fairseq_rope_data.files import read_lines

MOST = 60  # sentences of all comparisons together: the page is to be mailed


@dataclass(frozen=True)
class Comparison:
    """Two models on a test set, by one seed.

    Args:
        test_set: its name.
        baseline: the model that comes first in the table.
        model: the other one.
        seed: the first one that both have.
        source_lang: "" where the source is not known.
        target_lang: of the translations.
        better: the largest gains of the model.
        worse: its largest losses.
    """

    test_set: str
    baseline: str
    model: str
    seed: int
    source_lang: str
    target_lang: str
    better: list[Sample]
    worse: list[Sample]


def comparisons(models: Sequence[Model]) -> list[Comparison]:
    """Return the sentences of each model and test set in which it differs most from the first model, the baseline.

    Raises:
        UserError: text is not UTF-8, or a report is damaged.
    """
    pairs = [*_pairs(models)]
    each = max(2, MOST // max(1, 2 * len(pairs)))
    return [_comparison(*pair, shown=each) for pair in pairs]


def _pairs(models: Sequence[Model]) -> Iterator[tuple[str, str, int, Path, Path]]:
    baseline, *others = models
    for model in others:
        for seed in shared_seeds(model, baseline)[:1]:
            for ours in sorted(model.runs[seed].glob("hyp-*.*"), reverse=True):
                theirs = baseline.runs[seed] / ours.name
                if theirs.is_file() and _reference(ours).is_file():
                    yield baseline.name, model.name, seed, theirs, ours


def _comparison(baseline: str, model: str, seed: int, theirs: Path, ours: Path, *, shown: int) -> Comparison:
    reference = _reference(ours)
    found = [path for path in files_of_stem(reference.parent, reference.stem) if path != reference]
    source = found[0] if len(found) == 1 else None
    references, before, after = ([*read_lines(path)] for path in (reference, theirs, ours))
    sources = [*read_lines(source)] if source is not None else []
    better, worse = largest_differences(
        sources if len(sources) == len(references) else [],
        *(references, before, after),
        lowercase=settings_of(ours).lowercase,
        shown=shown,
    )
    langs = source.suffix.removeprefix(".") if source is not None else "", reference.suffix.removeprefix(".")
    return Comparison(reference.stem, baseline, model, seed, *langs, better, worse)


def _reference(hypotheses: Path) -> Path:
    return hypotheses.parent.parent / "raw" / hypotheses.name.removeprefix("hyp-")

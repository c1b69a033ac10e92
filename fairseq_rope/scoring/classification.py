"""Scores of predictions, in percent: accuracy, F1 and Matthews of classes, Pearson and Spearman of numbers.

A score is scikit-learn's or scipy's. On resampled test sets, thousands of them, those of classes and Pearson's are
computed from sums, all at once; tests hold both against each other. A score that is undefined, of predictions
or labels that are all the same, is 0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairseq_rope_data.errors import UserError

Array = NDArray[Any]


@dataclass(frozen=True)
class PredictionMetric:
    """A score of predictions; a higher one is better.

    Args:
        package: that computes `score`.
        of_classes: it compares classes; else numbers.
        score: of labels and predictions, (N,) each.
        resampled: of labels, predictions and how often each example is in a resampled set, (S, N): a score of each
            set, (S,).
        two_classes: it needs two, the second of which is the positive one.
        correlation: it is undefined where all predictions, or all labels, are the same.
    """

    package: str
    of_classes: bool
    score: Callable[[Array, Array], float]
    resampled: Callable[[Array, Array, Array], Array]
    two_classes: bool = False
    correlation: bool = False


def default_metrics(classes: Sequence[str]) -> tuple[str, ...]:
    """Return the names of all metrics that fit."""
    return tuple(name for name in METRICS if _misfit(name, classes) is None)


def check_metrics(names: Sequence[str], classes: Sequence[str]) -> None:
    """Check that metrics fit what is predicted.

    Raises:
        UserError: one does not, or its library is not installed.
    """
    for name in names:
        if misfit := _misfit(name, classes):
            raise UserError(f"--metrics {name} {misfit}")
    try:
        import scipy  # noqa: F401
        import sklearn  # noqa: F401
    except ImportError:
        raise UserError("scores need scikit-learn and scipy: pip install 'fairseq-rope[classify]'") from None


def metric_signature(name: str, examples: int, classes: Sequence[str]) -> str:
    """Return the settings of a score as text."""
    package = METRICS[name].package
    kind = f"classes:{len(classes)}" if classes else "numbers"
    return f"examples:{examples}|{kind}|{package}:{version(package)}"


def _misfit(name: str, classes: Sequence[str]) -> str | None:
    metric = METRICS[name]
    if metric.of_classes != bool(classes):
        return f"compares {'classes' if metric.of_classes else 'numbers'}, but the model predicts the other"
    if metric.two_classes and len(classes) != 2:
        return f"needs two classes, but there are {len(classes)}"
    return None


def _accuracy(labels: Array, predictions: Array) -> float:
    from sklearn.metrics import accuracy_score

    return float(accuracy_score(labels, predictions))


def _f1(labels: Array, predictions: Array) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(labels, predictions, zero_division=0))


def _matthews(labels: Array, predictions: Array) -> float:
    from sklearn.metrics import matthews_corrcoef

    return float(matthews_corrcoef(labels, predictions))


def _pearson(labels: Array, predictions: Array) -> float:
    from scipy.stats import pearsonr

    return 0.0 if _is_constant(labels, predictions) else float(pearsonr(labels, predictions).statistic)


def _spearman(labels: Array, predictions: Array) -> float:
    from scipy.stats import spearmanr

    return 0.0 if _is_constant(labels, predictions) else float(spearmanr(labels, predictions).statistic)


def _is_constant(*columns: Array) -> bool:
    return any(bool((column == column[0]).all()) for column in columns)


def _resampled_accuracy(labels: Array, predictions: Array, counts: Array) -> Array:
    return counts @ (labels == predictions) / len(labels)


def _resampled_f1(labels: Array, predictions: Array, counts: Array) -> Array:
    both, either = counts @ ((labels == 1) & (predictions == 1)), counts @ ((labels == 1) * 1.0 + (predictions == 1))
    return np.divide(2 * both, either, out=np.zeros_like(both), where=either > 0)


def _resampled_matthews(labels: Array, predictions: Array, counts: Array) -> Array:
    """Return Pearson's correlation of indicators of the classes, summed over these (Gorodkin, 2004)."""
    classes = np.unique(np.concatenate([labels, predictions]))
    covariances = [
        sum(_covariance(left == each, right == each, counts) for each in classes)
        for left, right in ((labels, predictions), (labels, labels), (predictions, predictions))
    ]
    return _correlation(*covariances)


def _resampled_pearson(labels: Array, predictions: Array, counts: Array) -> Array:
    labels, predictions = _standardized(labels), _standardized(predictions)
    pairs = ((labels, predictions), (labels, labels), (predictions, predictions))
    return _correlation(*(_covariance(left, right, counts) for left, right in pairs))


def _standardized(column: Array) -> Array:
    """Return numbers of mean 0 and variance 1, of which a trace of rounding can be told from a small variance."""
    if _is_constant(column):
        return np.zeros(len(column))
    centered = column - column.mean()
    return np.asarray(centered / centered.std())


def _resampled_spearman(labels: Array, predictions: Array, counts: Array) -> Array:
    from scipy.stats import rankdata

    found = []
    for row in counts.astype(int):
        # ranks are of the examples that were drawn, so there is no sum to take them from
        ranks = [rankdata(np.repeat(column, row)) for column in (labels, predictions)]
        found.append(_resampled_pearson(ranks[0], ranks[1], np.ones((1, len(labels))))[0])
    return np.array(found)


def _covariance(left: Array, right: Array, counts: Array) -> Array:
    """Return the covariance of two columns in each resampled set, (S,)."""
    left, right = left.astype(np.float64), right.astype(np.float64)
    return counts @ (left * right) / len(left) - (counts @ left) * (counts @ right) / len(left) ** 2


def _correlation(both: Any, left: Any, right: Any) -> Array:
    # rounding leaves a trace of a constant column's variance
    product = np.where((left > 1e-12) & (right > 1e-12), left * right, 0)
    return np.divide(both, np.sqrt(product), out=np.zeros_like(both), where=product > 0)


METRICS = {
    "accuracy": PredictionMetric("scikit-learn", True, _accuracy, _resampled_accuracy),
    "f1": PredictionMetric("scikit-learn", True, _f1, _resampled_f1, two_classes=True),
    "matthews": PredictionMetric("scikit-learn", True, _matthews, _resampled_matthews, correlation=True),
    "pearson": PredictionMetric("scipy", False, _pearson, _resampled_pearson, correlation=True),
    "spearman": PredictionMetric("scipy", False, _spearman, _resampled_spearman, correlation=True),
}

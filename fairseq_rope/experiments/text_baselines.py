"""What is reached without a neural network: the most frequent label, and a linear model of words and pairs of words."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairseq_rope.scoring.predictions import Predictions
from fairseq_rope.scoring.text import read_lines
from fairseq_rope_data.errors import UserError

BASELINES = {
    "majority": "the most frequent label of the training set, of numbers their mean",
    "bag-of-words": "logistic regression on counts of words and pairs of words, of numbers ridge regression",
}


def baseline_predictions(name: str, text: Path, subset: str) -> Predictions:
    """Return the predictions of a baseline, learned from the subset train.

    Args:
        name: of BASELINES.
        text: a folder that `fairseq_rope_data.glue` wrote.
        subset: such as valid.

    Raises:
        UserError: a file is missing, or has another number of lines than the others; scikit-learn is not installed.
    """
    classes = _classes(text)
    labels, inputs = read_lines(text / "train.label"), _inputs(text, subset)
    known = read_lines(text / f"{subset}.label") if (text / f"{subset}.label").is_file() else []
    if name == "majority":
        found = _majority(labels, classes, len(inputs[0]))
    else:
        found = _bag_of_words(_inputs(text, "train"), labels, inputs, classes)
    if not classes:
        known = [f"{float(each):.6g}" for each in known]
    return Predictions(classes, known, found)


def _classes(text: Path) -> tuple[str, ...]:
    path = text / "labels.txt"
    return tuple(line.rpartition(" ")[0] for line in read_lines(path)) if path.is_file() else ()


def _inputs(text: Path, subset: str) -> list[list[str]]:
    """Return the lines of each sentence of the examples."""
    paths = [path for number in (0, 1) if (path := text / f"{subset}.input{number}").is_file()]
    if not paths:
        raise UserError(f"--text {text} must be what fairseq_rope_data.glue wrote, but has no {subset}.input0")
    found = [read_lines(path) for path in paths]
    if len({*map(len, found)}) > 1:
        raise UserError(f"{paths[0]} and {paths[1]} must have as many lines, but have {len(found[0])}, {len(found[1])}")
    return found


def _majority(labels: Sequence[str], classes: Sequence[str], examples: int) -> list[str]:
    if not classes:
        return [f"{sum(map(float, labels)) / len(labels):.6g}"] * examples
    counts = Counter(labels)
    return [max(classes, key=lambda each: counts[each])] * examples


def _bag_of_words(
    train: Sequence[Sequence[str]], labels: Sequence[str], inputs: Sequence[Sequence[str]], classes: Sequence[str]
) -> list[str]:
    try:
        from scipy.sparse import hstack
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression, Ridge
    except ImportError:
        raise UserError("bag-of-words needs scikit-learn: pip install 'fairseq-rope[classify]'") from None
    # a word, or a sign that is not; the two sentences of a pair have features of their own
    counters = [CountVectorizer(ngram_range=(1, 2), token_pattern=r"\w+|[^\w\s]") for _ in train]
    features = hstack([counter.fit_transform(lines) for counter, lines in zip(counters, train, strict=True)]).tocsr()
    new = hstack([counter.transform(lines) for counter, lines in zip(counters, inputs, strict=True)]).tocsr()
    model: Any
    if not classes:
        model = Ridge(random_state=1).fit(features, [float(label) for label in labels])
        return [f"{value:.6g}" for value in model.predict(new)]
    if len({*labels}) == 1:
        return [labels[0]] * len(inputs[0])
    model = LogisticRegression(max_iter=1000).fit(features, list(labels))
    return [str(label) for label in model.predict(new)]

"""What is reached without a neural network: the most frequent label, a linear model of words, or nearness by TF-IDF."""

from collections import Counter
from collections.abc import Sequence
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from fairseq_rope.scoring.predictions import Predictions, is_number
from fairseq_rope.scoring.text import read_lines
from fairseq_rope_data.errors import UserError

BASELINES = {
    "majority": "the most frequent label of the training set, of numbers their mean",
    "bag-of-words": "logistic regression on counts of words and pairs of words, of numbers ridge regression",
    "tf-idf": "of texts to rank: the nearest to the first one, by TF-IDF of characters and pairs of characters",
}


def baseline_predictions(name: str, text: Path, subset: str) -> Predictions:
    """Return the predictions of a baseline, learned from the subset train.

    Args:
        name: of BASELINES.
        text: a folder that `fairseq_rope_data.glue` or `scm` wrote.
        subset: such as valid.

    Raises:
        UserError: a file is missing, has another number of lines than the others, nothing but blank lines, or a label
            that is none; scikit-learn is not installed.
    """
    classes = _classes(text)
    labels, inputs = _labels(text / "train.label", classes), _inputs(text, subset)
    known = _labels(text / f"{subset}.label", classes) if (text / f"{subset}.label").is_file() else []
    if name == "tf-idf" and len(inputs) != len(classes) + 1:
        raise UserError(f"tf-idf ranks texts, a class each, but --text {text} has no {subset}.input{len(classes)}")
    train = _inputs(text, "train")
    _check_fit(text, subset, [train, inputs], [labels, known])
    if name == "majority":
        found = _majority(labels, classes, len(inputs[0]))
    elif name == "tf-idf":
        found = _nearest(train, inputs, classes)
    else:
        found = _bag_of_words(train, labels, inputs, classes)
    if not classes:
        known = [f"{float(each):.6g}" for each in known]
    return Predictions(classes, known, found)


def _classes(text: Path) -> tuple[str, ...]:
    path = text / "labels.txt"
    return tuple(line.rpartition(" ")[0] for line in read_lines(path)) if path.is_file() else ()


def _labels(path: Path, classes: Sequence[str]) -> list[str]:
    """Return the labels of a file, each of which is a class, or a number where there are none."""
    labels = read_lines(path)
    for number, label in enumerate(labels, 1):
        if classes and label not in classes:
            raise UserError(f"{path}:{number}: the label must be {' or '.join(classes)}, but is {label[:60]!r}")
        if not classes and not is_number(label):
            raise UserError(
                f"{path}:{number}: the label must be a number, for there is no {path.parent / 'labels.txt'}, but is "
                f"{label[:60]!r}"
            )
    return labels


def _inputs(text: Path, subset: str) -> list[list[str]]:
    """Return the lines of each sentence of the examples."""
    paths = [*takewhile(Path.is_file, (text / f"{subset}.input{number}" for number in count()))]
    if not paths:
        raise UserError(f"--text {text} must be what fairseq_rope_data.glue wrote, but has no {subset}.input0")
    found = [read_lines(path) for path in paths]
    for path, lines in zip(paths, found, strict=True):
        if len(lines) != len(found[0]):
            raise UserError(f"{paths[0]} and {path} must have as many lines, but have {len(found[0])}, {len(lines)}")
    return found


def _check_fit(
    text: Path, subset: str, inputs: Sequence[Sequence[Sequence[str]]], labels: Sequence[Sequence[str]]
) -> None:
    """Check that the training set and the subset have the same columns, with text to learn from and all labels."""
    if len(inputs[0]) != len(inputs[1]):
        counts = f"{len(inputs[0])} and {len(inputs[1])}"
        raise UserError(f"--text {text}: train and {subset} must have as many files of sentences, but have {counts}")
    for name, columns, its in zip(("train", subset), inputs, labels, strict=True):
        if its and len(its) != len(columns[0]):
            paths = f"{text / f'{name}.input0'} and {text / f'{name}.label'}"
            raise UserError(f"{paths} must have as many lines, but have {len(columns[0])}, {len(its)}")
    for number, lines in enumerate(inputs[0]):
        if not any(line.strip() for line in lines):
            raise UserError(f"{text / f'train.input{number}'} has nothing but blank lines")


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


def _nearest(train: Sequence[Sequence[str]], inputs: Sequence[Sequence[str]], classes: Sequence[str]) -> list[str]:
    """Return for each first text which of the others has the largest cosine; of equal ones the first."""
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError:
        raise UserError("tf-idf needs scikit-learn: pip install 'fairseq-rope[classify]'") from None
    # a document that is in many examples is one; sorted, for the numbers of features follow their order
    known = sorted({line for lines in train for line in lines})
    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(1, 2)).fit(known)
    first, *others = (vectorizer.transform(lines) for lines in inputs)
    # (N) for each choice: rows have norm 1
    cosines = [first.multiply(other).sum(axis=1).A1 for other in others]
    return [max(zip(row, classes, strict=True), key=lambda pair: pair[0])[1] for row in zip(*cosines, strict=True)]

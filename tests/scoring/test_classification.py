"""Scores of predictions: resampled ones are scikit-learn's and scipy's, and reports say what they are of."""

import json
from pathlib import Path

import numpy as np
import pytest

from fairseq_rope.scoring.classification import METRICS, check_metrics, default_metrics
from fairseq_rope.scoring.prediction_report import bootstrap_predictions, report_on
from fairseq_rope.scoring.predictions import Predictions, read_predictions, write_predictions
from fairseq_rope.scoring.report_file import read_report, report_json, report_text
from fairseq_rope.scoring.resampling import SAMPLES, draws
from fairseq_rope_data.errors import UserError

BINARY = ("0", "1")


def columns(name: str, *, classes: int = 2, size: int = 37) -> tuple[np.ndarray, np.ndarray]:
    """Labels, and predictions of which most are right."""
    dice = np.random.default_rng(classes)
    if not METRICS[name].of_classes:
        labels = dice.integers(0, 11, size) / 10  # with ties
        return labels, np.round(labels + dice.normal(0, 0.4, size), 1)
    labels = dice.integers(0, classes, size)
    return labels, np.where(dice.random(size) < 0.7, labels, dice.integers(0, classes, size))


@pytest.mark.parametrize("name", METRICS)
def test_a_resampled_score_is_the_librarys_on_the_examples_that_were_drawn(name: str):
    for classes in (2,) if METRICS[name].two_classes else (2, 3):
        labels, predictions = columns(name, classes=classes)
        counts = np.random.default_rng(1).multinomial(len(labels), np.full(len(labels), 1 / len(labels)), size=20)
        found = METRICS[name].resampled(labels, predictions, counts.astype(float))
        expected = [METRICS[name].score(np.repeat(labels, row), np.repeat(predictions, row)) for row in counts]
        assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-7, 1, 1e7])
@pytest.mark.parametrize("name", ["pearson", "spearman"])
def test_a_resampled_score_does_not_depend_on_how_much_numbers_vary(name: str, scale: float):
    labels, predictions = columns(name)
    counts = np.random.default_rng(1).multinomial(len(labels), np.full(len(labels), 1 / len(labels)), size=20) * 1.0
    expected = METRICS[name].resampled(labels, predictions, counts)
    assert METRICS[name].resampled(labels, 0.5 + scale * predictions, counts) == pytest.approx(expected, abs=1e-6)


def test_the_interval_of_a_model_that_has_hardly_moved_is_around_its_score():
    labels, predictions = columns("pearson", size=200)
    both = [Predictions((), [*map(str, labels)], [*map(str, 0.5 + 1e-7 * column)]) for column in (predictions, labels)]
    (score,) = report_on(both[0], ["pearson"]).scores
    assert 0 < score.low < score.value < score.high
    (compared,) = bootstrap_predictions({"a": both[:1], "b": both[1:]}, ["pearson"])
    (difference,) = compared.differences
    assert 0 < difference.low < difference.mean < difference.high


def test_equal_numbers_with_a_mean_that_is_rounded_have_no_correlation():
    same, labels = np.full(3, 0.1), np.array([0.1, 0.2, 0.4])
    assert METRICS["pearson"].resampled(labels, same, np.ones((2, 3))) == pytest.approx([0, 0], abs=0)


@pytest.mark.parametrize("name", METRICS)
def test_predictions_that_are_all_the_same_have_a_score(name: str):
    labels, _ = columns(name)
    same = np.ones_like(labels)
    found = METRICS[name].resampled(labels, same, np.ones((1, len(labels))))
    assert found == pytest.approx([METRICS[name].score(labels, same)])
    assert name in ("accuracy", "f1") or found == [0]


def test_f1_is_of_the_second_class():
    labels, predictions = np.array([1, 1, 0, 0]), np.array([1, 0, 0, 0])
    assert METRICS["f1"].score(labels, predictions) == pytest.approx(2 / 3)


def test_metrics_are_those_that_fit_what_is_predicted():
    assert default_metrics(BINARY) == ("accuracy", "f1", "matthews")
    assert default_metrics(("a", "b", "c")) == ("accuracy", "matthews")
    assert default_metrics(()) == ("pearson", "spearman")
    for name, classes, message in (
        ("f1", ("a", "b", "c"), "--metrics f1 needs two classes, but there are 3"),
        ("accuracy", (), "--metrics accuracy compares classes, but the model predicts the other"),
        ("pearson", BINARY, "--metrics pearson compares numbers, but the model predicts the other"),
    ):
        with pytest.raises(UserError) as error:
            check_metrics([name], classes)
        assert str(error.value) == message


def made(seed: int, *, right: float, size: int = 80) -> Predictions:
    labels = np.random.default_rng(0).integers(0, 2, size)
    dice = np.random.default_rng(seed)
    predictions = np.where(dice.random(size) < right, labels, 1 - labels)
    return Predictions(BINARY, [*map(str, labels)], [*map(str, predictions)])


def test_a_report_is_of_the_form_that_results_reads(tmp_path: Path):
    report = report_on(made(1, right=0.9), ["f1", "accuracy", "f1"])
    (tmp_path / "score-valid.json").write_text(report_json(report, ("scikit-learn", "scipy")))
    read = read_report(tmp_path / "score-valid.json")
    assert [each["name"] for each in read["scores"]] == ["f1", "accuracy"]
    accuracy = read["scores"][1]
    assert 80 < accuracy["low"] < accuracy["value"] < accuracy["high"] < 100
    assert read["sentences"] == 80 and read["settings"] == {"classes": ["0", "1"]}
    assert "examples:80|classes:2|scikit-learn:" in accuracy["signature"]
    assert report_text(report).startswith(f"80 examples\nf1 = {read['scores'][0]['value']:.2f} [")
    assert json.loads(report_json(report, ("scipy",)))["versions"].keys() == {"scipy"}


def test_examples_without_labels_have_no_scores():
    report = report_on(Predictions(BINARY, [], ["1", "0"]))
    assert report.scores == [] and report.notes == ["no scores: the examples have no labels"]


def test_the_same_predictions_do_not_differ_and_better_ones_do():
    weak, strong = [made(seed, right=0.6) for seed in (1, 2)], [made(seed, right=0.95) for seed in (3, 4)]
    (same,) = bootstrap_predictions({"a": weak, "b": weak}, ["accuracy"])
    assert (same.differences[0].mean, same.differences[0].p_value) == (0, 1)
    (other,) = bootstrap_predictions({"a": weak, "b": strong}, ["accuracy"])
    (difference,) = other.differences
    means = [np.mean(other.scores[name]) for name in "ab"]
    assert difference.mean == pytest.approx(means[1] - means[0])
    assert 0 < difference.low < difference.mean < difference.high and difference.p_value < 0.01


def test_predictions_for_other_examples_are_not_compared():
    other = Predictions(BINARY, ["1"] * 80, ["1"] * 80)
    with pytest.raises(UserError) as error:
        bootstrap_predictions({"a": [made(1, right=1)], "b": [other]}, ["accuracy"])
    assert str(error.value) == "predictions of a and b are compared, but their labels differ"


def test_a_file_of_predictions_is_read_as_it_was_written(tmp_path: Path):
    path = tmp_path / "predictions-valid.tsv"
    found = made(1, right=0.8)
    write_predictions(found, path)
    assert read_predictions(path, BINARY) == found
    assert path.read_text().splitlines()[:1] == ["id\tlabel\tprediction\tprobability"]
    lines = path.read_text().splitlines()
    for number, bad in ((3, "2\t7\t1\t"), (3, "5\t1\t1\t"), (3, "2\t1"), (1, "id")):
        damaged = [*lines]
        damaged[number - 1 + (number > 1)] = bad
        path.write_text("\n".join(damaged) + "\n")
        with pytest.raises(UserError) as error:
            read_predictions(path, BINARY)
        assert str(error.value).startswith(f"{path}:{number + (number > 1)}: not what tools.classify --output writes")


@pytest.mark.parametrize(("size", "seeds"), [(82, 1), (130, 1), (136, 1), (136, 2), (52, 2), (50, 3)])
def test_p_counts_differences_of_accuracy_as_the_whole_numbers_that_they_are(size: int, seeds: int):
    systems = {
        name: [made(10 * first + seed, right=right, size=size) for seed in range(seeds)]
        for first, (name, right) in enumerate({"a": 0.7, "b": 0.8}.items(), 1)
    }
    ((difference,),) = (each.differences for each in bootstrap_predictions(systems, ["accuracy"]))
    correct = [
        sum(np.array(each.labels) == np.array(each.predictions) for each in row).astype(int) for row in systems.values()
    ]
    gain = correct[1] - correct[0]
    (counts,) = draws(size, SAMPLES, 12345)
    # as far from the difference as zero is: very many sets are exactly that far
    larger = np.sum(np.abs(counts.astype(int) @ gain - gain.sum()) >= abs(gain.sum()))
    assert difference.p_value == (larger + 1) / (SAMPLES + 1)

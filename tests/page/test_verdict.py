"""The sentences on top of the page say no more than the numbers."""

import pytest

from fairseq_rope.page.verdict import headline_score, question, verdicts


def results(values: dict[str, list[float]], *differences: tuple[str, float, float, float]) -> dict:
    """Results with BLEU and chrF2 of each seed, and differences as (model, mean, low, high)."""
    models = {}
    for name, scores in values.items():
        mean = sum(scores) / len(scores) if scores else None
        statistic = {
            "values": {str(i + 1): score for i, score in enumerate(scores)},
            "mean": mean,
            "sd": 0.5 if len(scores) > 1 else None,
            "ways": 1,
        }
        models[name] = {"statistics": {"epochs, updates": {}, "test: chrF2": statistic, "test: BLEU": statistic}}
        if not scores:
            models[name] = {"statistics": {"epochs, updates": {}}}
    found = [
        {
            "statistic": "test: BLEU",
            "model": model,
            "mean": mean,
            "low": low,
            "high": high,
            "seeds": [1, 2],
            "independent": 2,
        }
        for model, mean, low, high in differences
    ]
    return {"baseline": next(iter(values)), "models": models, "seed_differences": found, "bootstraps": []}


@pytest.mark.parametrize(
    ("difference", "sentence"),
    [
        (
            ("stock", -0.8, -1.3, -0.3),
            "stock is 0.80 BLEU on test below rope (95% t interval -1.30 to -0.30 over 2 seeds, paired).",
        ),
        (
            ("stock", 0.8, 0.3, 1.3),
            "stock is 0.80 BLEU on test above rope (95% t interval +0.30 to +1.30 over 2 seeds, paired).",
        ),
        (
            ("stock", 0.8, -0.1, 1.7),
            "No difference between stock and rope is shown in BLEU on test: +0.80 "
            "(95% t interval -0.10 to +1.70 over 2 seeds, paired).",
        ),
    ],
)
def test_a_difference_is_named_only_where_its_interval_leaves_zero_out(difference, sentence: str):
    assert verdicts(results({"rope": [1.0, 2.0], "stock": [1.0, 2.0]}, difference)) == [sentence]


def test_with_one_seed_nothing_is_concluded():
    assert verdicts(results({"rope": [41.5], "stock": [40.25]})) == [
        "stock has 40.25 BLEU on test, rope 41.50; "
        "with fewer than two independent seeds in common nothing can be concluded about training."
    ]


def test_with_one_seed_the_interval_is_that_of_the_test_set():
    found = results({"rope": [41.5], "stock": [40.25]})
    found["bootstraps"] = [{"test_set": "test", "model": "stock", "metric": "BLEU", "low": -2.0, "high": -0.5}]
    assert "rope 41.50 (95% bootstrap interval -2.00 to -0.50); with fewer" in verdicts(found)[0]


def test_each_other_model_has_its_sentence_and_one_without_scores_says_so():
    found = verdicts(results({"rope": [1.0, 2.0], "a": [1.0, 2.0], "b": []}, ("a", 0.1, -1, 1)))
    assert len(found) == 2 and found[1] == "b has no BLEU on test yet."


def test_a_model_alone_has_its_score():
    assert verdicts(results({"rope": [41.0, 42.0]})) == [
        "rope reaches 41.50 BLEU on test, mean of 2 trainings with a standard deviation of 0.50."
    ]
    assert verdicts(results({"rope": [41.0]})) == ["rope reaches 41.00 BLEU on test, in one training."]
    assert question(results({"rope": [41.0]})) == "What does rope reach?"


def test_before_there_are_scores_there_is_no_verdict():
    nothing = results({"rope": [], "stock": []})
    assert headline_score(nothing) is None
    assert verdicts(nothing) == ["Nothing is scored yet."]
    assert question(nothing) == "How does stock compare with rope?"


def test_bleu_is_what_counts_and_the_question_names_all_models():
    found = results({"rope": [1.0], "a": [1.0], "b": [1.0]})
    assert headline_score(found) == "test: BLEU"
    assert question(found) == "How do a and b compare with rope?"

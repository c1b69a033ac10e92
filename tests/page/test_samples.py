"""The sentences that differ most, against a sort of all sentence scores by sacreBLEU's own function."""

import pytest
from sacrebleu import sentence_chrf

from fairseq_rope.page.samples import MOST_LETTERS, largest_differences
from tests.support.corpora import sentences, system


@pytest.mark.parametrize("lowercase", [False, True])
def test_they_are_the_first_and_last_of_all_sentences_by_gain(lowercase: bool):
    references, sources = sentences(60, seed=1), sentences(60, seed=2)
    baseline = system(references, errors=0.3, seed=3)
    model = [line.upper() if i % 10 == 0 else line for i, line in enumerate(system(references, errors=0.3, seed=4))]
    better, worse = largest_differences(sources, references, baseline, model, lowercase=lowercase, shown=5)

    def score(line: str, reference: str) -> float:
        if lowercase:
            line, reference = line.lower(), reference.lower()
        return sentence_chrf(line, [reference]).score

    gains = [
        score(ours, ref) - score(theirs, ref) for ours, theirs, ref in zip(model, baseline, references, strict=True)
    ]
    assert [each.gain for each in better] == pytest.approx(sorted(gains, reverse=True)[:5])
    assert [each.gain for each in worse] == pytest.approx(sorted(gains)[:5])
    for each in (*better, *worse):
        i = each.line - 1
        assert each.gain == pytest.approx(gains[i])
        assert (each.source, each.reference) == (sources[i], references[i])
        assert " ".join(text for text, _ in each.model) == model[i]


def test_gains_are_no_losses_and_equal_sentences_are_neither():
    references = ["ein Haus", "ein Hund", "eine Katze"]
    better, worse = largest_differences(
        [], references, ["ein", "ein Hund", "eine"], references, lowercase=False, shown=9
    )
    assert sorted(each.line for each in better) == [1, 3] and worse == []
    assert {each.source for each in better} == {""}


def test_a_document_in_a_line_is_cut_and_control_characters_are_shown_as_such():
    long = "Wort " * 1000
    better, _ = largest_differences([long], ["a\x00\x1bb"], ["x"], ["a\x00\x1bb\x85"], lowercase=False, shown=1)
    assert better[0].reference == "a\ufffd\ufffdb"
    assert len(better[0].source) < MOST_LETTERS + 10 and better[0].source.endswith(" ...")

"""Text that can't be what it is taken for is refused by file and line, through the functions that `score` calls."""

from pathlib import Path

import pytest

from fairseq_rope.scoring.detokenize import join_bpe
from fairseq_rope.scoring.evaluation import ScoreSettings
from fairseq_rope.scoring.report import Report
from fairseq_rope.scoring.score_files import score_log, score_texts
from fairseq_rope_data.errors import UserError
from tests.support.corpora import sentences, write

REFS = sentences(8, seed=4)
RAW = ScoreSettings(detokenized=True)


def score_files(
    folder: Path, hyps: list[str], refs: list[str] = REFS, settings: ScoreSettings = RAW, raw: list[str] | None = None
) -> Report:
    ref_raw = None if raw is None else write(folder / "raw", raw)
    return score_texts(write(folder / "hyps", hyps), write(folder / "refs", refs), settings, ref_raw=ref_raw)


def replaced(index: int, line: str, lines: list[str] = REFS) -> list[str]:
    return [*lines[:index], line, *lines[index + 1 :]]


def moved(first: int, second: int) -> list[str]:
    return replaced(first, REFS[second], replaced(second, REFS[first]))


@pytest.mark.parametrize(
    ("hyps", "message"),
    [
        (REFS[:5], "--ref {}/refs has 8 lines, but --sys {}/hyps has 5: {}/refs:6 is the first without a counterpart"),
        ([*REFS, "x"], "--ref {}/refs has 8 lines, but --sys {}/hyps has 9: {}/hyps:9 is the first without a"),
        (replaced(2, " \t"), "{}/hyps:3: the hypothesis is empty, but {}/refs:3 is not (1 of 8 lines; --allow empty"),
        ([""] * 8, "{}/hyps:1: the hypothesis is empty, but {}/refs:1 is not (8 of 8 lines; --allow empty"),
        (
            replaced(3, "so@@ me"),
            "{}/hyps:4: a mark of BPE, @@, is left in raw text (1 of 8 lines; --allow bpe-markers",
        ),
        (replaced(3, "\u2581so me"), "{}/hyps:4: a mark of BPE, \u2581, is left in raw text (1 of 8 lines"),
        (moved(2, 5), "{}/hyps:3: out of order: it shares "),
        (REFS[1:] + REFS[:1], "{}/hyps:1: out of order: it shares "),
        ([f"H-{i}\t-0.5\t{line}" for i, line in enumerate(REFS)], "{}/hyps:1: a line of a fairseq-generate log (H-0)"),
        (replaced(4, f"D-12\t{REFS[4]}"), "{}/hyps:5: a line of a fairseq-generate log (D-12), whose lines stand in"),
    ],
    ids=["fewer", "more", "empty", "all empty", "@@", "U+2581", "swapped", "shifted", "cut from a log", "one of a log"],
)
def test_hypotheses_that_cannot_be_trusted_are_named(tmp_path: Path, hyps: list[str], message: str) -> None:
    with pytest.raises(UserError) as caught:
        score_files(tmp_path, hyps)
    assert str(caught.value).startswith(message.replace("{}", str(tmp_path)))


def test_the_message_on_order_names_where_a_line_belongs(tmp_path: Path) -> None:
    refs = ["one two three", "four five six", "seven eight nine"]
    with pytest.raises(UserError) as caught:
        score_files(tmp_path, [refs[0], refs[2], refs[1]], refs)
    # three words, two pairs of neighbors and all three
    text = (
        "it shares 6 phrases with {}/refs:3 alone, none with {}/refs:2 (2 of 3 lines; --allow order scores them as they"
    )
    assert text.replace("{}", str(tmp_path)) in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "hyps"), [("empty", replaced(2, "")), ("bpe-markers", replaced(3, "so@@ me")), ("order", moved(2, 5))]
)
def test_what_is_allowed_is_scored_and_told(tmp_path: Path, kind: str, hyps: list[str]) -> None:
    report = score_files(tmp_path, hyps, settings=ScoreSettings(detokenized=True, allow=(kind,)))
    count = 2 if kind == "order" else 1
    first = next(i for i, (hyp, ref) in enumerate(zip(hyps, REFS, strict=True)) if hyp != ref)
    assert [entry.name for entry in report.scores] == ["BLEU", "chrF2"]
    assert report.notes[0].startswith(f"--allow {kind}: {count} of 8 lines, the first {tmp_path}/hyps:{first + 1}: ")


def test_two_lines_out_of_order_in_many_are_scored_and_told(tmp_path: Path) -> None:
    refs = sentences(100, seed=4)
    hyps = [*refs[:50], refs[51], refs[50], *refs[52:]]
    report = score_files(tmp_path, hyps, refs)
    assert [entry.name for entry in report.scores] == ["BLEU", "chrF2"]
    place = f"2 of 100 lines, the first {tmp_path}/hyps:51: out of order: it shares "
    assert report.notes[0].startswith(f"scored as they are: {place}")


def test_what_the_reference_has_too_is_no_breach(tmp_path: Path) -> None:
    same = replaced(1, "", replaced(2, "write so@@ and \u2581 so"))
    assert score_files(tmp_path, same, same).scores[0].value == pytest.approx(100)


def test_tokens_are_scored_with_their_bpe_but_not_empty_or_out_of_order(tmp_path: Path) -> None:
    pieces = [line.replace("a", "a@@ ") for line in REFS]
    assert score_files(tmp_path, pieces, pieces, ScoreSettings()).scores[0].value == pytest.approx(100)
    for hyps, message in (replaced(0, "", pieces), "hyps:1: the hypothesis is empty"), (pieces[::-1], "out of order"):
        with pytest.raises(UserError, match=message):
            score_files(tmp_path, hyps, pieces, ScoreSettings())


def test_bpe_of_another_kind_than_the_references_is_seen(tmp_path: Path) -> None:
    pieces = ["".join(f"\u2581{word} " for word in line.split()) for line in REFS]
    with pytest.raises(UserError, match="hyps:1: a mark of BPE, \u2581, is left in raw text"):
        score_files(tmp_path, pieces, REFS, ScoreSettings(target_lang="de"))


def test_raw_references_in_another_order_are_seen_by_the_others(tmp_path: Path) -> None:
    nothing = ["xx yy zz"] * len(REFS)
    with pytest.raises(UserError, match=r"refs:1: out of order: it shares .* with .*/raw:8 alone, none with .*/raw:1"):
        score_files(tmp_path, nothing, REFS, ScoreSettings(target_lang="de"), raw=REFS[::-1])


@pytest.mark.parametrize("side", ["hyps", "refs", "raw"])
def test_split_hyphens_are_refused_where_compounds_are_to_be_split(tmp_path: Path, side: str) -> None:
    texts = {"hyps": REFS, "refs": REFS}
    texts[side] = replaced(6, "schwarz @-@ rot")
    settings = ScoreSettings(target_lang="de", detokenized=side != "raw")
    with pytest.raises(UserError, match=f"{side}:7: hyphens are split already .@-@.: compound-split BLEU needs"):
        score_files(tmp_path, settings=settings, **texts)
    other = ScoreSettings(target_lang="en", detokenized=side != "raw")
    assert {entry.name for entry in score_files(tmp_path, settings=other, **texts).scores} >= {"BLEU", "chrF2"}


def test_hyphens_that_detokenization_joins_are_scored(tmp_path: Path) -> None:
    lines = [*REFS, "schwarz @-@ rot @-@ @-@ gold", "@-@"]
    report = score_files(tmp_path, lines, lines, ScoreSettings(target_lang="de"))
    assert report.scores[-1].name == "compound-split BLEU" and report.scores[-1].value == pytest.approx(100)


def test_a_place_in_a_log_is_its_line(tmp_path: Path) -> None:
    lines = ["a first line of another program"]
    for i in (1, 0, 2):
        text = "" if i == 2 else REFS[i]
        lines += [f"S-{i}\tx", f"T-{i}\t{REFS[i]}", f"H-{i}\t-0.5\t{text}", f"D-{i}\t-0.5\t{text}"]
    log = write(tmp_path / "log", [*lines, "Generate test with beam=5: BLEU4 = 1.00, ..."])
    with pytest.raises(UserError, match=r"log:13: the hypothesis is empty, but .*log:11 is not"):
        score_log(log, ScoreSettings())
    short = write(tmp_path / "short", REFS[:2])
    with pytest.raises(UserError, match=r"but --log .*log has 3: .*log:13 is the first without a counterpart"):
        score_log(log, ScoreSettings(target_lang="de"), ref_raw=short)


def test_the_real_log_passes_every_check(data_dir: Path) -> None:
    log = data_dir / "fairseq_generate_logs" / "17-1generate-test.txt.gz"
    report = score_log(log, ScoreSettings(target_lang="en"))
    assert not any("allow" in note for note in report.notes)
    assert report.raw_hyps is not None and not any("@@" in line for line in join_bpe(report.raw_hyps, "none"))

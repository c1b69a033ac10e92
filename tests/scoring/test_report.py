"""Scores of texts and logs: fairseq's own scorer and sacreBLEU are the oracles."""

from pathlib import Path

import pytest
import sacrebleu
from fairseq.data.data_utils import post_process
from hypothesis import given, settings
from hypothesis import strategies as st

from fairseq_rope.scoring.detokenize import BPE_KINDS, bpe_kind, detokenize, join_bpe
from fairseq_rope.scoring.evaluation import Evaluation, ScoreSettings
from fairseq_rope.scoring.generate_log import parse_generate_log
from fairseq_rope.scoring.metrics import fairseq_bleu
from fairseq_rope.scoring.report import Report, score
from fairseq_rope.scoring.score_files import score_log, score_texts
from fairseq_rope.scoring.text import Text, read_lines
from fairseq_rope_data.errors import UserError
from tests.support.generate_logs import HYPS, REFS, log_lines, write


def fairseq_line(hyps: list[str], refs: list[str]) -> str:
    """What fairseq-score prints, as sacreBLEU counts it: for text without fairseq's special words and empty lines."""
    bleu = sacrebleu.BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(hyps, [refs])
    precisions = "/".join(f"{precision:.1f}" for precision in bleu.precisions)
    lengths = f"ratio={bleu.sys_len / bleu.ref_len:.3f}, syslen={bleu.sys_len}, reflen={bleu.ref_len}"
    return f"BLEU4 = {bleu.score:.2f}, {precisions} (BP={bleu.bp:.3f}, {lengths})"


def report_of(hyps: list[str], refs: list[str] | None, ref_raw: list[str] | None = None, **how: object) -> Report:
    """Score lists of sentences; HYPS holds an empty one, which must be allowed."""
    texts = (None if lines is None else Text(name, lines) for name, lines in (("refs", refs), ("raw", ref_raw)))
    settings = ScoreSettings(**{"allow": ("empty",), **how})  # type: ignore[arg-type]
    return score(Evaluation(Text("hyps", hyps), *texts), settings)


def scores_of(
    hyps: list[str], refs: list[str] | None, ref_raw: list[str] | None = None, **how: object
) -> dict[str, str]:
    return {entry.name: entry.text for entry in report_of(hyps, refs, ref_raw, **how).scores}


WORDS = ["a", "b", "c", "d@@", "\u00e4", "A"]
LINES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(LINES, LINES), min_size=1, max_size=6))
def test_bleu4_is_fairseqs_line_as_sacrebleu_counts_it(pairs: list[tuple[str, str]]) -> None:
    hyps, refs = [hyp for hyp, _ in pairs], [ref for _, ref in pairs]
    assert fairseq_bleu(hyps, refs).text == fairseq_line(hyps, refs)
    small = fairseq_line([hyp.lower() for hyp in hyps], [ref.lower() for ref in refs])
    assert fairseq_bleu(hyps, refs, lowercase=True).text == small


def test_an_unknown_word_in_the_reference_never_matches() -> None:
    assert fairseq_bleu(["a <unk> b"], ["a <unk> b"]).text.startswith("BLEU4 = 0.00, 66.7/0.0/0.0/0.0")


def test_bleu4_without_bpe_is_that_of_the_joined_words() -> None:
    words = fairseq_bleu([h.replace("@@ ", "") for h in HYPS], [r.replace("@@ ", "") for r in REFS]).text
    assert scores_of(HYPS, REFS)["BLEU4 without BPE"] == words.replace("BLEU4", "BLEU4 without BPE")
    assert set(scores_of(["a b"], ["a c"])) == {"BLEU4"}


def test_text_is_detokenized_as_a_person_would() -> None:
    assert detokenize(join_bpe(HYPS, "subword_nmt"), "de") == [
        "der Mann sieht den kleinen Hund, den er gestern kaufte.",
        '"ich bin m\u00fcde", sagt die Frau.',
        "wir fahren morgen mit dem Zug nach M\u00fcnchen-S\u00fcd.",
        "",
        "das ist 's & mehr <unk> nicht.",
    ]


def test_detokenized_scores_are_sacrebleus_with_its_signatures() -> None:
    raw = [detokenize(join_bpe(lines, "subword_nmt"), "de") for lines in (HYPS, REFS)]
    bleu, chrf = sacrebleu.BLEU(), sacrebleu.CHRF()
    expected = [bleu.corpus_score(raw[0], [raw[1]]), chrf.corpus_score(raw[0], [raw[1]])]
    report = report_of(HYPS, REFS, target_lang="de")
    assert [entry.text for entry in report.scores[2:4]] == [str(entry) for entry in expected]
    assert [entry.value for entry in report.scores[2:4]] == [entry.score for entry in expected]
    assert [entry.signature for entry in report.scores[2:4]] == [str(m.get_signature()) for m in (bleu, chrf)]


def test_a_raw_reference_replaces_the_tokenized_one_in_detokenized_scores_only() -> None:
    raw = detokenize(join_bpe(HYPS, "subword_nmt"), "de")
    scores = scores_of(HYPS, REFS, raw, target_lang="de")
    assert scores["BLEU4"] == fairseq_bleu(HYPS, REFS).text
    assert scores["BLEU"].startswith("BLEU = 100.00") and scores["chrF2"] == "chrF2 = 100.00"
    assert set(scores_of(HYPS, None, raw, target_lang="de")) == {"BLEU", "chrF2", "compound-split BLEU"}


def test_detokenized_text_is_scored_as_it_stands() -> None:
    hyps, refs = ["Er sagt: &amp; so@@ weiter."], ["Er sagt: &amp; so@@ fort."]
    assert scores_of(hyps, refs, detokenized=True) == {
        "BLEU": str(sacrebleu.corpus_bleu(hyps, [refs])),
        "chrF2": str(sacrebleu.corpus_chrf(hyps, [refs])),
    }


def test_lower_case_is_scored_everywhere_and_told() -> None:
    report = report_of(["Das Haus ist GROSS ."], ["das haus IST gross ."], target_lang="de", lowercase=True)
    assert [round(entry.value, 6) for entry in report.scores] == [100.0] * 4
    assert all("case:lc" in entry.signature for entry in report.scores)


@given(
    kind=st.sampled_from(BPE_KINDS),
    line=st.lists(st.sampled_from(["@@ ", "@@", "\u2581", "_", "|", "_EOW", " ", "  ", "a", "das", "@", "\u00e4"])),
)
def test_pieces_are_joined_as_fairseq_joins_them(kind: str, line: list[str]) -> None:
    assert join_bpe(["".join(line)], kind) == [post_process("".join(line), kind)]


def test_sentencepiece_is_seen_and_joined() -> None:
    pieces = ["\u2581das \u2581Ha us .", "\u2581ja"]
    assert bpe_kind(pieces) == "sentencepiece"
    assert join_bpe(pieces, "sentencepiece") == ["das Haus.", "ja"]
    assert bpe_kind(["a@@ b", ""]) == bpe_kind([""]) == "subword_nmt"


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"post_process": "sentencepiece"}, "--post-process is sentencepiece, but no line has its mark"),
        ({"post_process": "none", "detokenized": True}, "--detokenized excludes --post-process"),
        ({"target_lang": "../x", "detokenized": True}, "must be a code of two or three small letters, but is '../x'"),
        ({"target_lang": "de_DE"}, "--target-lang must be a code of two or three small letters, but is 'de_DE'"),
        ({}, "--ref-raw needs --target-lang"),
    ],
)
def test_settings_that_do_not_fit_are_refused(how: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        scores_of(HYPS, REFS, REFS, **how)


def test_what_is_left_out_is_said() -> None:
    assert "raw text, as sacreBLEU takes it, needs --detokenized; tokens need --target-lang" in str(
        report_of(HYPS, REFS).notes
    )
    assert "hold 1 unknown words" in report_of(HYPS, REFS, target_lang="de").notes[-1]


def test_a_decoded_log_is_scored_on_what_fairseq_scored(tmp_path: Path) -> None:
    # with --remove-bpe --tokenizer moses, fairseq prints T and D decoded, H not, and scores D against T
    hyps, refs = (join_bpe(lines, "subword_nmt") for lines in (HYPS, REFS))
    raw_hyps, raw_refs = detokenize(hyps, "de"), detokenize(refs, "de")
    theirs = fairseq_bleu(raw_hyps, raw_refs).text
    path = write(tmp_path / "log", log_lines(hyps, raw_refs, decoded=raw_hyps, last=theirs))
    report = score_log(path, ScoreSettings(allow=("empty",)))
    assert report.scores[0].text == theirs
    assert any("D is scored, not H" in note for note in report.notes)
    assert not any("differs" in note for note in report.notes)


def test_a_log_whose_own_score_is_another_says_so(tmp_path: Path) -> None:
    path = write(tmp_path / "log", log_lines(HYPS, REFS, last="BLEU4 = 99.00, 1.0/1.0/1.0/1.0 (BP=1.000)"))
    assert "BLEU4 = 99.00" in score_log(path, ScoreSettings(allow=("empty",))).notes[-1]


def test_unequal_line_counts_name_both_files(tmp_path: Path) -> None:
    sys_file, ref_file = write(tmp_path / "sys", HYPS), write(tmp_path / "ref", REFS[:3])
    with pytest.raises(UserError, match=f"--ref {ref_file} has 3 lines, but --sys {sys_file} has 5"):
        score_texts(sys_file, ref_file, ScoreSettings())
    with pytest.raises(UserError, match=f"--ref-raw {ref_file} has 3 lines, but --sys {sys_file} has 5"):
        score_texts(sys_file, sys_file, ScoreSettings(target_lang="de"), ref_raw=ref_file)
    log = write(tmp_path / "log", log_lines(HYPS, REFS))
    with pytest.raises(UserError, match=f"--ref-raw {ref_file} has 3 lines, but --log {log} has 5"):
        score_log(log, ScoreSettings(target_lang="de"), ref_raw=ref_file)


def test_the_real_log_gives_the_figures_in_its_last_line(data_dir: Path) -> None:
    report = score_log(data_dir / "fairseq_generate_logs" / "17-1generate-test.txt.gz", ScoreSettings(target_lang="en"))
    line = "BLEU4 = 37.94, 68.9/46.4/33.1/23.8 (BP=0.952, ratio=0.953, syslen=114512, reflen=120120)"
    assert (report.sentences, report.scores[0].text) == (4912, line)
    assert not any("differs" in note for note in report.notes)


def test_the_real_logs_text_scores_as_sacrebleu_counts_it(data_dir: Path) -> None:
    log = parse_generate_log(read_lines(data_dir / "fairseq_generate_logs" / "17-1generate-test.txt.gz"), "log")
    for part in slice(0, 1), slice(7, 60), slice(300, 1300):
        assert fairseq_bleu(log.hyps[part], log.refs[part]).text == fairseq_line(log.hyps[part], log.refs[part])

"""BLEU by source length, and the hypotheses that `score` writes: sacreBLEU on the chosen lines is the oracle."""

import json
import sys
from pathlib import Path

import pytest
import sacrebleu

from fairseq_rope.scoring.detokenize import detokenize
from fairseq_rope.scoring.evaluation import ScoreSettings
from fairseq_rope.scoring.length_buckets import length_buckets
from fairseq_rope.scoring.metrics import sacre_bleu
from fairseq_rope.scoring.score_files import score_log, score_texts
from fairseq_rope.tools import score as tool
from fairseq_rope_data.errors import UserError
from tests.support.corpora import sacrebleu_command, sentences, system, write

REFS = sentences(60, seed=5, words=70)
HYPS = [line.split(maxsplit=2)[2] for line in system(REFS, errors=0.3, seed=6)]
NAMES = {"1-10": (0, 10), "11-20": (11, 20), "21-30": (21, 30), "31-40": (31, 40), "41-50": (41, 50), "51+": (51, 999)}


def test_each_bucket_is_the_score_of_its_sentences_alone() -> None:
    lengths = [len(line.split()) for line in REFS]
    buckets = length_buckets(lengths, HYPS, REFS, sacre_bleu)
    assert [bucket.words for bucket in buckets] == list(NAMES)
    for bucket in buckets:
        low, high = NAMES[bucket.words]
        pairs = [(h, r) for h, r, n in zip(HYPS, REFS, lengths, strict=True) if low <= n <= high]
        expected = sacrebleu.corpus_bleu([h for h, _ in pairs], [[r for _, r in pairs]])
        assert (bucket.sentences, bucket.score.text) == (len(pairs), str(expected))


def test_edges_belong_to_the_lower_bucket_and_empty_buckets_are_left_out() -> None:
    words = length_buckets([0, 1, 10, 11, 20, 50, 51, 400], list("abcdefgh"), list("abcdefgh"), sacre_bleu)
    assert [(bucket.words, bucket.sentences) for bucket in words] == [
        ("1-10", 3),
        ("11-20", 2),
        ("41-50", 1),
        ("51+", 2),
    ]


def test_bpe_of_the_source_is_joined_before_words_are_counted(tmp_path: Path) -> None:
    pieces = ["a@@ b@@ c " * 10, "\u2581a b c \u2581d", "w " * 11]
    lines = REFS[:3]
    for src, expected in (pieces[0], "1-10"), (" ".join(["\u2581a b c"] * 10), "1-10"), (pieces[2], "11-20"):
        files = (write(tmp_path / name, text) for name, text in (("h", lines), ("r", lines), ("s", [src] * 3)))
        hyps, refs, source = files
        report = score_texts(hyps, refs, ScoreSettings(detokenized=True), src=source)
        assert [(bucket.words, bucket.sentences) for bucket in report.buckets] == [(expected, 3)]


def log_of(lengths: list[int]) -> list[str]:
    lines = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        source = " ".join(["wo@@ rd"] * lengths[i])
        lines += [f"S-{i}\t{source}", f"T-{i}\t{REFS[i]}", f"H-{i}\t-0.1\t{HYPS[i]}", f"D-{i}\t-0.1\t{HYPS[i]}"]
    return [*lines, "Generate test with beam=5: no score"]


def detokenized(hyps: list[str], refs: list[str]) -> tuple[list[str], list[list[str]]]:
    return detokenize(hyps, "de"), [detokenize(refs, "de")]


def test_a_log_has_its_own_source_and_src_replaces_it(tmp_path: Path) -> None:
    log = write(tmp_path / "log", log_of([3, 14, 15]))
    report = score_log(log, ScoreSettings(target_lang="de"))
    assert [(bucket.words, bucket.sentences) for bucket in report.buckets] == [("1-10", 1), ("11-20", 2)]
    assert report.buckets[1].score.text == str(sacrebleu.corpus_bleu(*detokenized(HYPS[1:3], REFS[1:3])))
    source = write(tmp_path / "src", ["w " * 60, "w", "w"])
    report = score_log(log, ScoreSettings(target_lang="de"), src=source)
    assert [(bucket.words, bucket.sentences) for bucket in report.buckets] == [("1-10", 2), ("51+", 1)]
    with pytest.raises(UserError, match=r"--src .*short has 1 lines, but --log .*log has 3: .*log:8 is the first"):
        score_log(log, ScoreSettings(target_lang="de"), src=write(tmp_path / "short", ["w"]))


def test_without_a_source_a_note_says_what_is_missing(tmp_path: Path) -> None:
    hyps, refs = write(tmp_path / "hyps", HYPS), write(tmp_path / "refs", REFS)
    assert "no BLEU by source length: it needs --src" in score_texts(hyps, refs, ScoreSettings(detokenized=True)).notes


def run_score(monkeypatch: pytest.MonkeyPatch, *options: object) -> None:
    monkeypatch.setattr(sys, "argv", ["score", *map(str, options)])
    tool.main()


def test_the_written_hypotheses_have_the_same_scores_by_sacrebleus_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log, raw, out = write(tmp_path / "log", log_of([5] * 20)), write(tmp_path / "raw", REFS[:20]), tmp_path / "out.de"
    run_score(monkeypatch, "--log", log, "-t", "de", "--ref-raw", raw, "--save-hyps", out, "--json")
    report = json.loads(capsys.readouterr().out)
    ours = {entry["name"]: entry for entry in report["scores"]}
    assert "raw_hyps" not in report and report["settings"]["target_lang"] == "de"
    assert len(out.read_text(encoding="utf-8").splitlines()) == 20
    theirs = json.loads(sacrebleu_command(raw, "-i", out, "-m", "bleu", "chrf", "-w", 2))
    for entry, name in zip(theirs, ("BLEU", "chrF2"), strict=True):
        assert f"{ours[name]['value']:.2f}" == f"{entry['score']:.2f}" and ours[name]["signature"] == entry["signature"]


def test_hypotheses_are_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = write(tmp_path / "out", ["what stood there"])
    raw, bad = write(tmp_path / "raw", REFS), write(tmp_path / "bad", ["", *HYPS[1:]])
    with pytest.raises(UserError, match="the hypothesis is empty"):
        run_score(monkeypatch, "--sys", bad, "--ref-raw", raw, "-t", "de", "--save-hyps", out)
    with pytest.raises(UserError, match="--save-hyps needs --target-lang"):
        run_score(monkeypatch, "--sys", raw, "--ref", raw, "--save-hyps", out)
    with pytest.raises(UserError, match="there is no folder"):
        run_score(monkeypatch, "--sys", raw, "--ref-raw", raw, "-t", "de", "--save-hyps", tmp_path / "none" / "out")
    assert out.read_text() == "what stood there\n" and {path.name for path in tmp_path.iterdir()} == {
        "out",
        "raw",
        "bad",
    }


def test_raw_text_is_written_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["a\u2028b \x85 c  d", "e\rf &amp;"]
    raw, out = write(tmp_path / "raw", lines), tmp_path / "out"
    run_score(monkeypatch, "--sys", raw, "--ref-raw", raw, "--detokenized", "--save-hyps", out)
    assert out.read_bytes() == raw.read_bytes()

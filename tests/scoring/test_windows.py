"""Scores of windows by sentence and by place: sacreBLEU on the chosen sentences is the oracle."""

import json
from pathlib import Path

import pytest
import sacrebleu

from fairseq_rope.scoring.detokenize import detokenize
from fairseq_rope.scoring.evaluation import ScoreSettings
from fairseq_rope.scoring.report_file import read_report, report_json, report_text
from fairseq_rope.scoring.score_files import score_log, score_texts, write_hypotheses
from fairseq_rope_data.errors import UserError
from tests.support.corpora import sacrebleu_command, sentences, system, write

SIZES = [3, 1, 4, 4, 2] * 3
# quotes, which detokenizing counts along a line; the first line is in no window
REFS = [f"`` {line[:-2]} '' ." for line in sentences(1 + sum(SIZES), seed=5)]
HYPS = system(REFS, errors=0.3, seed=6)
RAW = ScoreSettings(detokenized=True)
TOKENS = ScoreSettings(target_lang="de")


def grouped(lines: list[str]) -> list[list[str]]:
    """The lines in windows; line 1, before the first of them, is in none."""
    rest = iter(lines[1:])
    return [[next(rest) for _ in range(size)] for size in SIZES]


@pytest.fixture
def index(tmp_path: Path) -> Path:
    rows, first = ["separator\t<sep>"], 2
    for size in SIZES:
        rows.append(f"{first}\t{size}")
        first += size
    return write(tmp_path / "w.windows.tsv", [*rows, f"lines\t{first - 1}"])


def joined(windows: list[list[str]], separator: str = " <sep> ") -> list[str]:
    return [separator.join(window) for window in windows]


def bleu(hyps: list[str], refs: list[str]) -> str:
    return str(sacrebleu.corpus_bleu(hyps, [refs]))


def test_sentences_places_and_whole_windows_are_scored_as_sacrebleu_scores_them(tmp_path: Path, index: Path) -> None:
    hyps, refs = grouped(HYPS), grouped(REFS)
    files = [write(tmp_path / name, joined(windows)) for name, windows in (("h", hyps), ("r", refs))]
    report = score_texts(*files, RAW, windows=index)
    assert report.windows is not None and (report.windows.windows, report.windows.wrong) == (len(SIZES), 0)
    assert report.windows.sentences.text == bleu(HYPS[1:], REFS[1:])
    for place in report.windows.positions:
        pairs = [
            (h, r)
            for hs, rs in zip(hyps, refs, strict=True)
            for h, r in list(zip(hs, rs, strict=True))[place.position - 1 :][:1]
        ]
        assert place.sentences == len(pairs)
        assert place.score.text == bleu([h for h, _ in pairs], [r for _, r in pairs])
    assert [place.position for place in report.windows.positions] == [1, 2, 3, 4]
    assert report.scores[0].text == bleu(joined(hyps, " "), joined(refs, " "))
    # the numbers that people see are those of sacreBLEU's own command on the files that are written
    write_hypotheses(report, tmp_path / "out")
    assert (tmp_path / "out").read_text().split("\n")[:-1] == ["", *HYPS[1:]]
    write(tmp_path / "lines", HYPS[1:])
    theirs = json.loads(sacrebleu_command(write(tmp_path / "raw", REFS[1:]), "-i", tmp_path / "lines", "-w", 4))
    assert f"{report.windows.sentences.value:.4f}" == f"{theirs['score']:.4f}"


def test_windows_of_another_number_are_counted_and_shift_no_other(tmp_path: Path, index: Path) -> None:
    hyps = grouped(HYPS)
    expected = [list(window) for window in hyps]
    expected[0] = [hyps[0][0], f"{hyps[0][1]} {hyps[0][2]}", ""]
    hyps[0] = expected[0][:2]
    expected[4] = [hyps[4][0], f"{hyps[4][1]} more"]
    hyps[4] = [*hyps[4], "more"]
    files = [write(tmp_path / name, joined(windows)) for name, windows in (("h", hyps), ("r", grouped(REFS)))]
    report = score_texts(*files, RAW, windows=index)
    assert report.windows is not None and report.windows.wrong == 2
    assert report.windows.sentences.text == bleu([line for window in expected for line in window], REFS[1:])
    assert report.scores[0].text == bleu(joined(hyps, " "), joined(grouped(REFS), " "))
    lines = report_text(report).splitlines()
    assert lines[0] == "15 windows" and "BLEU by sentence, 2 of 15 windows have another number of them:" in lines


@pytest.mark.parametrize("kind", ["@@ ", "sentencepiece"])
def test_a_log_in_bpe_is_split_after_joining_and_its_raw_references_are_lines(
    tmp_path: Path, index: Path, kind: str
) -> None:
    def pieces(line: str) -> str:
        words = line.split()
        if kind == "sentencepiece":
            return " ".join(f"\u2581{word[:2]} {word[2:]}".strip() for word in words)
        return " ".join(f"{word[:2]}@@ {word[2:]}" if word[2:] else word for word in words)

    windows = {
        name: joined([[pieces(line) for line in window] for window in grouped(lines)])
        for name, lines in (("H", HYPS), ("T", REFS))
    }
    log = []
    for i in reversed(range(len(SIZES))):
        log += [f"S-{i}\t{'wo@@ rd a <sep> ' * SIZES[i]}", f"T-{i}\t{windows['T'][i]}"]
        log += [f"{letter}-{i}\t-0.1\t{windows['H'][i]}" for letter in "HD"]
    path = write(tmp_path / "log", [*log, "Generate test with beam=5: no score"])
    report = score_log(path, TOKENS, windows=index)
    hyps, refs = detokenize(HYPS[1:], "de"), detokenize(REFS[1:], "de")
    assert report.windows is not None and report.windows.sentences.text == bleu(hyps, refs)
    whole = [grouped(["", *lines]) for lines in (hyps, refs)]
    assert next(s for s in report.scores if s.name == "BLEU").text == bleu(*(joined(w, " ") for w in whole))
    assert [(b.words, b.sentences) for b in report.buckets] == [("1-10", 15)]  # separators are no words
    assert "BLEU4 counts <sep> as a word" in report.notes
    raw = write(tmp_path / "raw", [line.upper() for line in REFS])
    against = score_log(path, TOKENS, windows=index, ref_raw=raw)
    assert against.windows is not None and against.windows.sentences.text == bleu(
        hyps, [line.upper() for line in REFS[1:]]
    )


def test_json_has_the_scores_of_windows_only_where_there_are_some(tmp_path: Path, index: Path) -> None:
    files = [write(tmp_path / name, joined(grouped(lines))) for name, lines in (("h", HYPS), ("r", REFS))]
    plain, windows = score_texts(*files, RAW), score_texts(*files, RAW, windows=index)
    assert "windows" not in json.loads(report_json(plain))
    (tmp_path / "score-x.json").write_text(report_json(windows))
    found = read_report(tmp_path / "score-x.json")["windows"]
    assert found["wrong"] == 0 and [place["sentences"] for place in found["positions"]] == [15, 12, 9, 6]


def test_files_that_do_not_fit_the_index_are_named(tmp_path: Path, index: Path) -> None:
    hyps, refs = (write(tmp_path / name, joined(grouped(lines))) for name, lines in (("h", HYPS), ("r", REFS)))
    short = write(tmp_path / "short", joined(grouped(REFS))[:-1])
    with pytest.raises(UserError, match=r"^--windows .*w\.windows\.tsv has 15 windows, but .*short has 14$"):
        score_texts(short, short, RAW, windows=index)
    bad = write(tmp_path / "bad", [*joined(grouped(REFS))[:-1], "one"])
    with pytest.raises(
        UserError, match=r"bad:15: must have 2 sentences with <sep> between them, as --windows says \(1 "
    ):
        score_texts(hyps, bad, RAW, windows=index)
    with pytest.raises(UserError, match=r"--ref-raw .*r must have a line for each line .*, which is 43 by .* has 15$"):
        score_texts(hyps, None, RAW, windows=index, ref_raw=refs)

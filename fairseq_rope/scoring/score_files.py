"""Score files: two texts, or the log of a fairseq-generate."""

from pathlib import Path

from fairseq_rope.scoring.checks import check_no_log_lines, check_same_length
from fairseq_rope.scoring.evaluation import RAW_NEEDS, Evaluation, ScoreSettings
from fairseq_rope.scoring.generate_log import parse_generate_log
from fairseq_rope.scoring.report import Report, score
from fairseq_rope.scoring.text import Text, read_lines, read_text
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import complete_file
from fairseq_rope_data.window_index import WindowIndex, read_index


def score_texts(
    hyp_file: Path,
    ref_file: Path | None,
    settings: ScoreSettings,
    *,
    ref_raw: Path | None = None,
    src: Path | None = None,
    windows: Path | None = None,
) -> Report:
    """Score a file of hypotheses against a file of references, tokenized or raw or both.

    Args:
        hyp_file: a translation a line.
        ref_file: references in the same form.
        settings: how to read the text.
        ref_raw: raw references; with `windows` a line for each line that they were made of.
        src: the source.
        windows: the index of windows of several sentences, where each line is one.

    Raises:
        UserError: a file can't be read, or line counts differ; and see `report.score`.
    """
    hyps = read_text(hyp_file)
    check_no_log_lines(hyps)
    index = _read_windows(hyps, windows)
    refs, source = (_read_beside(hyps, "--sys", option, path) for option, path in (("--ref", ref_file), ("--src", src)))
    raw = _read_raw(hyps, "--sys", ref_raw, index)
    return score(Evaluation(hyps, refs, raw, source, index), settings)


def score_log(
    log_file: Path,
    settings: ScoreSettings,
    *,
    ref_raw: Path | None = None,
    src: Path | None = None,
    windows: Path | None = None,
) -> Report:
    """Score the log of a fairseq-generate; a note says where its last line, fairseq's own score, differs.

    Args:
        log_file: the log, whole.
        settings: how to read its text.
        ref_raw: raw references in the order of the test set.
        src: the source in place of the log's S- lines.
        windows: as in `score_texts`.

    Raises:
        UserError: an unfinished log, or a file can't be read, or line counts differ; and see `report.score`.
    """
    log = parse_generate_log(read_lines(log_file), str(log_file))
    hyps = log.hyp_text()
    index = _read_windows(hyps, windows)
    raw, source = _read_raw(hyps, "--log", ref_raw, index), _read_beside(hyps, "--log", "--src", src)
    if source is None and log.sources:
        source = Text(log.name, log.sources)
    report = score(Evaluation(hyps, log.ref_text(), raw, source, index), settings)
    if log.decoded:
        report.notes.append("fairseq decoded the T and D lines of the log (--bpe, --tokenizer): D is scored, not H")
    ours = [entry.text for entry in report.scores if entry.name == "BLEU4"]
    if log.summary.startswith("BLEU4") and ours and not settings.lowercase and log.summary not in ours:
        report.notes.append(f"fairseq's own line in the log differs, so it scored other tokens: {log.summary}")
    return report


def _read_windows(hyps: Text, path: Path | None) -> WindowIndex | None:
    """Read the index of windows.

    Raises:
        UserError: it is damaged, or has another number of windows than there are hypotheses.
    """
    if path is None:
        return None
    index = read_index(path)
    if len(index.windows) != len(hyps.lines):
        raise UserError(f"--windows {path} has {len(index.windows)} windows, but {hyps.name} has {len(hyps.lines)}")
    return index


def _read_raw(hyps: Text, option: str, path: Path | None, index: WindowIndex | None) -> Text | None:
    if path is None or index is None:
        return _read_beside(hyps, option, "--ref-raw", path)
    text = read_text(path)
    if len(text.lines) != index.lines:
        raise UserError(
            f"--ref-raw {path} must have a line for each line that the windows were made of, which is {index.lines} by "
            f"--windows, but has {len(text.lines)}"
        )
    return text


def _read_beside(hyps: Text, hyps_option: str, option: str, path: Path | None) -> Text | None:
    if path is None:
        return None
    text = read_text(path)
    check_no_log_lines(text)
    check_same_length(hyps, text, options=(hyps_option, option))
    return text


def write_hypotheses(report: Report, path: Path) -> None:
    """Write what the detokenized scores were measured on, a sentence a line, for other scorers.

    Of windows there is a line for each line that they were made of.

    Raises:
        UserError: the report has no such scores, or the file can't be written.
    """
    if report.raw_hyps is None:
        raise UserError(f"--save-hyps needs {RAW_NEEDS}")
    with complete_file(path) as part:
        part.write_bytes("".join(f"{line}\n" for line in report.raw_hyps).encode())

"""Score a translation: fairseq's own tokenised BLEU4, and detokenised sacreBLEU BLEU and chrF with signatures.

python -m fairseq_rope.tools.score --log generate-test.txt --target-lang de
python -m fairseq_rope.tools.score --sys hyps.tok --ref refs.tok --target-lang de --ref-raw refs.txt
python -m fairseq_rope.tools.score --sys hyps.txt --ref refs.txt --detokenised

BLEU4 takes the tokens as they stand, BPE and all, as fairseq-score does. For the other scores BPE is joined and Moses'
tokenisation undone, on both sides alike; --ref-raw gives the untouched reference instead, which makes them comparable
with those of other systems. --detokenised says that both sides are raw text already, and needs no language: the scores
are those of sacreBLEU's own command. For German there is the compound-split BLEU of the papers too. With the source,
which a log holds, BLEU by its length follows.

Text that can't be what it is taken for is an error that names file and line: unequal numbers of lines, lines out of
order, empty hypotheses, marks of BPE or split hyphens in raw text. Few lines out of order, as near paraphrases look,
are a note.
"""

import argparse
import dataclasses
import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fairseq_rope.scoring.checks import ALLOWED, no_log_lines, same_length
from fairseq_rope.scoring.detokenize import BPE_KINDS
from fairseq_rope.scoring.evaluation import RAW_NEEDS, Corpus, Settings
from fairseq_rope.scoring.generate_log import parse_generate_log
from fairseq_rope.scoring.report import Report, score
from fairseq_rope.scoring.text import Text, read_lines, read_text
from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import complete_file


def score_texts(
    hyp_file: Path, ref_file: Path | None, settings: Settings, *, ref_raw: Path | None = None, src: Path | None = None
) -> Report:
    """Score a file of hypotheses against a file of references, tokenised or raw or both.

    Raises:
        UserError: a file can't be read, or line counts differ; and see `report.score`.
    """
    hyps = read_text(hyp_file)
    no_log_lines(hyps)
    refs, raw, source = (
        _read_beside(hyps, "--sys", option, path)
        for option, path in (("--ref", ref_file), ("--ref-raw", ref_raw), ("--src", src))
    )
    return score(Corpus(hyps, refs, raw, source), settings)


def score_log(log_file: Path, settings: Settings, *, ref_raw: Path | None = None, src: Path | None = None) -> Report:
    """Score the log of a fairseq-generate; a note tells where fairseq's own line in it says something else.

    Args:
        log_file: the log, whole.
        settings: how to read its text.
        ref_raw: raw references in the order of the test set.
        src: the source in place of the log's S- lines.

    Raises:
        UserError: an unfinished log, or a file can't be read, or line counts differ; and see `report.score`.
    """
    log = parse_generate_log(read_lines(log_file), str(log_file))
    hyps = log.hyp_text()
    raw, source = (
        _read_beside(hyps, "--log", option, path) for option, path in (("--ref-raw", ref_raw), ("--src", src))
    )
    if source is None and log.sources:
        source = Text(log.name, log.sources)
    report = score(Corpus(hyps, log.ref_text(), raw, source), settings)
    if log.decoded:
        report.notes.append("fairseq decoded the T and D lines of the log (--bpe, --tokenizer): D is scored, not H")
    ours = [entry.text for entry in report.scores if entry.name == "BLEU4"]
    if log.summary.startswith("BLEU4") and ours and not settings.lowercase and log.summary not in ours:
        report.notes.append(f"fairseq's own line in the log differs, so it scored other tokens: {log.summary}")
    return report


def _read_beside(hyps: Text, hyps_option: str, option: str, path: Path | None) -> Text | None:
    if path is None:
        return None
    text = read_text(path)
    no_log_lines(text)
    same_length(hyps, text, options=(hyps_option, option))
    return text


def write_hypotheses(report: Report, path: Path) -> None:
    """Write what the detokenised scores were measured on, a sentence a line, for other scorers.

    Raises:
        UserError: the report has no such scores, or the file can't be written.
    """
    if report.raw_hyps is None:
        raise UserError(f"--save-hyps needs {RAW_NEEDS}")
    with complete_file(path) as part:
        part.write_bytes("".join(f"{line}\n" for line in report.raw_hyps).encode())


def as_table(report: Report) -> str:
    """Give the report to people: a score and its signature are two lines."""
    lines = [f"{report.sentences} sentences"]
    for entry in report.scores:
        lines += [entry.text, f"    {entry.signature}"]
    if report.buckets:
        lines.append("BLEU by words of the source:")
    for bucket in report.buckets:
        lines.append(f"    {bucket.words:5} in {bucket.sentences} sentences: {bucket.score.text}")
    return "\n".join(lines + [f"note: {note}" for note in report.notes])


def as_json(report: Report) -> str:
    """Give the report to machines: one JSON object on a line."""
    versions = {name: version(name) for name in ("sacrebleu", "sacremoses")}
    fields: dict[str, Any] = {**dataclasses.asdict(report), "versions": versions}
    del fields["raw_hyps"]
    return json.dumps(fields, ensure_ascii=False)


def main() -> None:
    """Read the command line and print the scores."""
    args = _parser().parse_args()
    if args.log is not None and (args.sys is not None or args.ref is not None):
        raise UserError("--log excludes --sys and --ref: a log holds both")
    if args.log is None and (args.sys is None or (args.ref is None and args.ref_raw is None)):
        raise UserError("give --log, or --sys with --ref or --ref-raw or both")
    if [args.log, args.sys, args.ref, args.ref_raw, args.src].count(Path("-")) > 1:
        raise UserError("only one file can be -, stdin")
    if args.save_hyps is not None:
        for option in ("sys", "ref", "log", "ref_raw", "src"):
            if _is_same(args.save_hyps, getattr(args, option)):
                raise UserError(f"--save-hyps {args.save_hyps} would overwrite --{option.replace('_', '-')}")
    args.allow = tuple(args.allow)
    settings = Settings(**{field.name: getattr(args, field.name) for field in dataclasses.fields(Settings)})
    if args.log is not None:
        report = score_log(args.log, settings, ref_raw=args.ref_raw, src=args.src)
    else:
        report = score_texts(args.sys, args.ref, settings, ref_raw=args.ref_raw, src=args.src)
    if args.save_hyps is not None:
        write_hypotheses(report, args.save_hyps)
    print(as_json(report) if args.json else as_table(report))


def _is_same(output: Path, given: Path | None) -> bool:
    return given not in (None, Path("-")) and os.path.realpath(output) == os.path.realpath(given)


def _parser() -> argparse.ArgumentParser:
    parser = cli.parser(__doc__, "score")
    add = parser.add_argument
    add("--sys", "-s", type=Path, metavar="FILE", help="hypotheses, one a line, plain or gzipped; - is stdin")
    add("--ref", "-r", type=Path, metavar="FILE", help="references, in the same form as the hypotheses")
    add("--log", type=Path, metavar="FILE", help="a log of fairseq-generate, in place of --sys and --ref")
    add("--ref-raw", type=Path, metavar="FILE", help="raw references, for the detokenised scores")
    add("--src", type=Path, metavar="FILE", help="source, raw or tokenised, for BLEU by its length; a log has its own")
    add("--target-lang", "-t", default="", metavar="LANG", help="detokenise by this language's rules, such as de")
    add(
        *("--post-process", "--remove-bpe"),
        nargs="?",
        const="subword_nmt",
        default="",
        choices=BPE_KINDS,
        metavar="KIND",
        help=f"how BPE is joined, as in fairseq: {', '.join(BPE_KINDS)}; if not given, seen from the text",
    )
    add("--detokenised", "--detokenized", action="store_true", help="the text is raw already: no BLEU4")
    add("--lowercase", action="store_true", help="score lower-cased text; the signatures say so")
    add(
        "--allow",
        action="append",
        default=[],
        choices=ALLOWED,
        help="score in spite of: empty hypotheses, marks of BPE left in raw text, lines out of order; can be repeated",
    )
    add("--save-hyps", type=Path, metavar="FILE", help="write the detokenised hypotheses, for other scorers")
    add("--json", action="store_true", help="print one JSON object")
    return parser


if __name__ == "__main__":
    run("score", main)

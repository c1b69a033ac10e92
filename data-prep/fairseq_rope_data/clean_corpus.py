"""Drop the pairs of a parallel corpus that a model learns nothing good from: empty, very long or of unlike lengths.

The length of a line is its number of tokens between white space, of BPE pieces where the text is in BPE. A pair is kept
when both lengths are from --min-length to --max-length and neither is more than --max-ratio times the other, which are
the rules of Moses' clean-corpus-n; a pair counts for the first rule, in this order, that drops it. Lines are
copied as they are. With --leave-blank a pair that is dropped leaves a blank line on both sides, so that those around it
do not become neighbors in windows of several lines.

    python -m fairseq_rope_data.clean_corpus --source-lang en --target-lang de text/train.bpe text/train

reads text/train.bpe.{en,de} and writes text/train.{en,de} and, as a sign that both are complete, the counts in
text/train.clean.json. It prints the counts.
"""

import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import check_apart, complete_files
from fairseq_rope_data.parallel import add_languages, languages, pairs


class Rules(NamedTuple):
    """What a pair must keep to; lengths in tokens."""

    min_length: int
    max_length: int
    max_ratio: float

    def broken_by(self, source: str, target: str) -> str:
        """Return the first rule that this pair breaks, or "" if it keeps to all."""
        lengths = len(source.split()), len(target.split())
        shorter, longer = min(lengths), max(lengths)
        if shorter < self.min_length:
            return "min_length"
        if longer > self.max_length:
            return "max_length"
        if longer / shorter > self.max_ratio:
            return "max_ratio"
        return ""


def clean(inputs: tuple[Path, Path], outputs: list[Path], rules: Rules, *, leave_blank: bool = False) -> Counter[str]:
    """Copy the pairs that keep to `rules`; return the number of pairs for each rule that dropped them, "" for kept.

    Args:
        inputs: source and target.
        outputs: where to copy them.
        rules: what a pair must keep to.
        leave_blank: write a blank line in the place of each dropped one.

    Raises:
        UserError: the files aren't aligned, not UTF-8, or no pair is left.
    """
    counts: Counter[str] = Counter()
    with outputs[0].open("wb") as source_file, outputs[1].open("wb") as target_file:
        for source, target in pairs(*inputs):
            rule = rules.broken_by(source, target)
            counts[rule] += 1
            if not rule:
                source_file.write(f"{source}\n".encode())
                target_file.write(f"{target}\n".encode())
            elif leave_blank:
                source_file.write(b"\n")
                target_file.write(b"\n")
    if counts[""] == 0:
        raise UserError(f"no pair of {inputs[0]} and {inputs[1]} is left of {counts.total():,}")
    return counts


def table(counts: Counter[str], rules: Rules) -> str:
    """Return the counts as a table with a row for each rule."""
    names = {
        "min_length": "empty" if rules.min_length == 1 else f"under {rules.min_length} tokens",
        "max_length": f"over {rules.max_length} tokens",
        "max_ratio": f"lengths over 1 : {rules.max_ratio:g}",
        "": "kept",
    }
    rows = [("pairs read", counts.total()), *((text, counts[rule]) for rule, text in names.items())]
    return "\n".join(f"{text:22}{count:>12,}{count / counts.total():>9.2%}" for text, count in rows)


def main() -> None:
    parser = cli.parser(__doc__, "clean_corpus")
    parser.add_argument("input", metavar="IN", help="corpus to read: its files' path without .LANG")
    parser.add_argument("output", metavar="OUT", help="corpus to write, likewise")
    add_languages(parser)
    parser.add_argument("--min-length", type=int, default=1)
    parser.add_argument("--max-length", type=int, default=250)
    parser.add_argument("--max-ratio", type=float, default=1.5)
    parser.add_argument("--leave-blank", action="store_true", help="leave a blank line where a pair is dropped")
    options = parser.parse_args()
    if not 1 <= options.min_length <= options.max_length:
        raise UserError(
            f"--min-length must be from 1 to --max-length {options.max_length}, but is {options.min_length}"
        )
    if not options.max_ratio >= 1:
        raise UserError(f"--max-ratio must be at least 1, but is {options.max_ratio:g}")
    rules = Rules(options.min_length, options.max_length, options.max_ratio)
    langs = languages(options)
    inputs = (Path(f"{options.input}.{langs[0]}"), Path(f"{options.input}.{langs[1]}"))
    outputs = [Path(f"{options.output}.{name}") for name in (*langs, "clean.json")]
    check_apart(outputs, inputs)
    with complete_files(*outputs) as (source, target, report):
        counts = clean(inputs, [source, target], rules, leave_blank=options.leave_blank)
        dropped = {rule: counts[rule] for rule in Rules._fields}
        facts = {"rules": rules._asdict(), "read": counts.total(), "dropped": dropped, "kept": counts[""]}
        if options.leave_blank:
            facts["left_blank"] = True
        report.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    print(table(counts, rules))


if __name__ == "__main__":
    run("clean_corpus", main)

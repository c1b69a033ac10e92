"""Write the page of an experiment: one HTML file to look at and to mail, with what it shows, how sure it is, and why.

    python -m fairseq_rope.tools.report runs/multi30k --output report.html
    python -m fairseq_rope.tools.report runs/rope runs/others --models rope sinusoidal --output report.html

The page has the verdict and its interval, scores with differences over seeds and the bootstrap of the test set,
learning curves, BLEU by length, the sentences that differ most, settings that differ, commands, versions, hardware,
checksums of the data, and all numbers as JSON. It fetches nothing, needs no JavaScript, and the same results give the
same page.

Several work folders are one experiment whose runs were made in several places: their raw text must be the same.
Figures need matplotlib, the extra `plot`; without it the page has its tables.
"""

from pathlib import Path

from fairseq_rope.page.contents import page_contents
from fairseq_rope.page.render import render
from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import complete_file


def main() -> None:
    parser = cli.parser(__doc__, "report")
    parser.add_argument("work", nargs="+", type=Path, metavar="WORK", help="work folders of recipes")
    parser.add_argument("--output", type=Path, required=True, metavar="HTML", help="the page to write")
    parser.add_argument("--models", nargs="+", default=(), metavar="NAME", help="as in results")
    parser.add_argument("--so-far", action="store_true", help="leave out those of --models that have not begun")
    args = parser.parse_args()
    if args.output.suffix not in (".html", ".htm"):  # or it may be a log of WORK
        raise UserError(f"--output must end in .html or .htm, but is {args.output}")
    with complete_file(args.output) as part:
        page = render(page_contents(args.work, args.models, so_far=args.so_far))
        part.write_text(page, encoding="utf-8", errors="replace")  # the name of a folder may be no UTF-8
    print(f"wrote {args.output}")


if __name__ == "__main__":
    run("report", main)

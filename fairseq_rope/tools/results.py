"""Print the results of an experiment as a table: a column for each model, a row for each figure.

    python -m fairseq_rope.tools.results runs/quickstart

A model is a folder of WORK with a train.log; its scores are in score-SET.json, as tools.score --json writes them.
"""

import argparse
import json
from pathlib import Path

from fairseq_rope.tools._common import ToolError, run
from fairseq_rope.tools.train_log import read_train_log


def model_folders(work: Path) -> list[Path]:
    """Give the folders of an experiment's models, rotary first.

    Raises:
        ToolError: there is none.
    """
    folders = sorted((log.parent for log in work.glob("*/train.log")), key=lambda path: (path.name != "rope", path))
    if not folders:
        raise ToolError(f"{work} holds no model: a model is a folder with a train.log")
    return folders


def figures(folder: Path) -> dict[str, str]:
    """Give what is known of one model, name -> text, in the table's order."""
    log = read_train_log(folder / "train.log")
    last, best = log.validations[-1], min(log.validations, key=lambda validation: validation.loss)
    rows = {
        "parameters": f"{log.parameters:,}",
        "epochs, updates": f"{last.epoch}, {last.updates:,}",
        "training, minutes": f"{log.seconds / 60:.1f}",
        "valid loss, best": f"{best.loss:.3f} (epoch {best.epoch})",
    }
    for path in sorted(folder.glob("score-*.json"), reverse=True):  # test before long
        name = path.stem.removeprefix("score-")
        for score in json.loads(path.read_text(encoding="utf-8"))["scores"]:
            rows[f"{name}: {score['name']}"] = f"{score['value']:.2f}"
    return rows


def signatures(folder: Path) -> dict[str, str]:
    """Give how each score was made, name -> signature."""
    found = {}
    for path in folder.glob("score-*.json"):
        for score in json.loads(path.read_text(encoding="utf-8"))["scores"]:
            found[score["name"]] = score["signature"]
    return found


def table(columns: dict[str, dict[str, str]]) -> str:
    """Lay out name -> figures as a Markdown table that also reads well on a terminal."""
    names = list(dict.fromkeys(row for figures in columns.values() for row in figures))
    lines = [["", *columns], *([name, *(column.get(name, "") for column in columns.values())] for name in names)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(x.ljust(w) for x, w in zip(line, widths, strict=True)) + " |" for line in lines)


def main() -> None:
    """Read the options and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, metavar="WORK", help="work folder of a recipe")
    folders = model_folders(parser.parse_args().work)
    print(table({folder.name: figures(folder) for folder in folders}))
    for name, signature in signatures(folders[0]).items():
        print(f"{name}: {signature}")


if __name__ == "__main__":
    run("results", main)

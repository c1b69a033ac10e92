"""Make what later versions must still translate: `python -m tests.support.release tests/data/VERSION` at each release.

The folder gets the dictionaries and BPE codes of the text that tests/support/trained.py makes, and for each of MODELS a
checkpoint without its optimizer, MODEL.pt, and MODEL.tsv: a line of text, its translation, and the score of
`fairseq-interactive --beam 4`.
"""

import sys
from pathlib import Path
from shutil import copy
from tempfile import TemporaryDirectory

import torch

from fairseq_rope.tools.average import write_average
from tests.support import ROOT
from tests.support.trained import call, trained_model

SIZES = """--share-all-embeddings --encoder-embed-dim 24 --decoder-embed-dim 24
    --encoder-ffn-embed-dim 48 --decoder-ffn-embed-dim 48 --max-update 400"""
MODELS = {"default": "", "half": "--rope-base 100 --rope-fraction 0.5 --rope-layout half"}
CHAIN = "--tokenizer moses --bpe subword_nmt -s en -t de --beam 4 --cpu"
# seen in training; of unseen pairs of words; longer than any that was seen; other orders; no word; unknown characters
LINES = """Anna sees the teacher's cat every morning.
The old man follows our neighbor today?
A child helps the old man (perhaps) soon!
My sister calls the dog in Berlin, again.
The dog finds our neighbor at 10.30?
Our neighbor likes Anna tomorrow!
My sister sees my sister every morning!
The teacher's cat finds a child today.
Tomorrow the dog follows the dog, a child, Anna, the old man and my sister in Berlin, again, at 10.30.
The dog sees the child, the child sees the cat, the cat sees the dog, and my old neighbor sees Anna.
Dog.
Zürich likes the ocean."""


def chain(folder: Path, model: str) -> list[str]:
    """The words of a command line that translates raw text with a model of `folder`, from DATA on."""
    files = [str(folder), "--path", str(folder / f"{model}.pt"), "--bpe-codes", str(folder / "codes")]
    return [*files, *CHAIN.split()]


def interactive(folder: Path, model: str, lines: list[str]) -> list[tuple[str, float]]:
    """Return what fairseq-interactive makes of lines: translation and score, its logarithms to base 2."""
    command = ["fairseq_cli.interactive", *chain(folder, model), "--user-dir", str(ROOT / "fairseq_rope")]
    log = call(*command, stdin="".join(f"{line}\n" for line in lines).encode()).stdout.decode()
    rows = [line.split("\t") for line in log.splitlines() if line.startswith("D-")]
    return [(text, float(score)) for _, score, text in rows]


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True)
    for model, options in MODELS.items():
        with TemporaryDirectory() as name:
            trained = trained_model(Path(name), f"{SIZES} {options}")
            write_average([trained.checkpoint], Path(name, "average.pt"))
            state = torch.load(Path(name, "average.pt"))
            for path in (*trained.data.glob("dict.*.txt"), trained.codes):
                copy(path, folder)
        # this machine's paths are nobody's business
        paths = {"user_dir": None, "data": "data-bin", "save_dir": "checkpoints"}
        cfg = state["cfg"]
        vars(cfg["model"]).update(paths)
        for group, key in (("common", "user_dir"), ("task", "data"), ("checkpoint", "save_dir")):
            cfg[group][key] = paths[key]
        torch.save(state, folder / f"{model}.pt")
        lines = LINES.splitlines()
        table = zip(lines, interactive(folder, model, lines), strict=True)
        rows = [f"{line}\t{text}\t{score:.6f}\n" for line, (text, score) in table]
        (folder / f"{model}.tsv").write_text("".join(rows), encoding="utf-8")


if __name__ == "__main__":
    main()

"""A work folder with one of each file that a command reads: made once, copied for each damage."""

import gzip
import shutil
from pathlib import Path

import torch

from tests.support.forked import ROOT, Done, ForkServer
from tests.support.trained import trained_model

SENTENCES = 12
TRAIN = [
    *("data-bin", "--user-dir", ROOT / "fairseq_rope", "--arch", "transformer_rope_tiny", "-s", "en", "-t", "de"),
    *("--encoder-layers", "1", "--decoder-layers", "1", "--encoder-embed-dim", "16", "--decoder-embed-dim", "16"),
    *("--encoder-attention-heads", "2", "--decoder-attention-heads", "2", "--optimizer", "adam", "--lr", "1e-2"),
    *("--criterion", "label_smoothed_cross_entropy", "--max-tokens", "200", "--cpu", "--num-workers", "0"),
    *("--seed", "1", "--save-dir", "rope", "--no-progress-bar"),
]
GENERATE = [
    *("data-bin", "--user-dir", ROOT / "fairseq_rope", "--path", "model.pt", "-s", "en", "-t", "de", "--cpu"),
    *("--gen-subset", "test", "--remove-bpe", "--beam", "2", "--max-len-b", "20", "--num-workers", "0"),
    *("--required-batch-size-multiple", "1"),
]


def prepare(work: Path, server: ForkServer) -> Path:
    """Make it with the real commands; give the folder."""
    trained = trained_model(_made(work / "trained"))
    folder = _made(work / "prepared")
    for name in ("raw", "text", "rope"):
        _made(folder / name)
    shutil.copyfile(trained.codes, folder / "text" / "codes")
    shutil.copyfile(trained.checkpoint, folder / "model.pt")
    state = torch.load(trained.checkpoint, weights_only=True)
    torch.save(state, folder / "legacy.pt", _use_new_zipfile_serialization=False)
    for lang in ("en", "de"):
        for name in ("bpe", "tok"):
            lines = (trained.codes.parent / f"{name}.{lang}").read_bytes().splitlines(keepends=True)[:SENTENCES]
            (folder / "text" / f"test.{name}.{lang}").write_bytes(b"".join(lines))
        raw = (folder / "text" / f"test.tok.{lang}").read_bytes()
        (folder / "raw" / f"test.{lang}").write_bytes(raw)
        (folder / f"test.{lang}.gz").write_bytes(gzip.compress(raw, mtime=0))
    segments = "".join(f'<seg id="{i}">{line}</seg>\n' for i, line in enumerate(trained.lines[:SENTENCES], start=1))
    (folder / "test.sgm").write_text(f'<srcset setid="a">\n<doc docid="b">\n{segments}</doc>\n</srcset>\n')
    _run(server, folder, trained.data)
    return folder


def _run(server: ForkServer, folder: Path, data: Path) -> None:
    """Run all commands whose products others read."""

    def call(module: str, *argv: str | Path) -> Done:
        done = server.call(module, argv, cwd=folder)
        if done.status:
            raise RuntimeError(f"{module}: {done.text}")
        return done

    prefix, dictionary = "text/test.bpe", data / "dict.en.txt"
    call(
        *("fairseq_cli.preprocess", "-s", "en", "-t", "de", "--srcdict", dictionary, "--tgtdict", dictionary),
        *("--trainpref", prefix, "--validpref", prefix, "--testpref", prefix, "--destdir", "data-bin"),
    )
    call("fairseq_rope_data.manifest", ".")
    call("fairseq_cli.train", *TRAIN, "--max-epoch", "2", "--log-file", "rope/train.log")
    log = call("fairseq_cli.generate", *GENERATE)
    (folder / "rope" / "generate-test.log").write_bytes(log.stdout)
    hypotheses = ("--save-hyps", "rope/hyp-test.de", "--target-lang", "de", "--allow", "empty", "--json")
    report = call("fairseq_rope.tools.score", "--log", "rope/generate-test.log", *hypotheses)
    (folder / "rope" / "score-test.json").write_bytes(report.stdout)
    call("fairseq_rope.export.ctranslate2", "--path", "model.pt", "--data", "data-bin", "--output", "model")


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder

"""A finished experiment: work folders as recipes leave them, of small synthetic text that is really scored."""

import hashlib
import json
from pathlib import Path

from fairseq_rope.scoring.evaluation import ScoreSettings
from fairseq_rope.scoring.report_file import report_json
from fairseq_rope.scoring.score_files import score_texts
from tests.support.corpora import sentences, system, write
from tests.support.train_logs import LOG

LINES = 120
RECORD = "[train]\n--arch {arch}\n--dropout 0.1\n--seed {seed}\nBATCH_TOKENS=4096\n"


def experiment(work: Path, errors: dict[str, float], *, seeds: int = 2, references: list[str] | None = None) -> Path:
    """Make a work folder.

    Args:
        work: the folder to make.
        errors: model -> how many of its words are wrong.
        seeds: of each model.
        references: of the test set; random ones where None.
    """
    for name in ("raw", "text"):
        (work / name).mkdir(parents=True)
    refs = references or sentences(LINES, seed=1, words=25)
    sources = sentences(len(refs), seed=2, words=25)
    for folder, lang, lines in (("raw", "en", sources), ("text", "en", sources), ("raw", "de", refs)):
        write(work / folder / f"test.{lang}", lines)
    facts = {f"raw/{path.name}": _facts(path) for path in sorted((work / "raw").iterdir())}
    (work / "manifest.json").write_text(json.dumps({"files": facts, "versions": {}, "settings": {}}))
    for number, (model, share) in enumerate(errors.items()):
        for seed in range(1, seeds + 1):
            add_run(work, model, seed, system(refs, errors=share + 0.01 * seed, seed=10 * number + seed))
    return work


def add_run(work: Path, model: str, seed: int, hypotheses: list[str]) -> Path:
    """Add the folder of a run with these translations."""
    folder = work / (model if seed == 1 else f"{model}-seed{seed}")
    folder.mkdir()
    # an own loss for each
    (folder / "train.log").write_text(LOG.replace("loss 8.25", f"loss 8.{len(model)}{seed}") + "done training in 150\n")
    (folder / "settings").write_text(RECORD.format(arch=model, seed=seed))
    start = {
        "date": "2026-01-02T03:04:05+00:00",
        "command": "bash scripts/run_bitext.sh --seeds 1,2",
        "commit": "abcdef0",
    }
    start |= {"versions": {"torch": "2.13.0"}, "processor": "A & B", "threads": "2", "gpus": []}
    (folder / "provenance.jsonl").write_text(json.dumps(start) + "\n")
    hyps = write(folder / "hyp-test.de", hypotheses)
    settings = ScoreSettings("de", detokenized=True, allow=("empty", "bpe-markers", "order"))
    report = score_texts(hyps, None, settings, ref_raw=work / "raw" / "test.de", src=work / "raw" / "test.en")
    (folder / "score-test.json").write_text(report_json(report), encoding="utf-8")
    return folder


def _facts(path: Path) -> dict[str, int | str]:
    data = path.read_bytes()
    return {"bytes": len(data), "lines": data.count(b"\n"), "sha256": hashlib.sha256(data).hexdigest()}

"""The test set, translated by fairseq-generate and by eole in turn, and eole's translation scored."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.model.generate import parsed
from benchmarks.peer import settings
from benchmarks.peer.log import search_seconds
from benchmarks.peer.toolkit import ROOT, Eole
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import complete_file, read_lines

PEER = "eole"
Times = dict[str, list[float]]


def decoding_times(eole: Eole, work: Path, folder: Path, models: Sequence[str], *, repetitions: int) -> Times:
    """Return the seconds of each search of the test set, loading left out, by model; kept in a file once measured.

    eole's translation is left in `folder`/eole.bpe.
    """
    kept = folder / "decoding.json"
    if kept.is_file():
        times: Times = json.loads(kept.read_text(encoding="utf-8"))
        if all(len(times.get(name, ())) == repetitions for name in (*models, PEER)):
            return times
    times = {name: [] for name in (*models, PEER)}
    for turn in range(repetitions):
        for model in models:
            times[model].append(_ours(work, model))
        times[PEER].append(_eole(eole, folder))
        print(f"translated {turn + 1} of {repetitions} times", file=sys.stderr)
    with complete_file(kept) as part:
        part.write_text(json.dumps(times) + "\n", encoding="utf-8")
    return times


def score(work: Path, folder: Path) -> Path:
    """Score eole's translation as the recipe does ours; return the report, made if it is not there."""
    report = folder / "score-test.json"
    if report.is_file():
        return report
    target = settings.LANGUAGES[1]
    joined = folder / f"hyp-test.tok.{target}"
    with complete_file(joined) as part:
        lines = (line.replace("@@ ", "").removesuffix("@@") for line in read_lines(folder / "eole.bpe"))
        part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    command = ["-m", "fairseq_rope.tools.score", "--sys", joined, "--ref", work / "text" / f"test.tok.{target}"]
    command += ["--target-lang", target, "--lowercase", "--allow", "empty", "--json"]
    command += ["--save-hyps", folder / f"hyp-test.{target}"]
    if (raw := work / "raw" / f"test.{target}").is_file():
        command += ["--ref-raw", raw]
    done = subprocess.run([sys.executable, *map(str, command)], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise UserError(f"{joined} could not be scored, see above")
    with complete_file(report) as part:
        part.write_text(done.stdout, encoding="utf-8")
    return report


def _ours(work: Path, model: str) -> float:
    checkpoint, (source, target) = work / model / "averaged.pt", settings.LANGUAGES
    options = ["--user-dir", ROOT / "fairseq_rope", "--path", checkpoint, "--gen-subset", "test", "--cpu", "--quiet"]
    options += ["--source-lang", source, "--target-lang", target, "--required-batch-size-multiple", 1]
    options += ["--beam", settings.BEAM, "--max-tokens", settings.MAX_TOKENS]
    program = "import sys; from fairseq_cli.generate import cli_main; sys.exit(cli_main())"
    done = subprocess.run(
        [sys.executable, "-c", program, str(work / "data-bin"), *map(str, options)],
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
    )
    line = next((line for line in done.stderr.splitlines() if "Translated" in line), "")
    if done.returncode or not line:
        last = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise UserError(f"fairseq-generate of {checkpoint} ended with status {done.returncode}: {last}")
    return parsed(line).seconds


def _eole(eole: Eole, folder: Path) -> float:
    with complete_file(folder / "eole.bpe") as part:
        search = settings.search_settings(folder / "averaged", folder / f"test.{settings.LANGUAGES[0]}", part)
        return search_seconds(eole.run("predict", search, folder / "predict.json"))

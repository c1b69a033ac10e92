"""Hostile text through the translator: one line out for each in, none shifted, in memory that stays flat.

Among the lines stand known sentences at random places. Each is translated alone beforehand, and must have that
translation at its own line number.
"""

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.faults.hostile_lines import blank, hostile, very_long
from tests.faults.report import Report
from tests.support.trained import Trained, call, trained_model

FULL, QUICK = 10_000, 300
KNOWN = 40  # sentences
# as a user would for short lines: the model has learned little, and would go on to 200 tokens
SEARCH = ["--beam", "2", "--max-len-a", "1.2", "--max-len-b", "10", "--buffer-size", "250", "--max-tokens", "4000"]
ENVIRONMENT = {"CUDA_VISIBLE_DEVICES": ""}
# MiB that the memory may grow by after a tenth of the lines, 10 kB a line: the allocator's, and what BPE remembers
GROWTH = 96
_NOT_ONE_LINE = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
# case -> engine and options
CASES = {
    "fairseq": [],
    "ctranslate2": ["--engine", "ctranslate2"],
    "fairseq, normalised and lower-cased": ["--normalise", "--lowercase"],
}


class Line(NamedTuple):
    """A line of the input and what its translation must be, if that is known."""

    content: bytes
    expected: bytes | None = None


class Translated(NamedTuple):
    """What the program gave: all of stdout, its status and stderr, and MiB after each tenth of the lines."""

    output: bytes
    status: int
    stderr: str
    memory: list[float]


def run(work: Path, rng: random.Random, count: int, report: Report) -> None:
    """Translate `count` lines with each engine."""
    report.note("train a tiny model")
    trained = trained_model(_made(work / "trained"))
    for number, (case, options) in enumerate(CASES.items(), start=1):
        if report.wanted(number):
            folder = _made(work / str(number))
            command = [*_model(trained, folder, options), *options, *SEARCH]
            known = _alone(command, trained.lines[:KNOWN], folder)
            lines = list(_lines(report.rng("lines"), count, known))
            translated = translate(command, lines, folder)
            report.note(f"{number} {case}: MiB after each tenth: {' '.join(f'{m:.0f}' for m in translated.memory)}")
            for prop, problem in problems(lines, translated).items():
                name = f"{number} {case}, {count:,} lines: {prop}"
                report.failed(name, problem) if problem else report.passed(name)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _model(trained: Trained, folder: Path, options: list[str]) -> list[str]:
    if "ctranslate2" not in options:
        return trained.options()
    model = str(folder / "model")
    call(
        "fairseq_rope.export.ctranslate2",
        *("--path", str(trained.checkpoint), "--data", str(trained.data), "--output", model),
    )
    return [model, "--bpe", "subword_nmt", "--bpe-codes", str(trained.codes), "--tokenizer", "moses", "--cpu"]


def _alone(command: list[str], sentences: list[str], folder: Path) -> list[Line]:
    """Translate known sentences one by one: with a buffer of one line nothing stands beside them."""
    lines = [Line(sentence.encode()) for sentence in dict.fromkeys(sentences)]
    translations = translate([*command, "--buffer-size", "1"], lines, folder).output.splitlines()
    return [Line(line.content, translation) for line, translation in zip(lines, translations, strict=True)]


def _lines(rng: random.Random, count: int, known: list[Line]) -> Iterator[Line]:
    for number in range(count):
        if number % 500 == 20:
            yield Line(very_long(rng))
        elif rng.random() < 0.1:
            yield rng.choice(known)
        elif rng.random() < 0.05:
            yield Line(blank(rng), b"")
        else:
            yield Line(hostile(rng))


def translate(command: list[str], lines: list[Line], folder: Path) -> Translated:
    """Run the program on a file, look at its memory while it writes."""
    file = folder / "input"
    file.write_bytes(content(lines))
    memory, output = [], []
    with (folder / "stderr").open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "fairseq_rope.tools.translate", *command, "--input", str(file)],
            stdout=subprocess.PIPE,
            stderr=errors,
            env={"OMP_NUM_THREADS": "1", **os.environ, **ENVIRONMENT},
        )
        assert process.stdout is not None
        for line in process.stdout:
            output.append(line)
            if len(output) * 10 // len(lines) > len(memory):
                memory.append(_resident(process.pid))
        status = process.wait()
    return Translated(b"".join(output), status, (folder / "stderr").read_text(errors="replace"), memory)


def content(lines: list[Line]) -> bytes:
    """Return the file of these lines: with both kinds of ends, and none after the last."""
    ends = random.Random(len(lines)).choices((b"\n", b"\r\n"), weights=(3, 1), k=len(lines))
    text = b"".join(line.content + end for line, end in zip(lines, ends, strict=True))
    # an empty last line without its end would be no line
    return text.removesuffix(b"\n") if lines[-1].content else text


def _resident(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def problems(lines: list[Line], translated: Translated) -> dict[str, str]:
    """Each property with what breaks it; nothing where it holds."""
    if translated.status:
        return {"runs to its end": f"status {translated.status}: {translated.stderr[-1500:]}"}
    translations = translated.output.removesuffix(b"\n").split(b"\n")
    text = translated.output.decode(errors="replace")
    held = {
        "one line out for each in": "" if len(lines) == len(translations) else f"{len(translations):,} lines out",
        "no line is two": _two_lines(text),
        "none is shifted": _shifted(lines, translations),
    }
    if len(lines) >= FULL:  # fewer are over before the allocator is at rest
        grown = translated.memory[-1] - translated.memory[0]
        sizes = ", ".join(f"{size:.0f}" for size in translated.memory)
        held["memory is flat"] = "" if grown < GROWTH else f"MiB after each tenth of the lines: {sizes}"
    return held


def _two_lines(text: str) -> str:
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
        if "\ufffd" in line or _NOT_ONE_LINE.search(line):
            return f"line {number}: {line!r}"
    return ""


def _shifted(lines: list[Line], translations: list[bytes]) -> str:
    known = [number for number, line in enumerate(lines) if line.expected is not None]
    wrong = [n for n in known if n >= len(translations) or translations[n] != lines[n].expected]
    if not wrong:
        return ""
    first = wrong[0]
    found = translations[first] if first < len(translations) else b"(nothing)"
    difference = f"line {first + 1}: {found!r}, not {lines[first].expected!r}"
    return f"{len(wrong)} of {len(known)} known lines differ, the first is {difference}"

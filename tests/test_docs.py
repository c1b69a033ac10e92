"""README and docs: links lead somewhere, lines are short, and every command shown is one that the programs take."""

import contextlib
import importlib
import importlib.util
import io
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from fairseq import options

from fairseq_rope_data.__main__ import PROGRAMS as COMMANDS
from tests.support import ROOT

PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "tests/data/README.md")),
    *sorted(ROOT.glob("docs/*.md")),
]
FAIRSEQ_PARSERS = {
    "fairseq-train": options.get_training_parser,
    "fairseq-generate": options.get_generation_parser,
    "fairseq-preprocess": options.get_preprocessing_parser,
}
OTHERS = {"pip", "apt", "subword-nmt", "for", "done;", "done", "source"}  # whose options others test


def commands(page: Path) -> list[list[str]]:
    """The words of every command in a page's indented blocks, without comments, variables in front and redirections."""
    lines = [line[4:] for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("    ")]
    text = "\n".join(lines).replace("\\\n", " ")
    found = []
    for line in re.split(r"\n|&&", text):
        words = shlex.split(line, comments=True)
        while words and re.fullmatch(r"[A-Z0-9_]+=.*", words[0]):
            words.pop(0)
        if words:
            found.append(words)
    return found


ALL = [(page.name, words) for page in PAGES for words in commands(page)]
PROGRAMS = ("bash", "python", "fairseq-rope", *FAIRSEQ_PARSERS)
RUN = [(page, words) for page, words in ALL if words[0] in PROGRAMS]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        assert target.startswith("https://") or (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_are_there(page: Path):
    named = set(re.findall(r"`([\w./-]+\.(?:py|sh|env))`", page.read_text(encoding="utf-8")))
    folders = ("fairseq_rope", "data-prep", "scripts", "tests", "docs", ".ci")
    paths = [*ROOT.glob("*.*"), *(path for folder in folders for path in (ROOT / folder).rglob("*.*"))]
    there = "".join(f"/{path.relative_to(ROOT)}\n" for path in paths)
    assert [name for name in named if f"/{name}\n" not in there and not re.search("X|[A-Z]{4}", name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lines_end_by_column_120(page: Path):
    lines = page.read_text(encoding="utf-8").splitlines()
    assert not [number for number, line in enumerate(lines, 1) if len(line) > 120]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_line_of_prose_holds_one_sentence(page: Path):
    lines = page.read_text(encoding="utf-8").splitlines()
    prose = [re.sub(r"^ *(- |[0-9]+[.] )?", "", line) for line in lines if not line.startswith(("    ", "|", "#"))]
    # a code span is one word, and abbreviations end no sentence
    plain = [re.sub(r"`[^`]*`", "X", line).replace("et al. ", "et al ") for line in prose]
    assert [line for line in plain if re.search(r"[a-zX0-9)][.!?][)*]* +[A-Z(]", line)] == []


def test_the_readme_is_a_page_of_130_lines():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 130


def test_most_commands_are_checked():
    programs = {words[0] for _, words in ALL}
    assert {"bash", "python", *FAIRSEQ_PARSERS} <= programs and len(RUN) > 20


@pytest.mark.parametrize(("page", "words"), RUN, ids=lambda value: value if isinstance(value, str) else value[-1])
def test_programs_and_options_of_commands_exist(page: str, words: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    if words[0] in FAIRSEQ_PARSERS:
        parser = FAIRSEQ_PARSERS[words[0]]()
        arguments = [word for word in words[1:] if not word.startswith(("<", ">"))]
        # exits where an option is unknown
        if words[0] == "fairseq-preprocess":
            parser.parse_args(arguments)
        else:
            options.parse_args_and_arch(parser, arguments)
        return
    if words[0] == "fairseq-rope" and words[1:] != ["--help"]:
        words = ["python", "-m", COMMANDS[words[1]], *words[2:]]
    if words[0] == "bash":
        known = subprocess.run(["bash", words[1], "--help"], capture_output=True, text=True, check=True).stdout
    else:
        known = help_of(words[1:])
    used = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word) and word != "-m"]
    for option in used:
        assert re.search(rf"(?<![\w-]){option}(?![\w-])", known), f"{page}: {option} of {' '.join(words)}"


def help_of(words: list[str]) -> str:
    """What a Python program says to --help."""
    module = words[0] == "-m"
    name = words[1] if module else str(ROOT / words[0])
    if name.startswith(("cProfile", "fairseq_rope ")) or words[1:] == ["fairseq_rope"]:
        return " ".join(words)
    output, argv = io.StringIO(), sys.argv
    sys.argv = [name, "--help"]
    try:
        with contextlib.redirect_stdout(output), pytest.raises(SystemExit):
            if module:
                package = importlib.util.find_spec(name).submodule_search_locations
                importlib.import_module(f"{name}.__main__" if package else name).main()
            else:
                runpy.run_path(name, run_name="__main__")
    finally:
        sys.argv = argv
    # all options that compare_engines does not know are translate's
    others = help_of(["-m", "fairseq_rope.tools.translate"]) if name.endswith("compare_engines.py") else ""
    return output.getvalue() + others

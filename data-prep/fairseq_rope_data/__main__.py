"""Run one of the project's programs by its name: `fairseq-rope COMMAND ARGUMENTS`, here without torch.

fairseq-rope score --help
"""

import ast
import importlib.util
import runpy
import sys
import textwrap
from pathlib import Path

from fairseq_rope_data.errors import UserError, run

_TOOLS = "average classify compare convert decay huggingface keep masked plot repair report results score translate"
# those of them that read what runs have written, and need neither torch nor fairseq, which take seconds to load; score
# loads fairseq for its BLEU4 alone
_READERS = ("compare", "keep", "plot", "report", "results", "score")
_TEXT = "tokenize learn_bpe apply_bpe sentencepiece_bpe wordpiece segment clean_corpus windows without glue scm"
_RECORDS = "check_corpus check_text manifest check_manifest sgm grammar"
# the modules that `python -m` runs, by command
PROGRAMS = {
    **{name: f"fairseq_rope.tools.{name}" for name in _TOOLS.split()},
    "export": "fairseq_rope.export.ctranslate2",
    **{name.replace("_", "-"): f"fairseq_rope_data.{name}" for name in f"{_TEXT} {_RECORDS}".split()},
}


def main() -> None:
    words = sys.argv[1:]
    if not words or words[0] not in PROGRAMS:
        run("fairseq-rope", lambda: _answer(words))
        return
    if words[0] in _READERS:
        _enter("fairseq_rope")
    del sys.argv[0]
    # as `python -m` does; the program tells its own errors
    try:
        runpy.run_module(PROGRAMS[words[0]], run_name="__main__", alter_sys=True)
    except KeyboardInterrupt:  # while it is loaded, which takes seconds with torch
        sys.exit(130)


def _enter(package: str) -> None:
    """Let the modules of a package be imported without its `__init__`, which loads fairseq to register models."""
    spec = importlib.util.find_spec(package)
    if spec is not None:
        sys.modules.setdefault(package, importlib.util.module_from_spec(spec))


def _answer(words: list[str]) -> None:
    """Print the table of commands where it is asked for; anything else that is no command is an error."""
    if words[:1] not in (["--help"], ["-h"]):
        wrong = words[0] if words else "missing"
        raise UserError(f"the command must be one that fairseq-rope --help lists, but is {wrong}")
    print("usage: fairseq-rope COMMAND ARGUMENTS\n\nfairseq-rope COMMAND --help says more.\n")
    width = max(map(len, PROGRAMS))
    for command, module in PROGRAMS.items():
        print(f"  {command:{width}}  {textwrap.shorten(_purpose(module), 115 - width, placeholder=' ...')}")


def _purpose(module: str) -> str:
    """Return the first clause of a module's docstring, from its source: to import most of them would load torch."""
    package, _, name = module.partition(".")
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"the package {package} is not installed")
    path = Path(spec.submodule_search_locations[0], *name.split("."))
    path = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.split("\n\n")[0].replace("\n", " ").split(": ")[0].rstrip(".")


if __name__ == "__main__":
    main()

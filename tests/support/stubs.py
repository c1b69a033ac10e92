"""Recipes in seconds: shell and preparation are real, programs that need torch are stubs that record arguments."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

from tests.support import ROOT
from tests.support.environment import environment
from tests.support.forked import shared_server

RECORD_CALL = """#!{bash}
# bash writes a line at a time, and arguments have several: one write for each call, or those of models at once mix
printf '%s\\0' "$@" $'\\n' >"$RECORD.$$" && cat "$RECORD.$$" >>"$RECORD" && rm "$RECORD.$$"
"""
PYTHON = """#!{bash}
# fairseq_rope_data is real; `-` is the question for GPUs
case "$*" in
  *fairseq_rope_data.*) exec {python} "$@" ;;
  -) echo "0 fp32" ;;
  *tools.average*) echo averaged >"${{!#}}" ;;
  *tools.score*) echo hypothesis >"${{*: -8:1}}" && echo '{{}}' ;;
  *tools.masked*) echo '{{}}' ;;
  *"fairseq_rope_data results"*) echo "a table" ;;
  *tools.translate*) cat ;;
esac
[[ $* != *tools.* && $* != *"fairseq_rope_data "* ]] || record-call "$@"
"""
TRAIN = """#!{bash}
# a training of $TRAINING seconds
record-call fairseq-train "$@"
echo "threads: ${{OMP_NUM_THREADS:-}}" >&2
[[ "$*" != *"--lr abc"* ]] || exit 2
while (($#)); do
  [[ $1 != --save-dir ]] || save=$2
  shift
done
touch "$save/train.log"
sleep "${{TRAINING:-0}}"
touch "$save/checkpoint_last.pt"
"""
PREPROCESS = """#!{bash}
while (($#)); do
  [[ $1 != --destdir ]] || out=$2
  shift
done
sleep "${{PREPARING:-0}}"
mkdir -p "$out" && touch "$out/dict.en.txt" "$out/dict.de.txt"
"""
GENERATE = """#!{bash}
record-call fairseq-generate "$@"
sleep "${{EVALUATING:-0}}"
echo "a translation"
"""
CONF = """# what a recipe needs; the tests change a line of it
# shellcheck shell=bash disable=SC2034
source "$ROOT/scripts/conf/tiny.env"
BPE_MERGES=200
"""
STUBS = {
    "record-call": RECORD_CALL,
    "python": PYTHON,
    "fairseq-train": TRAIN,
    "fairseq-preprocess": PREPROCESS,
    "fairseq-generate": GENERATE,
}


class Stubs:
    """Programs that need no torch, first on the PATH; small text; and a record of what was called."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bin, self.record = folder, folder / "bin", folder / "record"
        self.bin.mkdir(parents=True)
        python = shlex.quote(str(shared_server().programs() / "python"))
        for name, text in STUBS.items():
            path = self.bin / name
            path.write_text(text.format(bash=shutil.which("bash"), python=python))
            path.chmod(0o755)
        # hostile, but a path
        self.text = folder / "a 'text'\n-ö"
        self.text.mkdir()
        for name, size in (("train", 40), ("other", 41), ("valid", 5), ("test", 5)):
            for lang in ("en", "de"):
                lines = [f"{lang} sentence {i} of {size}, which {'is' * (i % 7)} long .\n" for i in range(size)]
                (self.text / f"{name}.{lang}").write_text("".join(lines), encoding="utf-8")

    def environment(self, work: Path | str, **settings: str) -> dict[str, str]:
        env = environment(Path(work), RECORD=str(self.record), **settings)
        return {**env, "WORK": str(work), "PATH": f"{self.bin}{os.pathsep}{env['PATH']}"}

    def command(self, *arguments: str, conf: str = "", root: Path = ROOT, **prefixes: str) -> list[str]:
        """run_bitext.sh on the text; `conf` is added to the settings, and a prefix of "" is left out."""
        (self.folder / "conf.env").write_text(CONF + conf)
        given = {"train": "train", "valid": "valid", "test": "test", **prefixes}
        words = [word for name, to in given.items() if to for word in (f"--{name}", str(self.text / to))]
        command = ["bash", str(root / "scripts" / "run_bitext.sh"), *words, "-s", "en", "-t", "de"]
        return [*command, "--conf", str(self.folder / "conf.env"), *arguments]

    def run(self, work: Path | str, *command: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """Run a command, and forget what was called before."""
        self.record.unlink(missing_ok=True)
        env = self.environment(work, **settings)
        return subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True, check=False)

    def calls(self, name: str) -> list[list[str]]:
        """The arguments of each recorded call of the program `name`."""
        text = self.record.read_text(encoding="utf-8") if self.record.exists() else ""
        calls = [call.split("\0")[:-1] for call in text.split("\n\0")]
        return [call for call in calls if name in call[:3]]

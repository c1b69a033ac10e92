"""Stubs in which scripts/convert_to_rope.sh runs without torch: a checkpoint, its data, and all programs."""

import re
import shutil
import subprocess
from pathlib import Path

from tests.support import ROOT
from tests.support.stubs import PYTHON, Stubs

SCRIPT = str(ROOT / "scripts" / "convert_to_rope.sh")
# what tools.convert --settings prints of a checkpoint
SETTINGS = """SOURCE_LANG=en
TARGET_LANG=de
TEST_SETS=(test test1)
BPE=subword_nmt
ORIGINAL_UPDATES=4000
PEAK_RATE=0.0005
MODEL_CONVERTED=(--arch transformer_rope --encoder-layers 2)
MODEL_CONTINUED=(--arch transformer --encoder-layers 2)
TRAIN=(--criterion cross_entropy --optimizer adam --adam-betas '(0.9, 0.98)')
BATCH_TOKENS=8192
"""
CONVERT = """  *tools.convert*--settings*) cat "$SETTINGS" ;;
  *tools.convert*) echo converted >"${{!#}}" ;;
"""
# one epoch has 80 updates: at its end the checkpoint has another name
TRAIN = """#!{bash}
record-call fairseq-train "$@"
while (($#)); do
  case $1 in --save-dir) save=$2 ;; --max-update) most=$2 ;; --save-interval-updates) interval=$2 ;; esac
  shift
done
for ((update = 1; update <= most; update++)); do
  name=checkpoint_1_$update.pt
  ((update % interval == 0)) || name=checkpoint_last.pt
  ((update % 80)) || name=checkpoint$((update / 80)).pt
  ((update == most || update % 80 == 0)) || ((update % interval == 0)) || continue
  echo weights >"$save/$name"
  ((update % 80 && update < most)) ||
    printf 'epoch %03d | loss 3.1 | num_updates %d | lr 1\n' "$(((update + 79) / 80))" "$update" >>"$save/train.log"
done
sleep "${{TRAINING:-0}}"
"""
VALIDATE = """#!{bash}
record-call fairseq-validate "$@"
echo "a loss"
"""
GENERATE = VALIDATE.replace("validate", "generate")


def make_conversion(folder: Path) -> Stubs:
    """Stubs of all programs, a checkpoint and a DATA folder, whose contents nothing reads."""
    stubs = Stubs(folder)
    texts = {"fairseq-train": TRAIN, "fairseq-validate": VALIDATE, "fairseq-generate": GENERATE}
    texts["python"] = PYTHON.replace("  *tools.average*", f"{CONVERT}  *tools.average*")
    original = (stubs.bin / "python").read_text()
    python = re.search(r"exec (.*) \"\$@\"", original)
    assert python
    for name, text in texts.items():
        path = stubs.bin / name
        path.write_text(text.format(bash=shutil.which("bash"), python=python[1]))
        path.chmod(0o755)
    (stubs.folder / "settings").write_text(SETTINGS)
    (stubs.folder / "original.pt").write_text("weights\n")
    (stubs.folder / "data").mkdir()
    for name in ("dict.en.txt", "dict.de.txt", "train.en-de.en.bin", "train.en-de.en.idx"):
        (stubs.folder / "data" / name).write_text(f"{name}\n")
    return stubs


def convert(
    stubs: Stubs, work: Path, *arguments: str, most_bytes: int | None = None, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run the recipe; no file may have more than `most_bytes`, a multiple of 1,024, as on a full disk."""
    given = ("--from", str(stubs.folder / "original.pt"), "--data", str(stubs.folder / "data"))
    settings = {"SETTINGS": str(stubs.folder / "settings"), **settings}
    limit = f"trap '' XFSZ; ulimit -f {most_bytes // 1024}; " if most_bytes else ""
    return stubs.run(work, "bash", "-c", f'{limit}exec bash "$@"', "bash", SCRIPT, *given, *arguments, **settings)

"""`--user-dir PATH/fairseq_rope` of a clone that nobody has installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support import ROOT

PROGRAM = """
import importlib, sys
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in getattr(finder, "__module__", "")]
sys.path = [path for path in sys.path if path not in {installed!r}]
from argparse import Namespace
from fairseq import utils
utils.import_user_module(Namespace(user_dir={user_dir!r}))
for name in ("tools.translate", "tools.score", "export.ctranslate2"):
    importlib.import_module("fairseq_rope." + name)
import fairseq_rope_data
print(fairseq_rope_data.__file__)
"""


def test_a_clone_that_is_not_installed_is_a_plugin(tmp_path: Path):
    for name in ("fairseq_rope", "data-prep"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    installed = [str(ROOT), str(ROOT / "data-prep")]
    program = PROGRAM.format(installed=installed, user_dir=str(tmp_path / "fairseq_rope"))
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str(tmp_path / "data-prep" / "fairseq_rope_data" / "__init__.py"), done.stderr

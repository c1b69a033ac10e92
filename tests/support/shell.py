"""A copied project with a PATH of stubs, to run the shell of the recipes in."""

import shutil
import subprocess
from pathlib import Path

from tests.support import ROOT

# Answers as a Python would: its version is that in its file name or $STUB_VERSION. Records how it is called.
# `- VERSION` is the probe of python_fits, `- ROOT URL` that of env_stamp; the real ones have tests of their own.
STUB = """#!{bash}
echo "${{0##*/}} $*" >>"$RECORD"
version=${{STUB_VERSION:-3.11}}
[[ $0 != */python3.* ]] || version=${{0##*/python}}
case "$#:$1 $2" in
  "2:- "*) [[ $version == 3.1[0-3] && $version == "${{2:-$version}}" && -e $STUB_INCLUDE/Python.h ]] ;;
  "3:- "*) {{ echo "$version $2 $3" && cat "$2/pyproject.toml" "$2/constraints.txt"; }} | cksum ;;
  *":-m venv") mkdir -p "$3/bin" "$3/site" && cp "$0" "$3/bin/python" ;;
  *":-m pip") [[ "$*" != *"${{STUB_FAILS_AT:-nothing}}"* ]] ;;
  *get_path*) echo "${{0%/*}}/../site" ;;
  *version_info*) echo "$version" ;;
esac
"""

TOOLS = "awk basename cat cksum cp date dirname env find flock grep ls mkdir mv rm sed test"


class Shell:
    """Bash with env.sh of a copied project, a PATH of stubs, and a record of what they were called with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "a project"
        library = self.project / "scripts" / "lib"
        library.mkdir(parents=True)
        for name in ("base.sh", "ending.sh", "env.sh"):
            shutil.copy(ROOT / "scripts" / "lib" / name, library)
        for name in ("pyproject.toml", "constraints.txt"):
            (self.project / name).write_text(name)
        self.bin, self.record = folder / "bin", folder / "record"
        self.bin.mkdir()
        (folder / "include").mkdir()
        (folder / "include" / "Python.h").touch()
        for tool in TOOLS.split():
            if found := shutil.which(tool):
                (self.bin / tool).symlink_to(found)
        self.stub("g++")

    def stub(self, name: str) -> Path:
        """Put a stub named `name` on the PATH."""
        path = self.bin / name
        path.write_text(STUB.format(bash=shutil.which("bash")))
        path.chmod(0o755)
        return path

    def run(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run `script` after `source env.sh`, with nothing of the outer environment."""
        environment = {
            "PATH": str(self.bin),
            "HOME": str(self.folder),
            "RECORD": str(self.record),
            "STUB_INCLUDE": str(self.folder / "include"),
            **variables,
        }
        return subprocess.run(
            [shutil.which("bash") or "bash", "-c", f"set -euo pipefail; source scripts/lib/env.sh; {script}"],
            cwd=self.project,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def calls(self, word: str) -> list[str]:
        """The recorded calls that contain `word`, and forget all of them."""
        lines = self.record.read_text().splitlines() if self.record.exists() else []
        self.record.unlink(missing_ok=True)
        return [line for line in lines if word in line]

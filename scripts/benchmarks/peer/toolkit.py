"""eole in an environment of its own: made, checked, called."""

import contextlib
import fcntl
import json
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import complete_file

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
ENVIRONMENT = ROOT / ".venv-eole"
VERSION = re.compile(r"0\.6\.\d+")  # what settings.py and log.py are written for


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other runs out of `folder`, made if need be.

    What `Eole` starts holds the lock too: a training whose parent was killed goes on, and still writes.

    Raises:
        UserError: another run works there.
    """
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("a") as file:
        os.set_inheritable(file.fileno(), True)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"another run works in {folder}") from None
        yield


class Eole:
    """The toolkit in a virtual environment.

    Args:
        environment: its folder; None: `.venv-eole` of this clone, made with the versions of requirements.txt.

    Raises:
        UserError: the environment cannot be made, or has no eole 0.6.
    """

    def __init__(self, environment: Path | None) -> None:
        if environment is None:
            environment = ENVIRONMENT
            if subprocess.run(["bash", HERE / "environment.sh", environment], stdout=subprocess.DEVNULL).returncode:
                raise UserError(f"the environment {environment} could not be made, see above")
        self.python = environment / "bin" / "python"
        question = "from importlib.metadata import version; print(version('eole'), version('torch'))"
        try:
            done = subprocess.run([self.python, "-c", question], capture_output=True, text=True)
        except OSError as error:
            raise UserError(f"--eole {environment}: no Python of an environment: {error.strerror}") from None
        self.versions = dict(zip(("eole", "torch"), done.stdout.split(), strict=False))
        found = self.versions.get("eole", "none")
        if not VERSION.fullmatch(found):
            raise UserError(f"--eole {environment}: eole must be 0.6, but is {found}")

    def run(self, program: str, settings: dict[str, Any], file: Path, *, log: Path | None = None) -> str:
        """Run `eole PROGRAM` with a configuration, which is written into `file`.

        Args:
            program: train or predict.
            settings: the configuration; JSON is YAML.
            file: where it is kept.
            log: what it prints is added to this file.

        Returns: what it printed.

        Raises:
            UserError: it failed; the text has its last line.
        """
        with complete_file(file) as part:
            part.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
        return self._call(["-m", "eole.bin.main", program, "--config", str(file)], log)

    def checkpoint(self, work: str, *folders: Path) -> str:
        """Run checkpoint.py with eole's Python; return what it printed last."""
        lines = self._call([str(HERE / "checkpoint.py"), work, *map(str, folders)], None).splitlines()
        return lines[-1] if lines else ""

    def _call(self, arguments: Sequence[str], log: Path | None) -> str:
        # fairseq_rope is not installed there; torch and pydantic warn at every start
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment["PYTHONWARNINGS"] = "ignore"
        text: list[str] = []
        with (
            open(log or os.devnull, "a", encoding="utf-8") as file,
            subprocess.Popen(
                [str(self.python), *arguments],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env=environment,
                close_fds=False,  # the lock
            ) as process,
        ):
            try:
                for line in process.stdout or ():
                    text.append(line)
                    file.write(line)
                    file.flush()
            except BaseException:  # an interrupt, too, leaves no training behind
                process.kill()
                raise
        if process.returncode:
            last = next((line.strip() for line in reversed(text) if line.strip()), "it printed nothing")
            raise UserError(f"eole {' '.join(arguments[-3:])} ended with status {process.returncode}: {last}")
        return "".join(text)

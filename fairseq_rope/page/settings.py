"""The settings of runs, from the records beside their products, and those in which models differ."""

from collections.abc import Mapping
from pathlib import Path

NOT_SET = "not set"


def run_settings(run: Path) -> dict[str, str]:
    """Return setting -> value of a run, as its records have them, those of decoding included; empty without a record.

    Settings are options of fairseq, where the last of an option counts, and variables of recipes. A flag's value is "".
    """
    records = sorted(run.glob("generate-*.log.settings"), reverse=True)  # test before long
    records += sorted(run.glob("score-*.json.settings"))  # of what is not translated
    record = next((path for path in [*records, run / "settings"] if path.is_file()), None)
    if record is None:
        return {}
    found = {}
    for line in record.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("--"):
            name, _, value = line.partition(" ")
            found[name] = value.replace("\\", "")  # as a shell quotes it
        elif "=" in line and line.partition("=")[0].isidentifier():
            name, _, value = line.partition("=")
            found[name] = value
    return found


def differing_settings(models: Mapping[str, Mapping[int, Mapping[str, str]]]) -> dict[str, dict[str, str]]:
    """Return setting -> model -> value of those that are not the same in all models; several values of one are joined.

    Args:
        models: model -> seed -> setting -> value. Seeds are no difference; a run without a record is left out.
    """
    known = {name: [run for run in runs.values() if run] for name, runs in models.items()}
    names = dict.fromkeys(name for runs in known.values() for run in runs for name in run)
    rows = {}
    for name in names:
        values = {
            model: " | ".join(dict.fromkeys(run.get(name, NOT_SET) for run in runs))
            for model, runs in known.items()
            if runs
        }
        if name != "--seed" and len(set(values.values())) > 1:
            rows[name] = {model: value or "set" for model, value in values.items()}
    return rows

"""Work folders that an earlier version, of this package or of another, has made."""

from pathlib import Path

import pytest

from tests.support.stubs import Stubs
from tests.support.work_folders import named, state


def test_other_versions_are_noted(stubs: Stubs, work: Path):
    record = work / "data-bin.settings"
    record.write_text(record.read_text().replace("# sacremoses ", "# sacremoses 0."))
    done = stubs.run(work, *stubs.command())
    assert done.returncode == 0 and "data-bin was made with sacremoses 0.0." in done.stderr, done.stderr


def test_records_and_settings_in_the_old_spelling_are_the_same(stubs: Stubs, work: Path):
    for record in (*work.rglob("settings"), *work.rglob("*.settings")):
        text = record.read_text().replace("NORMALIZE=", "NORMALISE=").replace("[binarize]", "[binarise]")
        record.write_text(text.replace("--detokenized", "--detokenised"))
    assert "NORMALISE=" in (work / "text" / "settings").read_text()
    before = state(work)
    done = stubs.run(work, *stubs.command())
    assert done.returncode == 0 and state(work) == before, done.stderr
    done = stubs.run(work, *stubs.command(conf="NORMALISE=1"))
    assert done.returncode == 1 and '+NORMALIZE="1"' in done.stderr


def as_version_0_1_0(work: Path) -> None:
    """Leave what that version left: settings without text, none for what comes after training."""
    for path in work.rglob("*.settings"):
        path.unlink()
    text, training = (work / name / "settings" for name in ("text", "rope"))
    lines = text.read_text().split("[prepare]\n")[1].split("# ")[0].splitlines()
    text.write_text("".join(f"declare -{'a' if '=(' in line else '-'} {line}\n" for line in lines))
    options = training.read_text().split("[train]\n")[1].split("# ")[0]
    training.write_text(" ".join(options.split("\n")) + "\n")
    (work / "data-bin.settings").write_text("SHARDS=1       40 2000 train.en\n")


def test_a_folder_of_version_0_1_0_is_taken_with_a_note(stubs: Stubs, work: Path):
    as_version_0_1_0(work)
    done = stubs.run(work, *stubs.command())
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("(version 0.1.0)") == 6 and " make " not in done.stderr
    assert stubs.run(work, *stubs.command()).stderr.count("(version 0.1.0)") == 0
    done = stubs.run(work, *stubs.command("average"), MAX_EPOCH="46")
    assert done.returncode == 1 and named(done.stderr) == {"rope"}


@pytest.mark.parametrize(
    ("settings", "products"),
    [({"MAX_EPOCH": "46"}, {"rope"}), ({"BPE": "sentencepiece"}, {"text"}), ({"SHARDS": "2"}, {"data-bin"})],
)
def test_a_folder_of_version_0_1_0_with_other_settings_is_refused(stubs: Stubs, work: Path, settings, products):
    as_version_0_1_0(work)
    done = stubs.run(work, *stubs.command("evaluate"), **settings)
    assert done.returncode == 1 and named(done.stderr) == products, done.stderr

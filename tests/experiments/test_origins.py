"""What is said of runs that are compared and were not trained with the same code, hardware, precision and versions."""

import json
from pathlib import Path
from typing import Any

import pytest

from fairseq_rope.experiments.data import results_json
from fairseq_rope.experiments.origins import origin_notes
from fairseq_rope.experiments.results import chosen_results_text, results_text
from fairseq_rope.experiments.work_folder import find_models
from fairseq_rope.page.contents import page_contents
from tests.support.train_logs import LOG

SAME = {"commit": "abcdef0", "processor": "A", "gpus": [], "precision": "fp32"}
SAME |= {"versions": {"torch": "2.13.0", "numpy": "2.3.5"}}
BEGINNING = "note: not all runs were trained with the same code, hardware, precision and versions: "


def add_run(work: Path, name: str, *starts: dict[str, Any]) -> Path:
    folder = work / name
    folder.mkdir()
    (folder / "train.log").write_text(LOG)
    if starts:
        (folder / "provenance.jsonl").write_text("".join(f"{json.dumps({**SAME, **each})}\n" for each in starts))
    return folder


def test_runs_of_one_origin_and_those_without_a_record_have_no_note(tmp_path: Path):
    add_run(tmp_path, "old")
    for name in ("rope", "rope-seed2", "sinusoidal"):
        add_run(tmp_path, name, {"date": name, "command": name, "threads": name})
    assert origin_notes(find_models(tmp_path)) == [] and BEGINNING not in results_text(tmp_path)


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ({"commit": "1234567"}, "commit abcdef0 (rope), 1234567 (sinusoidal)"),
        ({"commit": None}, "commit abcdef0 (rope), unknown (sinusoidal)"),
        ({"processor": "B"}, "processor A (rope), B (sinusoidal)"),
        ({"gpus": ["H100", "H100"]}, "GPUs none (rope), H100, H100 (sinusoidal)"),
        ({"precision": "bf16"}, "precision fp32 (rope), bf16 (sinusoidal)"),
        ({"versions": {"torch": "2.12.0", "numpy": "2.3.5"}}, "torch 2.13.0 (rope), 2.12.0 (sinusoidal)"),
        ({"versions": {"torch": "2.13.0"}}, "numpy 2.3.5 (rope), none (sinusoidal)"),
        (
            {"commit": "1", "processor": "B"},
            "commit abcdef0 (rope), 1 (sinusoidal); processor A (rope), B (sinusoidal)",
        ),
    ],
    ids=["commit", "no repository", "processor", "GPUs", "precision", "version", "a package", "two"],
)
def test_models_that_differ_in_their_origin_are_told_in_a_line_everywhere(tmp_path: Path, other: dict, text: str):
    add_run(tmp_path, "rope", {})
    add_run(tmp_path, "sinusoidal", other)
    line = f"{BEGINNING}{text}"
    assert origin_notes(find_models(tmp_path)) == [line]
    for shown in (results_text(tmp_path), chosen_results_text(tmp_path, (), ["parameters"])):
        assert shown.splitlines().count(line) == 1
    assert json.loads(results_json(tmp_path))["notes"] == [line]
    assert page_contents([tmp_path])["missing"] == [line]


def test_seeds_and_starts_are_told_apart(tmp_path: Path):
    for name in ("rope", "rope-seed3", "sinusoidal", "sinusoidal-seed2"):
        add_run(tmp_path, name, {})
    add_run(tmp_path, "rope-seed2", {}, {"commit": "1234567"})
    text = "commit abcdef0 (rope, sinusoidal), 1234567 (rope seed 2)"
    assert origin_notes(find_models(tmp_path)) == [f"{BEGINNING}{text}"]


def test_a_training_that_went_on_in_another_precision_has_both(tmp_path: Path):
    for name in ("rope", "sinusoidal"):
        add_run(tmp_path, name, {"precision": None}, {"precision": "fp32"})
    assert origin_notes(find_models(tmp_path)) == []
    add_run(tmp_path, "rope-seed2", {}, {"precision": "bf16"})
    text = "precision fp32 (rope, sinusoidal), bf16 (rope seed 2)"
    assert origin_notes(find_models(tmp_path)) == [f"{BEGINNING}{text}"]


def test_records_that_are_older_than_the_precision_differ_in_nothing(tmp_path: Path):
    add_run(tmp_path, "rope", {"precision": None})
    add_run(tmp_path, "rope-seed2", {"precision": "bf16"})
    assert origin_notes(find_models(tmp_path)) == []
    add_run(tmp_path, "sinusoidal", {"precision": "fp32"})
    assert origin_notes(find_models(tmp_path)) == [f"{BEGINNING}precision bf16 (rope), fp32 (sinusoidal)"]


def test_a_model_that_is_decoded_otherwise_is_of_the_training_that_it_reads(tmp_path: Path):
    add_run(tmp_path, "rope", {})
    add_run(tmp_path, "sinusoidal", {"commit": "1234567"})
    (tmp_path / "fast").mkdir()
    (tmp_path / "fast" / "train.log").symlink_to("../rope/train.log")
    assert origin_notes(find_models(tmp_path)) == [
        f"{BEGINNING}commit abcdef0 (fast, rope), 1234567 (sinusoidal)",
    ]


def test_runs_that_were_made_from_other_text_are_named(tmp_path: Path):
    given = {"rope": "a" * 64, "rope-seed2": "a" * 64, "sinusoidal": "b" * 64, "older": ""}
    for name, text in given.items():
        lines = f"raw/train.en: 5 lines, 9 bytes, sha256 {text}\nraw/valid.en: 1 lines, 2 bytes, sha256 {'c' * 64}\n"
        record = f"[given]\n# sacremoses {name}\n{lines if text else ''}[train]\n--arch {name}\n"
        (add_run(tmp_path, name) / "settings").write_text(record)
    note = "note: not all runs were made from the same text: raw/train.en aaaaaaaa (rope), bbbbbbbb (sinusoidal)"
    assert note in results_text(tmp_path).partition("\n\n")[0].splitlines()
    assert note in page_contents([tmp_path])["missing"]
    (tmp_path / "sinusoidal" / "settings").unlink()
    assert "the same text" not in results_text(tmp_path)


def test_another_seed_of_other_text_is_named_by_its_number(tmp_path: Path):
    for name, text in (("rope", "a" * 64), ("rope-seed2", "b" * 64)):
        (add_run(tmp_path, name) / "settings").write_text(f"[given]\nno lines, 2 bytes, sha256 {text}\n[train]\n")
    assert origin_notes(find_models(tmp_path)) == [
        "note: not all runs were made from the same text: file 1 aaaaaaaa (rope seed 1), bbbbbbbb (rope seed 2)"
    ]

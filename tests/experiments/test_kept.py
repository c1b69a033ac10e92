"""What is kept of an experiment gives its table again, and names no folder."""

import json
import shlex
from pathlib import Path

import pytest

from fairseq_rope.experiments.kept import keep, note_without_folders, without_folders
from fairseq_rope.experiments.results import results_text
from fairseq_rope.page.contents import page_contents
from fairseq_rope_data.errors import UserError
from tests.support.experiments import experiment
from tests.support.masked_runs import masked_runs


def test_masked_language_models_have_the_same_table(tmp_path: Path):
    work = masked_runs(tmp_path / "work", {"roformer": {16: 0.0, 32: 0.1}, "bert": {16: 0.5, 32: None}})
    assert keep([work], tmp_path / "kept") == 4
    assert results_text(tmp_path / "kept", ["roformer", "bert"]) == results_text(work, ["roformer", "bert"])


def test_a_training_that_is_read_in_two_ways_stays_one(tmp_path: Path):
    work = masked_runs(tmp_path / "work", {"roformer": {16: 0.0}, "bert": {16: 0.5}, "roformer_ntk": {16: 0.3}})
    for seed in ("", "-seed2"):
        log = work / f"roformer_ntk{seed}" / "train.log"
        log.unlink()
        log.symlink_to(f"../roformer{seed}/train.log")
    keep([work], tmp_path / "kept")
    expected = results_text(work)
    assert results_text(tmp_path / "kept") == expected and "roformer to reach roformer_ntk" not in expected


def test_a_training_that_two_runs_read_stays_one_where_its_own_run_is_not_kept(tmp_path: Path):
    work = masked_runs(tmp_path / "work", {"roformer": {16: 0.0}, "linear": {16: 0.5}, "ntk": {16: 0.3}})
    for name in ("linear", "ntk"):
        for seed in ("", "-seed2"):
            log = work / f"{name}{seed}" / "train.log"
            log.unlink()
            log.symlink_to(f"../roformer{seed}/train.log")
    keep([work], tmp_path / "kept", ["linear", "ntk"])
    expected = results_text(work, ["linear", "ntk"])
    assert results_text(tmp_path / "kept") == expected and "to reach" not in expected


def test_where_a_training_comes_from_is_kept_with_a_run_that_reads_it(tmp_path: Path):
    work = experiment(tmp_path / "work", {"rope": 0.2, "linear": 0.3, "alibi": 0.25}, seeds=1)
    (work / "linear" / "train.log").unlink()
    (work / "linear" / "train.log").symlink_to("../rope/train.log")
    (work / "linear" / "provenance.jsonl").unlink()
    start = work / "rope" / "provenance.jsonl"
    start.write_text(start.read_text().replace("abcdef0", "1234567"))
    (work / "raw").rename(tmp_path / "gone")  # what bootstraps need
    keep([work], tmp_path / "kept", ["linear", "alibi"])
    expected = results_text(work, ["linear", "alibi"])
    assert results_text(tmp_path / "kept", ["linear", "alibi"]) == expected and "1234567 (linear)" in expected


def test_runs_without_a_training_have_no_log_and_no_link_to_one(tmp_path: Path):
    work = experiment(tmp_path / "work", {"rope": 0.2})
    (work / "majority").mkdir()
    (work / "majority" / "baseline.txt").write_text("not trained\n")
    (work / "majority" / "score-test.json").write_bytes((work / "rope" / "score-test.json").read_bytes())
    (work / "majority-seed2").symlink_to("majority")  # as a recipe leaves it
    keep([work], tmp_path / "kept")
    logs = {path.parent.name for path in (tmp_path / "kept").rglob("*") if path.name == "train.log"}  # links too
    assert logs == {"rope", "rope-seed2"}
    (work / "raw").rename(tmp_path / "gone")  # what bootstraps need
    assert results_text(tmp_path / "kept") == results_text(work)


def test_of_translations_all_is_kept_but_texts_checkpoints_and_the_names_of_folders(tmp_path: Path):
    work = experiment(tmp_path / "work", {"rope": 0.2, "sinusoidal": 0.3})
    log, start = work / "rope" / "train.log", work / "rope" / "provenance.jsonl"
    resumed = f"{{'save_dir': '{work}/rope'}} | loaded {work}/rope/checkpoint_last.pt\n"
    # as fairseq alone writes those of a third epoch
    thrice = "".join(3 * line for line in log.read_text().splitlines(keepends=True))
    log.write_text(resumed + thrice + "epoch 009 | valid on 'valid' subset | loss 8.2 | cut of")
    start.write_text(start.read_text().replace("--seeds", f"--train {work}/raw/train.en --seeds"))
    (work / "rope" / "averaged.pt").write_bytes(b"weights")
    keep([work], tmp_path / "kept")
    (work / "raw").rename(tmp_path / "gone")  # what bootstraps need
    assert results_text(tmp_path / "kept") == results_text(work)
    kept = (tmp_path / "kept" / "rope" / "train.log").read_text().splitlines()
    assert len(kept) == len(set(kept)) > 2
    files = [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]
    assert {path.name for path in files} == {
        *("manifest.json", "train.log", "score-test.json", "settings", "provenance.jsonl")
    }
    assert not [path for path in files if str(tmp_path) in path.read_text()]
    found = page_contents([tmp_path / "kept"])
    assert "bash scripts/run_bitext.sh --train train.en --seeds 1,2" in found["commands"]
    assert json.loads((tmp_path / "kept" / "manifest.json").read_text()) == json.loads(
        (work / "manifest.json").read_text()
    )


def test_paths_lose_their_folders_and_nothing_else_is_one():
    text = r"bash scripts/run.sh /data/a/b.en 1/2 http://example.org/a/b /tmp 'x'/y --from=/runs/mlm a\ b"
    assert without_folders(text) == r"bash scripts/run.sh b.en 1/2 http://example.org/a/b /tmp 'x'/y --from=mlm a\ b"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (r"WORK=/tmp/se\ cret/cust\ omer/w bash scripts/run.sh", "WORK=w bash scripts/run.sh"),
        (r"--train /home/anna\ maria/big\ client/train\ \(1\).en -s en", r"--train train\ \(1\).en -s en"),
        ("--data '/home/x y/z/data' 'a b'", "--data 'data' 'a b'"),
        ('--data "/home/x y/z/data" "a b"', '--data "data" "a b"'),
        (r"WORK=$'/a/b\n\'c/d\303\274 e' 1\,2", r"WORK=$'d\303\274 e' 1\,2"),
        ("--from /a/b:/home/secret/c --from x:/a/b/c /a/b/", "--from c --from x:c b/"),
    ],
)
def test_folders_of_any_name_are_lost_however_a_shell_quotes_them(command: str, expected: str):
    assert without_folders(command) == expected


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        (
            "--allow empty: 1 of 9 lines, the first /se cret/r/log:45: the hypothesis is empty, but /a b/de:6 is not",
            "--allow empty: 1 of 9 lines, the first log:45: the hypothesis is empty, but de:6 is not",
        ),
        ("the first log:3: it shares 3 with raw/t.de:4", "the first log:3: it shares 3 with raw/t.de:4"),
        ("wrote /se cret/rope/submission/SST-2.tsv", "wrote SST-2.tsv"),
        ("BLEU4 = 96.06, 98.5/96.9/95.4/93.9 (BP=0.999)", "BLEU4 = 96.06, 98.5/96.9/95.4/93.9 (BP=0.999)"),
    ],
)
def test_notes_lose_folders_whose_names_are_not_quoted(note: str, expected: str):
    assert note_without_folders(note) == expected


def test_what_is_allowed_in_a_text_and_options_name_no_folder(tmp_path: Path):
    work = experiment(tmp_path / "se cret" / "work", {"rope": 0.2}, seeds=1)
    run = work / "rope"
    score = json.loads((run / "score-test.json").read_text())
    score["notes"] = [f"--allow empty: 1 of 120 lines, the first {run}/generate-test.log:4: the hypothesis is empty"]
    (run / "score-test.json").write_text(json.dumps(score))
    with (run / "settings").open("a") as file:
        file.write(f"--finetune-from-model {shlex.quote(str(run / 'model.pt'))}\n")
    keep([work], tmp_path / "kept")
    assert not [path for path in (tmp_path / "kept").rglob("*") if path.is_file() and "se cret" in path.read_text()]
    note = "note on test of rope: --allow empty: 1 of 120 lines, the first generate-test.log:4: the hypothesis is empty"
    assert note in results_text(tmp_path / "kept").splitlines()
    assert "--finetune-from-model 'model.pt'\n" in (tmp_path / "kept" / "rope" / "settings").read_text()


def test_what_is_there_is_not_overwritten(tmp_path: Path):
    work = masked_runs(tmp_path / "work", {"roformer": {16: 0.0}})
    with pytest.raises(UserError, match=r"--output must be a new folder, but .*work exists"):
        keep([work], work)
    with pytest.raises(UserError, match=r"--models bert: .* holds no such model"):
        keep([work], tmp_path / "kept", ["bert"])
    assert not (tmp_path / "kept").exists()

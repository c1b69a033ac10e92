"""The table and the picture of an experiment, and the log that both are read from."""

import itertools
import json
import statistics
import sys
from pathlib import Path

import pytest

from fairseq_rope.experiments.statistic import Figure, cell
from fairseq_rope.experiments.train_log import Validation, read_train_log
from fairseq_rope.experiments.work_folder import figures, model_folders, models
from fairseq_rope.scoring.evaluation import Settings
from fairseq_rope.tools import results as tool
from fairseq_rope.tools.compare import as_table, compare_files
from fairseq_rope.tools.plot import draw
from fairseq_rope.tools.results import figure_table
from fairseq_rope_data.errors import UserError
from tests.support.corpora import sentences, system, write

LOG = """num. shared model params: 2,568,192 (num. trained: 2,568,192)
epoch 001 | valid on 'valid' subset | loss 9.5 | nll_loss 8.9 | ppl 477 | bsz 168 | num_updates 124
epoch 001 | loss 11.2 | nll_loss 10.9 | num_updates 124 | train_wall 60 | wall 61
epoch 002 | valid on 'valid' subset | loss 8.5 | nll_loss 7.9 | ppl 77 | bsz 168 | num_updates 248 | best_loss 8.5
epoch 002 | loss 9.2 | nll_loss 8.9 | num_updates 248 | train_wall 60 | wall 122
epoch 002 | valid on 'valid' subset | loss 8.25 | nll_loss 7.9 | ppl 77 | bsz 168 | num_updates 248 | best_loss 8.25
epoch 002 | loss 9.2 | nll_loss 8.9 | num_updates 248 | train_wall 60 | wall 150
"""


def add_run(work: Path, name: str, *, bleu4: float | None = None, loss: str = "8.25", buckets: bool = False) -> Path:
    """Make the folder of a run; with its score of the set `test` if `bleu4` is given."""
    folder = work / name
    folder.mkdir()
    (folder / "train.log").write_text(LOG.replace("loss 8.25", f"loss {loss}"))
    if bleu4 is not None:
        score = {"name": "BLEU4", "value": bleu4, "text": f"BLEU4 = {bleu4:.2f}", "signature": "tok:as-is"}
        report = {"scores": [score], "settings": {"lowercase": True}}
        if buckets:
            report["buckets"] = [{"words": "11-20", "sentences": 7, "score": {**score, "name": "BLEU"}}]
        (folder / "score-test.json").write_text(json.dumps(report))
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    add_run(tmp_path, "sinusoidal")
    add_run(tmp_path, "rope", bleu4=41.234)
    return tmp_path


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_log_gives_each_validation_as_it_last_was(work: Path):
    log = read_train_log(work / "rope" / "train.log")
    assert log.validations == [Validation(1, 124, 9.5), Validation(2, 248, 8.25)]
    assert (log.parameters, log.seconds) == (2568192, 150)


def test_the_table_has_a_column_a_model_rotary_first(work: Path):
    lines = figure_table(models(work), figures).splitlines()
    assert [cells(line) for line in lines if "---" not in line] == [
        ["", "rope", "sinusoidal"],
        ["parameters", "2,568,192", "2,568,192"],
        ["epochs, updates", "2, 248", "2, 248"],
        ["training, minutes", "2.5", "2.5"],
        ["valid loss, best", "8.250 (epoch 2)", "8.250 (epoch 2)"],
        ["test: BLEU4", "41.23", ""],
    ]
    assert len({len(line) for line in lines}) == 1


def test_without_seeds_source_or_hypotheses_there_are_the_table_and_the_signatures_only(work: Path):
    assert tool.as_text(work) == f"{figure_table(models(work), figures)}\nBLEU4: tok:as-is"


def test_seeds_of_a_model_share_a_column_with_mean_and_deviation(work: Path):
    scores = [41.234, 40.5, 42.0]
    add_run(work, "rope-seed3", bleu4=scores[2], loss="8.75")
    add_run(work, "rope-seed2", bleu4=scores[1])
    add_run(work, "sinusoidal-seed2", bleu4=39.0)
    add_run(work, "learned")
    rows = {cells(line)[0]: cells(line)[1:] for line in figure_table(models(work), figures).splitlines()}
    assert rows[""] == ["rope (3 seeds)", "learned", "sinusoidal (2 seeds)"]
    assert rows["parameters"] == ["2,568,192"] * 3
    assert rows["test: BLEU4"] == [f"41.24 ± {statistics.stdev(scores):.2f}", "", "39.00 (1 of 2)"]
    losses = [8.25, 8.25, 8.75]
    spread = f"{statistics.mean(losses):.3f} ± {statistics.stdev(losses):.3f}"
    assert rows["valid loss, best"] == [f"{spread} (epoch 2)", "8.250 (epoch 2)", "8.250 (epoch 2)"]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([(4, 800)], "4, 800"),
        ([(4, 800), (4, 800)], "4, 800"),
        ([(4, 1000), (4, 1200), (4, 1400)], "4, 1,200 ± 200"),
    ],
    ids=["one run", "equal runs", "runs that differ"],
)
def test_only_numbers_that_differ_have_a_deviation(values: list[tuple[float, ...]], text: str):
    each = [Figure(numbers, "{}, {}", (".0f", ",.0f")) for numbers in values]
    assert cell(each, runs=len(each)) == text


def test_buckets_are_a_table_of_their_own(work: Path):
    add_run(work, "rope-seed2", bleu4=41.0, buckets=True)
    add_run(work, "rope-seed3", bleu4=42.0, buckets=True)
    _, table = tool.as_text(work).split("\n\nBLEU by words of the source:\n\n")
    row = cells(table.splitlines()[2])
    assert row == ["test: 11-20 words, 7 sentences", f"41.50 ± {0.5 * 2**0.5:.2f} (2 of 3)", ""]


def test_scores_made_in_different_ways_have_all_their_signatures(work: Path):
    folder = add_run(work, "rope-seed2", bleu4=41.0)
    path = folder / "score-test.json"
    path.write_text(path.read_text().replace("tok:as-is", "tok:other"))
    assert tool.as_text(work).splitlines()[-2:] == ["BLEU4: tok:as-is", "BLEU4: tok:other"]


def test_what_was_scored_in_spite_of_a_breach_is_told(work: Path):
    order = "scored as they are: 2 of 50 lines, the first hyps:3: out of order"
    notes = ["no detokenised BLEU", "--allow empty: 9 of 50 lines", order]
    (work / "rope" / "score-test.json").write_text(json.dumps({"scores": [], "notes": notes}))
    lines = [f"note on test of rope: {note}" for note in notes[1:]]
    assert tool.as_text(work).splitlines()[-2:] == lines
    assert json.loads(tool.as_json(work))["notes"] == lines


def add_hypotheses(work: Path) -> list[str]:
    refs = sentences(20, seed=1)
    (work / "raw").mkdir()
    write(work / "raw" / "test.2016.de", refs)
    for seed, name in enumerate(("rope", "sinusoidal", "rope-seed2", "sinusoidal-seed2", "rope-seed3")):
        write(work / name / "hyp-test.2016.de", system(refs, errors=0.3, seed=seed))
    return refs


def test_models_of_the_same_seed_are_compared_with_the_baseline_first(work: Path):
    for name in ("rope-seed2", "sinusoidal-seed2", "rope-seed3"):
        add_run(work, name)
    assert "Paired" not in tool.as_text(work)
    add_hypotheses(work)
    for name in ("rope", "rope-seed2"):
        report = {"scores": [], "settings": {"lowercase": name == "rope"}}
        (work / name / "score-test.2016.json").write_text(json.dumps(report))
    _, *parts = tool.as_text(work).split("\n\nPaired bootstrap on test.2016, seed ")
    assert len(parts) == 2  # the third seed has one model only
    for seed, folders in enumerate((("sinusoidal", "rope"), ("sinusoidal-seed2", "rope-seed2")), start=1):
        names = ("sinusoidal", "rope")
        files = {name: work / folder / "hyp-test.2016.de" for name, folder in zip(names, folders, strict=True)}
        settings = Settings("de", detokenised=True, lowercase=seed == 1)
        expected = as_table(compare_files(files, work / "raw" / "test.2016.de", settings))
        assert parts[seed - 1] == f"{seed}, the baseline first: score (mean ± 95% interval)\n\n{expected}"
        assert ("case:lc" in expected) == (seed == 1) and "compound-split BLEU: " in expected
    (work / "raw" / "test.2016.de").unlink()
    assert "Paired" not in tool.as_text(work)


def test_what_was_allowed_when_it_was_scored_is_compared(work: Path):
    for name in ("rope-seed2", "sinusoidal-seed2", "rope-seed3"):
        add_run(work, name)
    refs = add_hypotheses(work)
    write(work / "rope" / "hyp-test.2016.de", ["", *refs[1:]])
    assert "seed 1, the baseline first" in tool.as_text(work)


def test_everything_is_there_for_machines_by_seed(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    for name in ("rope-seed2", "sinusoidal-seed2", "rope-seed3"):
        add_run(work, name, bleu4=40.0, buckets=True)
    add_hypotheses(work)
    add_run(work, "rope-seed10", bleu4=39.0)
    monkeypatch.setattr(sys, "argv", ["results", str(work), "--json"])
    tool.main()
    report = json.loads(capsys.readouterr().out)
    assert report["figures"]["rope"]["test: BLEU4"] == {"1": 41.234, "2": 40.0, "3": 40.0, "10": 39.0}
    assert list(report["figures"]["rope"]["test: BLEU4"]) == ["1", "2", "3", "10"]
    assert report["figures"]["sinusoidal"]["test: BLEU4"] == {"2": 40.0}
    assert report["buckets"]["rope"]["test: 11-20 words, 7 sentences"] == {"2": 40.0, "3": 40.0}
    assert report["signatures"] == {"BLEU4": ["tok:as-is"]}
    assert [(each["test_set"], each["seed"]) for each in report["differences"]] == [("test.2016", 1), ("test.2016", 2)]


def report_text(**changes: object) -> str:
    """What score --json writes, with changes."""
    score = {"name": "BLEU", "value": 41.2, "signature": "tok:13a", **changes.pop("score", {})}  # type: ignore[dict-item]
    bucket = {"words": "1-10", "sentences": 5, "score": score, **changes.pop("bucket", {})}  # type: ignore[dict-item]
    return json.dumps({"scores": [score], "buckets": [bucket], "notes": ["x"], "settings": {}, **changes})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", ":1: not what tools.score --json writes: Expecting value"),
        (report_text()[:30], ":1: not what tools.score --json writes: Unterminated string"),
        ("\0" * 50, ":1: not what tools.score --json writes: Expecting value"),
        ("[]", ": not what tools.score --json writes: the report must not be []"),
        ("{}", ": not what tools.score --json writes: no 'scores'"),
        (report_text(scores=None), "scores must not be null"),
        (report_text(scores=["x"]), 'a score must not be "x"'),
        (report_text(score={"value": "41"}), 'value of BLEU must not be "41"'),
        (report_text(score={"value": True}), "value of BLEU must not be true"),
        (report_text(score={"value": float("nan")}), "value of BLEU must be a score, but is nan"),
        (report_text(score={"value": 10**400}), "value of BLEU must be a score, but is 1000000"),
        (report_text().replace("41.2", "1e999"), "value of BLEU must be a score, but is inf"),
        (report_text().replace("41.2", "9" * 5000), "integer string conversion"),
        (report_text(score={"name": 5}), "name of a score must not be 5"),
        (report_text(bucket={"sentences": "5"}), 'sentences of a bucket must not be "5"'),
        (report_text(bucket={"score": None}), "a score must not be null"),
        (report_text(buckets=None), "buckets must not be null"),
        (report_text(notes=[1]), "a note must not be 1"),
        (report_text(settings=[]), "settings must not be []"),
        ("[" * 100_000, "maximum recursion depth exceeded"),
        (b'{"scores": [{"name": "\xe4"}]}', "can't decode byte 0xe4"),
    ],
    ids=itertools.count(),  # some texts are long
)
def test_a_report_that_score_did_not_write_is_named(work: Path, text: str | bytes, reason: str):
    path = work / "rope" / "score-test.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UserError) as caught:
        tool.as_text(work)
    assert str(caught.value).startswith(str(path)) and reason in str(caught.value)


def test_a_report_with_a_byte_order_mark_and_other_line_ends_is_the_same(work: Path):
    path = work / "rope" / "score-test.json"
    path.write_text(report_text())
    plain = tool.as_text(work)
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(json.loads(report_text()), indent=1).replace("\n", "\r\n").encode())
    assert tool.as_text(work) == plain


def test_what_is_no_number_is_null_for_machines(work: Path):
    log = work / "rope" / "train.log"
    log.write_text("\n".join(line for line in LOG.splitlines() if "wall" not in line) + "\n")
    figures = json.loads(tool.as_json(work), parse_constant=pytest.fail)["figures"]
    assert figures["rope"]["training, minutes"] == {"1": None}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda work: (work / "rope" / "score-test.json").write_text("{\n"), "score-test.json:2: not what tools.score"),
        (lambda work: add_run(work, "rope-seed1"), "are the same model and seed"),
    ],
    ids=["broken score", "same seed twice"],
)
def test_a_folder_that_is_no_experiment_is_named(work: Path, change, message: str):
    change(work)
    with pytest.raises(UserError, match=message):
        tool.as_text(work)


def test_the_picture_is_a_png(work: Path):
    pytest.importorskip("matplotlib", reason="the extra `plot` is not installed")
    draw({folder.name: read_train_log(folder / "train.log") for folder in model_folders(work)}, work / "curves.png")
    assert (work / "curves.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("text", "message"), [(None, "there is no training log"), ("nothing\n", "no validation")])
def test_a_log_that_says_nothing_is_named(tmp_path: Path, text: str | None, message: str):
    if text is not None:
        (tmp_path / "train.log").write_text(text)
    with pytest.raises(UserError, match=f"{message}|train.log: {message}"):
        read_train_log(tmp_path / "train.log")


NUMBER = "num_updates 248 | best_loss 8.25"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("loss 8.25 | nll", "loss x8 | nll", "train.log:6: loss must be a number, but is 'x8'"),
        ("wall 150", "wall x", "train.log:7: wall must be a number, but is 'x'"),
        (NUMBER, "num_up", "train.log:6: a validation must have a loss and num_updates: damaged, or cut off"),
        (NUMBER, "num_updates 22026-11-22 03:00:00 | INFO | fairseq", "train.log:6: a validation must have"),
        (NUMBER, "num_updates " + "9" * 5000, "train.log:6: a validation must have"),
        (NUMBER, "num_updates \u0662\u0664\u0668", "train.log:6: a validation must have"),
    ],
    ids=["loss", "wall", "cut", "cut and gone on", "5,000 digits", "other digits"],
)
def test_a_damaged_entry_of_a_log_is_named(tmp_path: Path, old: str, new: str, message: str):
    assert old in LOG
    (tmp_path / "train.log").write_text(LOG.replace(old, new))
    with pytest.raises(UserError, match=message):
        read_train_log(tmp_path / "train.log")


@pytest.mark.parametrize(
    "change",
    [
        lambda log: log.replace("\n", "\r\n").encode(),
        lambda log: b"\xef\xbb\xbf" + log.encode(),
        lambda log: b"saved in /home/\xe4\n" + log.encode() + b"\0" * 50,
        lambda log: (log + "epoch 003 | valid on 'valid' subset | loss 1.5 | num_updates 3").encode(),
    ],
    ids=["other line ends", "byte order mark", "no UTF-8, NULs", "cut in its last line"],
)
def test_what_a_log_says_beside_its_entries_changes_nothing(tmp_path: Path, change):
    (tmp_path / "train.log").write_bytes(change(LOG))
    log = read_train_log(tmp_path / "train.log")
    assert (log.validations, log.parameters, log.seconds) == (
        [Validation(1, 124, 9.5), Validation(2, 248, 8.25)],
        2568192,
        150,
    )


def test_the_best_validation_is_one_with_a_number(tmp_path: Path):
    for losses, best in ((("nan", "8.5"), 8.5), (("9.5", "nan"), 9.5), (("inf", "8.5"), 8.5)):
        text = LOG.replace("loss 9.5", f"loss {losses[0]}").replace("loss 8.25", f"loss {losses[1]}")
        (tmp_path / "train.log").write_text(text)
        assert read_train_log(tmp_path / "train.log").best.loss == best

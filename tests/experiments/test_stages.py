"""results --stages: the columns of the paper's table 4, and what each model reads at other lengths."""

import math
from pathlib import Path

import pytest

from fairseq_rope.experiments.stages import stages_text
from fairseq_rope_data.errors import UserError
from tests.support.masked_runs import masked_runs

BATCH = "epoch 002 | loss 9.2 | ppl 500 | bsz {} | num_updates 200 | train_wall 60 | wall 122\n"


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")[1:-1]]


def test_a_stage_has_length_batch_steps_loss_and_accuracy(tmp_path: Path):
    bits = {"first": {16: 1.0, 32: 2.0}, "second": {16: 0.5, 32: 0.25}, "learned": {16: 1.0, 32: None}}
    work = masked_runs(tmp_path / "work", bits, seeds=1)
    for name, batch in (("first", "1024.3"), ("second", "8")):
        with (work / name / "train.log").open("a") as log:
            log.write(BATCH.format(batch))
    lines = stages_text(work, ["first", "second", "learned"]).splitlines()
    assert cells(lines[0]) == ["", "length", "batch", "steps", "loss", "accuracy"]
    first, second, learned = map(cells, lines[2:5])
    assert first[:4] == ["first", "16", "1,024", "200"] and second[:4] == ["second", "16", "8", "200"]
    # no batch is in its log
    assert learned[:4] == ["learned", "16", "", "200"]
    head = next(i for i, line in enumerate(lines) if "loss at 16" in line)
    assert cells(lines[head]) == ["", "loss at 16", "accuracy at 16", "loss at 32", "accuracy at 32"]
    read = {cells(line)[0]: cells(line)[1:] for line in lines[head + 2 : head + 5]}
    assert read["first"][:2] == first[4:] and read["learned"][2:] == ["", ""]
    # in nats: half a bit fewer
    assert float(first[4]) - float(second[4]) == pytest.approx(0.5 * math.log(2), abs=0.011)
    assert "note on valid-32 of learned: --allow beyond-table: not read, for its table ends" in lines


def test_several_seeds_are_mean_and_deviation(tmp_path: Path):
    text = stages_text(masked_runs(tmp_path / "work", {"rope": {16: 1.0}}, seeds=2))
    row = cells(text.splitlines()[2])
    assert row[0] == "rope (2 seeds)" and row[1] == "16" and " ± 0.00" in row[4]


def test_of_several_texts_the_first_is_shown_and_it_is_said(tmp_path: Path):
    work = masked_runs(tmp_path / "work", {"rope": {16: 1.0, 32: 2.0}}, seeds=1)
    before = stages_text(work)
    for length in (16, 32):
        report = (work / "rope" / f"score-valid-{length}.json").read_text().replace('"valid"', '"test"')
        # of another length's numbers
        (work / "rope" / f"score-test-{48 - length}.json").write_text(
            report.replace(f'"length": {length}', f'"length": {48 - length}')
        )
    assert stages_text(work) == f"{before}\nnote: all is of valid; there are scores of test too"


def test_the_steps_of_a_seed_that_is_behind_are_in_no_mean(tmp_path: Path):
    work = masked_runs(tmp_path / "work", {"rope": {16: 1.0}}, seeds=2)
    log = work / "rope-seed2" / "train.log"
    log.write_text(log.read_text().partition("epoch 002")[0])
    assert cells(stages_text(work).splitlines()[2])[3] == "200 (1 of 2)"


def test_without_masked_tokens_there_are_no_stages(tmp_path: Path):
    work = masked_runs(tmp_path / "work", {"rope": {16: 1.0}}, seeds=1)
    (work / "rope" / "score-valid-16.json").unlink()
    with pytest.raises(UserError) as error:
        stages_text(work)
    assert str(error.value) == f"--stages: no model in {work} has scores of masked tokens, which tools.masked writes"

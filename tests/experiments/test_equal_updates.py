"""Models after equally many updates: which updates, whose seeds, and what a difference of them is."""

from pathlib import Path

import pytest

from fairseq_rope.experiments.equal_updates import equal_updates_texts
from fairseq_rope.experiments.results import results_text
from fairseq_rope.experiments.seed_differences import t_interval
from fairseq_rope.experiments.work_folder import find_models
from tests.support.runs import cells


def add_curve(work: Path, name: str, losses: list[float], *, bleu: bool = False, every: int = 100) -> Path:
    folder = work / name
    folder.mkdir(parents=True)
    lines = ["num. shared model params: 9 (num. trained: 9)"]
    for i, loss in enumerate(losses, start=1):
        score = f" | bleu {20 - loss}" if bleu else ""
        lines.append(f"epoch 001 | valid on 'valid' subset | loss {loss}{score} | num_updates {i * every} | x 1")
    (folder / "train.log").write_text("\n".join([*lines, ""]))
    return folder


def tables(work: Path, *names: str) -> list[list[list[str]]]:
    texts = equal_updates_texts(find_models(work, names))
    return [[cells(line) for line in text.split("\n\n")[1].splitlines() if "---" not in line] for text in texts]


def test_rows_are_updates_after_which_all_seeds_of_both_were_validated(tmp_path: Path):
    add_curve(tmp_path, "rope", [9, 8, 7, 6, 5])
    add_curve(tmp_path, "rope-seed2", [9, 8, 7, 6.5])
    add_curve(tmp_path, "sinusoidal", [9, 8.5, 8, 7])
    add_curve(tmp_path, "sinusoidal-seed2", [9, 8, 8, 7.5, 6])
    add_curve(tmp_path, "sinusoidal-seed3", [1])  # of one model alone
    (table,) = tables(tmp_path, "rope", "sinusoidal")
    assert [row[0] for row in table] == ["", "100", "200", "300", "400"]
    assert table[0][1:] == ["rope", "sinusoidal", "sinusoidal less rope"]
    mean, low, high = t_interval([0.5, 0])
    assert table[2][1:] == ["8.000", "8.250", f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]"]
    assert table[4][1:3] == ["6.250", "7.250"]
    assert "\n\nValidation loss after equal updates" in results_text(tmp_path, ["rope", "sinusoidal"])


@pytest.mark.parametrize("count", [3, 8, 9, 25])
def test_a_long_course_is_thinned_and_keeps_its_end(tmp_path: Path, count: int):
    for name in ("rope", "sinusoidal"):
        add_curve(tmp_path, name, [float(i) for i in range(count)])
    (table,) = tables(tmp_path)
    rows = [int(row[0].replace(",", "")) for row in table[1:]]
    assert len(rows) == min(count, 8) and rows[-1] == 100 * count and rows == sorted(set(rows))


def test_one_seed_has_no_interval_and_bleu_a_table_of_its_own(tmp_path: Path):
    add_curve(tmp_path, "rope", [9, 8, 7], bleu=True)
    add_curve(tmp_path, "sinusoidal", [9.5, 9, 8], bleu=True)
    loss, bleu = tables(tmp_path)
    assert [row[3] for row in loss[1:]] == ["+0.500", "+1.000", "+1.000"]
    assert [row[3] for row in bleu[1:]] == ["-0.50", "-1.00", "-1.00"] and bleu[3][1] == "13.00"


def test_fine_tunings_of_one_pretrained_model_are_one_value(tmp_path: Path):
    for seed in ("", "-seed2"):
        for name, loss in (("rope", 7.0), ("bert", 8.0)):
            folder = add_curve(tmp_path, f"{name}{seed}", [9, 8, loss])
            (folder / "pretrained").write_text(f"runs/mlm/{name}\n")
    (table,) = tables(tmp_path, "rope", "bert")
    assert table[3] == ["300", "7.000", "8.000", "+1.000"]


def test_columns_that_do_not_subtract_say_that_the_difference_is_of_pretrainings(tmp_path: Path):
    # (2 + 2 - 1) / 3, but of the means of two pre-trainings (2 - 1) / 2
    for seed, (loss, begun) in enumerate(((9.0, "a"), (9.0, "a"), (6.0, "b")), 1):
        add_curve(tmp_path, f"rope-seed{seed}", [9, 8, 7])
        (add_curve(tmp_path, f"bert-seed{seed}", [9, 8, loss]) / "pretrained").write_text(begun)
    (text,) = equal_updates_texts(find_models(tmp_path, ["rope", "bert"]))
    assert text.startswith(
        "Validation loss after equal updates, mean over the seeds of both; the difference is the mean of the means of "
        "each of 2 pre-trainings:\n"
    )
    last = cells(text.splitlines()[-1])
    assert last[:3] == ["300", "7.000", "8.000"] and last[3].startswith("+0.500 [")


def test_a_seed_that_diverged_is_left_out_and_the_table_says_so(tmp_path: Path):
    for seed, last in (("", 8.0), ("-seed2", 7.0), ("-seed3", 1.0)):
        add_curve(tmp_path, f"rope{seed}", [9, 8, 7, 6])
        add_curve(tmp_path, f"bert{seed}", [9, *[float("nan") if last == 1 else 9] * 2, last])
    (text,) = equal_updates_texts(find_models(tmp_path, ["rope", "bert"]))
    assert text.startswith("Validation loss after equal updates, mean over 2 of 3 seeds of both:\n")
    last = cells(text.splitlines()[-1])
    assert last[:3] == ["400", "6.000", "7.500"]
    assert last[3].startswith("+1.500 [") and last[3].endswith("] (2 of 3)")


def test_a_loss_that_is_written_as_zero_has_no_minus(tmp_path: Path):
    for seed in ("", "-seed2"):
        add_curve(tmp_path, f"rope{seed}", [9, 8, 7.0002])
        add_curve(tmp_path, f"bert{seed}", [9, 8.0002, 7])
    (table,) = tables(tmp_path, "rope", "bert")
    assert [row[3] for row in table[2:]] == ["+0.000 [+0.000, +0.000]", "0.000 [0.000, 0.000]"]


def test_no_table_without_a_course(tmp_path: Path):
    add_curve(tmp_path, "rope", [9, 8, 7, 6])
    add_curve(tmp_path, "short", [9, 8])
    add_curve(tmp_path, "shifted", [9, 8, 7, 6], every=90)
    add_curve(tmp_path, "failed", [9, float("nan"), float("nan"), 6])
    (tmp_path / "majority").mkdir()
    (tmp_path / "majority" / "baseline.txt").write_text("the commonest class\n")
    (tmp_path / "same").mkdir()
    (tmp_path / "same" / "train.log").symlink_to(tmp_path / "rope" / "train.log")
    for name in ("short", "shifted", "failed", "majority", "same"):
        assert tables(tmp_path, "rope", name) == []

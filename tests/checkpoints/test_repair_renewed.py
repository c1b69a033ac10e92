"""`repair`: copies that fairseq had not yet renewed when it was killed, checkpoint_best.pt and checkpoint_last.pt."""

from pathlib import Path

import pytest

from fairseq_rope.checkpoints.health import examine
from fairseq_rope.checkpoints.repair import repair
from tests.support.save_dirs import BEST, LAST, cut, digest, digests, put, put_earlier


def test_a_last_checkpoint_that_fairseq_had_not_yet_renewed_gives_way_to_the_newest(tmp_path: Path):
    put(tmp_path / "checkpoint2.pt", 40)
    put_earlier(tmp_path / LAST, 20)
    before = digests(tmp_path)
    assert list(repair(tmp_path)) == [
        f"renamed {tmp_path / LAST} to {LAST}.older, which was at 20 updates",
        f"made {tmp_path / LAST} from checkpoint2.pt at 40 updates",
    ]
    assert before < digests(tmp_path) and examine(tmp_path / LAST).updates == 40
    assert list(repair(tmp_path)) == []


def killed_before_best(folder: Path, best: float) -> None:
    """As fairseq leaves it when it is killed after its first file of a validation."""
    put_earlier(folder / BEST, 20)
    put_earlier(folder / LAST, 20)
    put(folder / "checkpoint_1_40.pt", 40, best=best)


def test_the_best_checkpoint_that_fairseq_had_not_yet_renewed_gives_way_to_the_newest(tmp_path: Path):
    killed_before_best(tmp_path, best=3.25)
    before = digests(tmp_path)
    assert list(repair(tmp_path)) == [
        f"renamed {tmp_path / BEST} to {BEST}.older, which was at 20 updates",
        f"made {tmp_path / BEST} from checkpoint_1_40.pt at 40 updates",
        f"renamed {tmp_path / LAST} to {LAST}.older, which was at 20 updates",
        f"made {tmp_path / LAST} from checkpoint_1_40.pt at 40 updates",
    ]
    assert before < digests(tmp_path) and digest(tmp_path / BEST) == digest(tmp_path / "checkpoint_1_40.pt")
    assert list(repair(tmp_path)) == []


def test_a_best_checkpoint_that_is_missing_or_broken_is_made_of_a_newest_that_is_the_best(tmp_path: Path):
    killed_before_best(tmp_path, best=3.25)
    (tmp_path / BEST).unlink()
    assert next(iter(repair(tmp_path))) == f"made {tmp_path / BEST} from checkpoint_1_40.pt at 40 updates"
    cut(tmp_path / BEST)
    put_earlier(tmp_path / LAST, 20)
    list(repair(tmp_path))
    assert examine(tmp_path / BEST).updates == 40 and (tmp_path / f"{BEST}.broken").exists()


@pytest.mark.parametrize("best", [3.0, None], ids=["not as good", "not known"])
def test_the_best_checkpoint_stays_where_the_newest_is_not_better(best: float | None, tmp_path: Path):
    killed_before_best(tmp_path, best=best)
    list(repair(tmp_path))
    assert examine(tmp_path / BEST).updates == 20 and examine(tmp_path / LAST).updates == 40

"""Runs in several folders are one experiment where their data is the same, and refused where it is not."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fairseq_rope.experiments.data import results_json
from fairseq_rope.experiments.results import chosen_results_text, results_text
from fairseq_rope.page.contents import page_contents
from fairseq_rope_data.errors import UserError
from tests.support.experiments import experiment

READERS: dict[str, Callable[[list[Path]], object]] = {
    "results": results_text,
    "results --json": results_json,
    "results --statistics": lambda works: chosen_results_text(works, (), ["test: BLEU"]),
    "report": page_contents,
}
each_reader = pytest.mark.parametrize("read", READERS.values(), ids=READERS)


def entry(work: Path, name: str, sha256: str) -> None:
    """Add a file to the manifest of a work folder."""
    manifest = work / "manifest.json"
    facts = json.loads(manifest.read_text())
    facts["files"][name] = {"bytes": 1, "lines": 1, "sha256": sha256}
    manifest.write_text(json.dumps(facts))


def test_seeds_in_two_folders_are_those_of_one(tmp_path: Path):
    errors = {"rope": 0.2, "sinusoidal": 0.5}
    both, one = (experiment(tmp_path / name, errors) for name in ("both", "one"))
    other = tmp_path / "other"
    for name in ("raw", "text", "manifest.json", "rope-seed2", "sinusoidal-seed2"):
        (other / name).parent.mkdir(exist_ok=True)
        (one / name).rename(other / name) if "seed" in name else copy(one / name, other / name)
    assert results_text([one, other]) == results_text(both)
    assert json.loads(results_json([other, one])) == json.loads(results_json(both))


def copy(source: Path, target: Path) -> None:
    if source.is_file():
        target.write_bytes(source.read_bytes())
        return
    target.mkdir()
    for path in source.iterdir():
        copy(path, target / path.name)


@each_reader
def test_folders_with_other_references_are_refused(tmp_path: Path, read: Callable[[list[Path]], object]):
    one = experiment(tmp_path / "one", {"rope": 0.2})
    other = experiment(tmp_path / "other", {"sinusoidal": 0.5}, references=[f"ein Satz {i}" for i in range(9)])
    with pytest.raises(UserError) as error:
        read([one, other])
    assert str(error.value) == (
        f"raw/test.de of {one} and {other} is not the same: models are compared on the same data only"
    )


@pytest.mark.parametrize("name", ["data-bin/dict.de.txt", "data-bin/train.en-de.de.bin", "raw/new.de"])
def test_the_same_text_in_other_pieces_and_a_file_that_one_lacks_are_refused(tmp_path: Path, name: str):
    works = [experiment(tmp_path / model, {model: 0.3}) for model in ("rope", "sinusoidal")]
    if name.startswith("data-bin/"):
        entry(works[0], name, "b" * 64)
    entry(works[1], name, "a" * 64)
    with pytest.raises(UserError, match=f"^{name} of .* is not the same: models are compared on the same data only$"):
        results_text(works)
    entry(works[0], name, "a" * 64)
    assert "rope" in results_text(works)


@each_reader
def test_a_folder_whose_data_nothing_tells_is_named(tmp_path: Path, read: Callable[[list[Path]], object]):
    works = [experiment(tmp_path / model, {model: 0.3}) for model in ("rope", "sinusoidal")]
    (works[1] / "manifest.json").unlink()
    with pytest.raises(UserError) as error:
        read(works)
    assert str(error.value) == (
        f"{works[1]} has no manifest.json, which would tell its data: models of several folders are compared on the "
        "same data only"
    )
    assert "rope" in results_text(works[0]) and "sinusoidal" in results_text(works[1])


def test_text_that_was_given_in_pieces_is_told_in_the_place_of_raw_text(tmp_path: Path):
    work = experiment(tmp_path / "work", {"rope": 0.2})
    (work / "manifest.json").write_text('{"files": {}}')
    assert page_contents([work])["data"].rows == []
    entry(work, "text/train.de", "a" * 64)
    assert [row[0].text for row in page_contents([work])["data"].rows] == ["text/train.de"]

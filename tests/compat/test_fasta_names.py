"""FASTA data is read as before, and a file's name cannot run anything."""

import shutil
from pathlib import Path

import pytest
from fairseq.data import data_utils, indexed_dataset
from fairseq.data.fasta_dataset import FastaDataset

SEQUENCES = ">one\nACDE\nFG\n>two\nHIK\n"


@pytest.fixture
def _tqdm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """fairseq calls the command `tqdm`, which not every environment has on its PATH."""
    if not shutil.which("tqdm"):
        (tmp_path / "tqdm").write_text("#!/bin/sh\ncat\n")
        (tmp_path / "tqdm").chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")


@pytest.mark.usefixtures("_tqdm")
@pytest.mark.parametrize("name", ["train", "the train set's"])
def test_sequences_are_found_whatever_the_name(name: str, tmp_path: Path):
    (tmp_path / f"{name}.fasta").write_text(SEQUENCES)
    data = FastaDataset(str(tmp_path / name))
    assert [data[i] for i in range(len(data))] == [(">one", "ACDEFG"), (">two", "HIK")]
    assert data.sizes.tolist() == [6, 3]


@pytest.mark.usefixtures("_tqdm")
@pytest.mark.parametrize("lang", ["$(touch marker)", "`touch marker`", ";touch marker;", "'$(touch marker)'"])
def test_a_language_that_is_taken_from_a_file_name_does_not_run(
    lang: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / f"train.{lang}-de.{lang}.fasta").write_text(SEQUENCES)
    source, target = data_utils.infer_language_pair(str(folder))
    assert (source, target) == (lang, "de")
    prefix = str(folder / f"train.{source}-{target}.{source}")
    assert indexed_dataset.infer_dataset_impl(prefix) == "fasta"
    assert len(FastaDataset(prefix)) == 2
    assert not (tmp_path / "marker").exists()

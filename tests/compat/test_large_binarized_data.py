"""Addresses in binarized data that workers' files were merged into, past 2 GiB."""

from pathlib import Path

import numpy as np
from fairseq.data.indexed_dataset import MMapIndexedDataset, MMapIndexedDatasetBuilder

SIZES = [
    5,
    700_000_000,
    900_000_000,
    3,
    700_000_000,
    900_000_000,
    3,
]  # tokens of two bytes; the last six from two files


def builder(path: Path, sizes: list[int]) -> MMapIndexedDatasetBuilder:
    made = MMapIndexedDatasetBuilder(f"{path}.bin", dtype=np.uint16)
    made._sizes = sizes  # as if items of these sizes had been added: only the index is looked at here
    return made


def test_a_sentence_past_2_gib_is_found(tmp_path: Path):
    builder(tmp_path / "worker", SIZES[1:4]).finalize(f"{tmp_path / 'worker'}.idx")
    merged = builder(tmp_path / "all", SIZES[:1])
    for _ in range(2):
        merged.merge_file_(str(tmp_path / "worker"))
    merged.finalize(f"{tmp_path / 'all'}.idx")
    index = MMapIndexedDataset.Index(f"{tmp_path / 'all'}.idx")
    addresses = [int(index[i][0]) for i in range(len(index))]
    assert addresses == [2 * sum(SIZES[:i]) for i in range(len(SIZES))]

"""Binarized data above 2 GiB.

Symptom: with numpy 2, `fairseq-preprocess --workers` writes the addresses of sentences modulo 2^32, and a sentence is
read at another's place, or before the file's start. The sizes that it takes from a worker's file are numpy's int32, and
since numpy 2 (NEP 50) their sum is one too.
fairseq 0.12.2 and main; can go when `MMapIndexedDatasetBuilder.merge_file_` takes over Python's integers.
"""

from collections.abc import Callable
from typing import Any

from fairseq.data.indexed_dataset import MMapIndexedDatasetBuilder

from fairseq_rope.compat.wrapping import wrap


def count_bytes_without_limit() -> None:
    """Sum up sizes as Python's integers; for fairseq-preprocess with `--user-dir`."""
    wrap(MMapIndexedDatasetBuilder, "merge_file_", _merge_with_python_integers)


def _merge_with_python_integers(merge: Callable[..., None], builder: Any, another_file: str) -> None:
    before = len(builder._sizes)
    merge(builder, another_file)
    builder._sizes[before:] = map(int, builder._sizes[before:])

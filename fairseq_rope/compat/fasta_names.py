"""File names of a data folder that a shell would run: fairseq reads FASTA files with shell commands.

Symptom: a folder with `train.$(touch owned)-de.$(touch owned).fasta` runs what stands in the parentheses, for languages
and the kind of data are taken from file names, and fairseq puts the path into a command line unquoted.
fairseq 0.12.2 and main; can go when fairseq quotes the path in `FastaDataset._build_index`.
"""

import shlex
from collections.abc import Callable
from typing import Any

from fairseq.data.fasta_dataset import FastaDataset

from fairseq_rope.compat.wrapping import wrap


def quote_fasta_names() -> None:
    """Quote the path that goes to the shell; fairseq appends `.fasta` to it, which needs no quotes."""
    wrap(FastaDataset, "_build_index", _build_index_quoted)


def _build_index_quoted(build: Callable[..., Any], dataset: Any, path: str) -> Any:
    return build(dataset, shlex.quote(path))

"""Damaged BPE codes are told by file and line before anything is loaded."""

from pathlib import Path

import pytest

from fairseq_rope.tools._common import ToolError
from fairseq_rope.tools.bpe_codes import check_codes
from fairseq_rope.tools.translator import Translator
from tests.trained import Trained

BAD = {
    "three symbols": (b"#version: 0.2\na b\na b c\n", ":3: a line of BPE codes must be two symbols, but is 'a b c'"),
    "one symbol": (b"a b\nab\n", ":2: a line of BPE codes must be two symbols, but is 'ab'"),
    "empty line": (b"a b\n\nc d\n", ":2: a line of BPE codes must be two symbols, but is ''"),
    "carriage return": (b"a b\rc\nc d\n", ":2: a line of BPE codes must be two symbols, but is 'c'"),
    "no UTF-8": (b"a b\n\xff b\n", ":2: not valid UTF-8: invalid start byte"),
    "no version": (b"#version: x\na b\n", ":1: a version must be as in '#version: 0.2', but is '#version: x'"),
    "empty": (b"", " holds no BPE codes"),
    "version only": (b"#version: 0.2\n", " holds no BPE codes"),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD.keys())
def test_damaged_codes_are_told(trained: Trained, tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "codes").write_bytes(content)
    options = [str(tmp_path / "codes") if word == str(trained.codes) else word for word in trained.options()]
    with pytest.raises(ToolError) as error:
        Translator.from_args(options)
    assert str(error.value) == f"{tmp_path / 'codes'}{message}"


@pytest.mark.parametrize("content", [b"a b\n", b"#version: 0.2\na b\nc d", b"a b\r\nc d\r\n", "\u2028 b\n".encode()])
def test_what_subword_nmt_takes_passes(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "codes").write_bytes(content)
    check_codes(tmp_path / "codes")

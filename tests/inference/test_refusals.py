"""`translate` names in one line what it cannot use: options, missing files, damaged ones, and searches that fail."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from fairseq_rope.inference import files
from fairseq_rope.inference.translator import Translator
from fairseq_rope.tools import translate
from fairseq_rope_data.errors import UserError
from tests.support.trained import Trained
from tests.support.translators import load


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--path", "/no/model.pt"], "--path /no/model.pt: there is no such file"),
        (["--bpe-codes", "/no/codes"], "--bpe-codes /no/codes: there is no such file"),
        (["--input", "/no/text"], "--input /no/text: there is no such file"),
        (["--input", "/"], "--input /: it is a folder"),
        (["--output", "/"], "--output must be a file, but / is a folder"),
        (["--path", "/no/a:/no/b"], "--path /no/a: there is no such file"),
        (["-t", "xx"], "has no dictionary dict.xx.txt (--target-lang xx)"),
        (["--beam", "0"], "--beam must be at least 1, but is 0"),
        (["--buffer-size", "-1"], "--buffer-size must be at least 0, but is -1"),
        (["--temperature", "0"], "--temperature must be above 0, but is 0.0"),
        (["--max-len-b", "0"], "2 x --max-len-a + --max-len-b must be at least 1 (--min-len), but is 0"),
        (["--buffer-size", "9" * 30], "--buffer-size must be a number of up to 2147483647, but is 999"),
        (["--seed", "9" * 30], "--seed must be a number of up to 2147483647, but is 999"),
        (["--max-len-a", "nan"], "--max-len-a must be a number of up to 2147483647, but is nan"),
        (["--lenpen", "inf"], "--lenpen must be a number of up to 2147483647, but is inf"),
        (["--max-source-positions", "0"], "--max-source-positions must be at least 2, but is 0"),
        (["--post-process", "xx"], "--post-process must be one of subword_nmt, "),
        (["--post-process", "sentencepiece"], "--post-process sentencepiece cannot be used with --bpe subword_nmt"),
        (["--fp16", "--bf16"], "Cannot combine --fp16 and"),
        (["--user-dir", "/no"], "--user-dir cannot be imported: /no"),
        (["--path", "x:"], "--path x: there is no such file"),
        (["--replace-unk"], "--replace-unk cannot be used with translate: "),
        (["--prefix-size", "2"], "--prefix-size cannot be used with translate: there is no reference"),
        (["--model-overrides", "x="], "--model-overrides must be a Python dictionary of options, but is 'x='"),
        (["--sampling-topk", "5"], "--sampling-topk requires --sampling"),
    ],
)
def test_bad_options_and_missing_files_get_one_clear_line(trained: Trained, options: list[str], message: str) -> None:
    with pytest.raises(UserError) as error:
        load(trained, *options)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--path must name a checkpoint"),
        (["--path", "CHECKPOINT", "--bpe", "subword_nmt"], "--bpe subword_nmt needs --bpe-codes"),
        (["--path", "CHECKPOINT", "--bpe", "sentencepiece"], "--bpe sentencepiece needs --sentencepiece-model"),
    ],
)
def test_an_option_that_is_not_given_is_named(trained: Trained, options: list[str], message: str) -> None:
    options = [str(trained.checkpoint) if word == "CHECKPOINT" else word for word in options]
    with pytest.raises(UserError, match=message):
        Translator.from_args([str(trained.data), *options])


def test_a_missing_data_folder_is_named(trained: Trained) -> None:
    with pytest.raises(UserError, match="DATA must be a folder of fairseq-preprocess, but /no/data is not a folder"):
        Translator.from_args(["/no/data", *trained.options()[1:]])


def test_an_override_that_is_no_rate_is_named(trained: Trained) -> None:
    with pytest.raises(UserError, match=r"--dropout must be in \[0, 1\], but is 'x'"):
        load(trained, "--model-overrides", "{'dropout': 'x'}")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--diverse-beam-groups", "3"], "DiverseBeamSearch requires --beam to be divisible"),
        (["--sampling", "--sampling-topk", "100000"], "selected index k out of range"),
        (["--temperature", "1e-300"], "200 < 200"),
        (["--lenpen", "1e9"], "Numerical result out of range"),
    ],
)
def test_a_search_that_fails_is_one_line(trained: Trained, options: list[str], reason: str) -> None:
    translator, _ = load(trained, *options)
    with pytest.raises(UserError, match=rf"^the search with \S+\.pt failed, by its options, .*{reason}"):
        list(translator.translate(trained.lines[:2]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda codes: b"", " holds no BPE codes"),
        (lambda codes: b"\0" * 50, ":1: a line of BPE codes must be two symbols"),
        (lambda codes: codes + b"one\n", r":\d+: a line of BPE codes must be two symbols, but is 'one'"),
        (lambda codes: codes + b"a b c\n", r":\d+: a line of BPE codes must be two symbols, but is 'a b c'"),
        (lambda codes: codes + b"a \rb\n", r":\d+: a line of BPE codes must be two symbols, but is"),
        (lambda codes: codes + b"\xe4 b\n", r":\d+: not valid UTF-8, byte 1 is 0xe4"),
        (lambda codes: codes.replace(b"0.2", b"9.9", 1), ":1: must be one of #version: 0.1, #version: 0.2, but is"),
        (lambda codes: b"\xef\xbb\xbf" + codes, ": it must begin with its first line, but has a byte order mark"),
    ],
    ids=[
        "empty",
        "NULs",
        "one piece",
        "three",
        "lone CR",
        "not UTF-8",
        "version",
        "byte order mark",
    ],
)
def test_damaged_codes_are_named(
    trained: Trained, tmp_path: Path, change: Callable[[bytes], bytes], message: str
) -> None:
    (tmp_path / "codes").write_bytes(change(trained.codes.read_bytes()))
    with pytest.raises(UserError, match=f"{tmp_path}/codes{message}"):
        load(trained, "--bpe-codes", str(tmp_path / "codes"))


def test_a_dictionary_with_a_byte_order_mark_is_named(trained: Trained, tmp_path: Path) -> None:
    for lang, mark in (("en", b""), ("de", b"\xef\xbb\xbf")):
        (tmp_path / f"dict.{lang}.txt").write_bytes(mark + (trained.data / f"dict.{lang}.txt").read_bytes())
    with pytest.raises(UserError, match=r"dict\.de\.txt:1: must begin with a word, but has a byte order mark"):
        Translator.from_args([str(tmp_path), *trained.options()[1:]])


def test_a_colon_where_fairseq_splits_is_named(trained: Trained, tmp_path: Path) -> None:
    (tmp_path / "a:b").symlink_to(trained.data)
    (tmp_path / "c:d.pt").symlink_to(trained.checkpoint)
    splits = "has a colon, where fairseq splits it: rename or link it"
    with pytest.raises(UserError, match=f"DATA {tmp_path}/a:b {splits}"):
        Translator.from_args([f"{tmp_path}/a:b", *trained.options()[1:]])
    for path in (f"{tmp_path}/c:d.pt", f"{trained.checkpoint}:{tmp_path}/c:d.pt"):
        with pytest.raises(UserError, match=f"--path {path} {splits}|--path {tmp_path}/c: there is no such file"):
            load(trained, "--path", path)
    with pytest.raises(UserError, match=r"DATA must be a folder .* but /no/data of /no/data:/no/more is not a folder"):
        Translator.from_args(["/no/data:/no/more", *trained.options()[1:]])


def test_a_malicious_checkpoint_is_refused_and_nothing_runs(trained: Trained, tmp_path: Path) -> None:
    victim, bad = tmp_path / "victim", tmp_path / "bad.pt"
    torch.save({"model": {}, "args": _Malicious(victim)}, bad)
    with pytest.raises(UserError, match=r"bad.pt: it wants to run \S*mkdir.*refused"):
        load(trained, "--path", str(bad))
    assert not victim.exists()


class _Malicious:
    """Makes a folder when it is unpickled."""

    def __init__(self, victim: Path) -> None:
        self.victim = victim

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.victim),)


def test_a_checkpoint_that_does_not_fit_the_dictionaries_is_told(trained: Trained, tmp_path: Path) -> None:
    for lang in ("en", "de"):
        text = (trained.data / f"dict.{lang}.txt").read_text(encoding="utf-8")
        (tmp_path / f"dict.{lang}.txt").write_text(f"{text}another 1\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"does not fit DATA .*size mismatch"):
        Translator.from_args([str(tmp_path), *trained.options()[1:]])


def test_an_unwritable_output_is_told_before_the_model_is_loaded(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "Translator", None)
    monkeypatch.setattr(sys, "argv", ["translate", *trained.options(), "--output", str(tmp_path / "no" / "out")])
    with pytest.raises(UserError, match="there is no folder"):
        translate.main()


@pytest.mark.parametrize("option", ["--input", "--path", "--bpe-codes"])
def test_an_output_that_is_read_is_refused(trained: Trained, tmp_path: Path, option: str) -> None:
    original = {"--path": trained.checkpoint, "--bpe-codes": trained.codes}.get(option, Path(__file__))
    read, link = tmp_path / "read", tmp_path / "link"
    read.write_bytes(original.read_bytes())
    link.symlink_to(read)
    for output in (read, link):
        with pytest.raises(UserError, match=f"^{output} would be written in the place of {read}, which is read$"):
            load(trained, option, str(read), "--output", str(output))


def test_an_output_that_is_a_dictionary_is_refused(trained: Trained, tmp_path: Path) -> None:
    for lang in ("en", "de"):
        read = tmp_path / f"dict.{lang}.txt"
        read.write_bytes((trained.data / read.name).read_bytes())
    with pytest.raises(UserError, match=f"^{read} would be written in the place of {read}, which is read$"):
        Translator.from_args([str(tmp_path), *trained.options()[1:], "--output", str(read)])

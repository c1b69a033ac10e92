"""`translate` gives one line for each line, in order, and for ordinary text what fairseq-interactive gives."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairseq_rope.inference.translator import Translator
from tests.support import ROOT
from tests.support.trained import Trained, call
from tests.support.translators import Notes, load

TOOL = "fairseq_rope.tools.translate"
NASTY = {
    "empty": b"",
    "blank": b" \t \xc2\xa0",
    "5,000 tokens": b"Anna sees a dog " * 1250,
    "one word of 9,000 letters": b"ab" * 4500,
    "invalid UTF-8": b"\xff\xfeAnna \xc3\x28 sees \xe2\x82",
    "control characters": b"\x00Anna\x0b sees\x0c a\x1c dog\x7f \x1b[1m today\r.",
    "line ends of Unicode": "Anna\x85 sees\u2028 a\u2029 dog".encode(),
    "marks of BPE": b"a@@ b @@ c@@",
    "marks of Moses": b"x @-@ y &amp;apos; &#10; &#124; | [ ] < >",
    "marks of the dictionary": b"<s> </s> <pad> <unk> madeupword0000",
    "marks of sentencepiece": "\u2581Anna\u2581 \u2581".encode(),
    "unknown scripts": "Привет 世界 مرحبا \U0001f600\u200d\U0001f525".encode(),
    "combining marks": "e\u0301\u0323".encode() * 40,
    "format characters": "\u200b\ufeff\u202e\u00ad".encode(),
    "punctuation": b"...'''\"\"\"---///\\\\\\%$`" * 30,
}


@pytest.fixture(scope="module")
def translator(trained: Trained) -> Translator:
    return load(trained)[0]


@pytest.fixture(scope="module", params=["fairseq", "ctranslate2"])
def engine(request: pytest.FixtureRequest, exported: Path) -> tuple[str, ...]:
    """The options for each engine."""
    return () if request.param == "fairseq" else ("--engine", "ctranslate2", "--path", str(exported))


@pytest.fixture(scope="module")
def either(trained: Trained, engine: tuple[str, ...]) -> Translator:
    return load(trained, *engine)[0]


def test_the_command_line_gives_what_fairseq_interactive_gives(trained: Trained) -> None:
    lines = "".join(f"{line}\n" for line in trained.lines[:40]).encode()
    options = [*trained.options(), "--beam", "4", "--lenpen", "0.6"]
    stock = call("fairseq_cli.interactive", *options, "--user-dir", str(ROOT / "fairseq_rope"), stdin=lines)
    expected = [line.split("\t")[2] for line in stock.stdout.decode().splitlines() if line.startswith("D-")]
    ours = call(TOOL, *options, stdin=lines)
    assert ours.stdout.decode().splitlines() == expected
    assert len(set(expected)) > 20  # the model does read its input
    assert b"UserWarning" not in ours.stderr and b"translate: 40 lines in" in ours.stderr


def test_a_file_of_nasty_lines_shifts_nothing_and_is_told_on_stderr(
    trained: Trained, translator: Translator, tmp_path: Path
) -> None:
    ordinary = trained.lines[: len(NASTY)]
    source, output = tmp_path / "in", tmp_path / "out"
    # the last line has no line end
    source.write_bytes(
        b"\n".join(b"%b\n%b" % (line.encode(), bad) for line, bad in zip(ordinary, NASTY.values(), strict=True))
    )
    done = call(TOOL, *trained.options(), "--beam", "2", "--input", str(source), "--output", str(output))
    result = output.read_bytes().decode().split("\n")
    assert done.stdout == b"" and {path.name for path in tmp_path.iterdir()} == {"in", "out"}
    assert len(result) == 2 * len(NASTY) + 1 and result[-1] == ""
    assert result[0:-1:2] == list(translator.translate(ordinary))
    numbers = {name: 2 * (i + 1) for i, name in enumerate(NASTY)}
    stderr = done.stderr.decode()
    assert f"line {numbers['invalid UTF-8']}: invalid UTF-8 replaced by U+FFFD: 4\n" in stderr
    assert f"line {numbers['5,000 tokens']}: cut from " in stderr
    assert f"line {numbers['unknown scripts']}: all its tokens are unknown" in stderr
    assert "line 1:" not in stderr and "Traceback" not in stderr


@pytest.mark.parametrize("name", NASTY)
def test_a_nasty_line_gives_exactly_one_line(either: Translator, name: str) -> None:
    before, (after,) = list(either.translate([NASTY[name]])), either.translate(["Anna sees a dog."])
    assert len(before) == 1 and len(before[0].splitlines()) <= 1
    assert after  # and leaves nothing behind that breaks the next


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=60) | st.text(max_size=40).map(lambda text: text.encode("utf-8")), max_size=6))
def test_random_lines_keep_their_number(either: Translator, lines: list[bytes]) -> None:
    result = list(either.translate(lines))
    assert len(result) == len(lines)
    assert all(len(text.splitlines()) <= 1 for text in result)


def test_both_engines_report_the_same_of_a_nasty_line(trained: Trained, exported: Path) -> None:
    reports = []
    for options in ((), ("--engine", "ctranslate2", "--path", str(exported))):
        nasty, notes = load(trained, *options)
        texts = [text != "" for text in nasty.translate(NASTY.values())]
        reports.append((texts, sorted(note for note in notes if "its translation" not in note[1])))
    assert reports[0] == reports[1]
    assert len(reports[0][1]) >= 8


def test_an_empty_line_stays_empty_without_a_call_of_the_model(
    either: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(either.engine, "translate", None)
    assert list(either.translate([b"", b" \r\n", b"\x00\n"])) == ["", "", ""]
    assert list(either.translate([])) == []


def test_a_line_over_the_limit_is_cut_there_and_told(trained: Trained, engine: tuple[str, ...]) -> None:
    translator, notes = load(trained, *engine, "--max-source-positions", "20")
    long, short = translator.translate([b"Anna " * 5000, b"Anna sees a dog."])
    assert long and short
    assert [number for number, _ in notes] == [1, 1]
    assert notes[0][1].startswith("cut from 24,999 to 640 characters")
    assert "to 19 tokens (--max-source-positions" in notes[1][1]


def test_a_line_over_max_tokens_is_cut_not_refused(trained: Trained, engine: tuple[str, ...]) -> None:
    translator, notes = load(trained, *engine, "--max-tokens", "6")
    assert len(list(translator.translate(["Anna sees a dog today.", "Anna"]))) == 2
    assert [number for number, _ in notes] == [1]


def test_a_translation_that_reaches_its_length_limit_is_told(trained: Trained, engine: tuple[str, ...]) -> None:
    translator, notes = load(trained, *engine, "--max-len-b", "3")
    list(translator.translate(["Anna sees a dog today."]))
    assert notes == [(1, "its translation was cut at 3 tokens (--max-len-a, --max-len-b)")]


def test_marks_of_the_dictionary_in_untokenized_text_do_not_reach_the_model(trained: Trained) -> None:
    notes = Notes()
    options = [str(trained.data), "--path", str(trained.checkpoint), "-s", "en", "-t", "de", "--cpu"]
    translator = Translator.from_args(options, on_note=notes)
    dictionary = translator.task.source_dictionary
    tokens, _ = translator.codec.encode("Anna </s> <pad>", max_tokens=9)
    assert tokens is not None
    assert tokens[1:].tolist() == [dictionary.unk(), dictionary.unk(), dictionary.eos()]
    assert len(list(translator.translate(["Anna </s> <pad>"]))) == 1
    assert notes == [(1, "marks of the dictionary, such as </s>, replaced by <unk>: 2")]


@pytest.mark.parametrize("options", [("--buffer-size", "1"), ("--buffer-size", "3"), ("--batch-size", "2")])
def test_buffers_and_batches_change_neither_order_nor_results(
    trained: Trained, translator: Translator, options: tuple[str, ...]
) -> None:
    lines = [*trained.lines[:10], "", "Anna", *trained.lines[10:13]]
    assert list(load(trained, *options)[0].translate(lines)) == list(translator.translate(lines))


def test_no_more_lines_are_read_ahead_than_the_buffer_holds(trained: Trained, engine: tuple[str, ...]) -> None:
    translator, _ = load(trained, *engine, "--buffer-size", "2")
    source = iter(["Anna", "a dog", "a child", "the cat"])
    next(translator.translate(source))
    assert list(source) == ["a child", "the cat"]


def test_text_and_bytes_with_any_line_end_are_the_same(either: Translator) -> None:
    assert len(set(either.translate(["Anna sees.", b"Anna sees.\n", "Anna sees.\r\n", b"  Anna sees."]))) == 1


def test_lowercase_lowers_the_source(trained: Trained, engine: tuple[str, ...], either: Translator) -> None:
    lowered, _ = load(trained, *engine, "--lowercase")
    assert list(lowered.translate(["ANNA SEES"])) == list(either.translate(["anna sees"]))


def test_normalize_normalizes_the_source(trained: Trained, engine: tuple[str, ...], either: Translator) -> None:
    raw, plain = "„Anna“ sees a\u00addog …", '"Anna" sees a dog ...'
    normalizing, _ = load(trained, *engine, "--normalise")
    assert list(normalizing.translate([raw])) == list(either.translate([plain]))
    tokens = [found.codec.encode(raw, max_tokens=99).tokens for found in (normalizing, either)]
    assert tokens[0] is not None and tokens[1] is not None and tokens[0].tolist() != tokens[1].tolist()


def test_languages_are_taken_from_the_data_folder(trained: Trained, translator: Translator) -> None:
    options = trained.options()
    options = options[: options.index("-s")] + options[options.index("de") + 1 :]
    inferred = Translator.from_args([*options, "--beam", "2"])
    assert (inferred.cfg.tokenizer.source_lang, inferred.cfg.tokenizer.target_lang) == ("en", "de")
    assert list(inferred.translate(trained.lines[:3])) == list(translator.translate(trained.lines[:3]))


def test_an_ensemble_of_twice_the_same_model_is_that_model(trained: Trained, translator: Translator) -> None:
    twice, _ = load(trained, "--path", f"{trained.checkpoint}:{trained.checkpoint}")
    assert len(twice.engine.models) == 2
    assert list(twice.translate(trained.lines[:3])) == list(translator.translate(trained.lines[:3]))


@pytest.mark.parametrize("option", ["--fp16", "--bf16"])
def test_half_precision_translates(trained: Trained, option: str) -> None:
    assert all(load(trained, option)[0].translate(trained.lines[:2]))


def test_a_reader_that_has_enough_ends_it_quietly(trained: Trained) -> None:
    command = [sys.executable, "-m", TOOL, *trained.options(), "--buffer-size", "1", "--beam", "1"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=ROOT) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdin.write(b"Anna sees a dog.\n" * 50)
        process.stdin.close()
        process.stdout.readline()
        process.stdout.close()
        stderr = process.stderr.read().decode()
    assert process.returncode == 141  # as other programs, and those of data-prep
    assert "Traceback" not in stderr and "Broken pipe" not in stderr

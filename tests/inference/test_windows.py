"""Windows of lines in `translate`: one line out for each line in. What fairseq-interactive gives is the oracle."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from fairseq import checkpoint_utils
from hypothesis import given
from hypothesis import strategies as st

from fairseq_rope.export.ctranslate2 import export_checkpoint
from fairseq_rope.inference.files import translate_files
from fairseq_rope.inference.options import parse
from fairseq_rope.inference.translator import Translator
from fairseq_rope.inference.windows import Line, buffers, source_of, targets_of, windows_of
from fairseq_rope.modules.explicit_positions import sentence_positions
from fairseq_rope.scoring.detokenize import detokenize, join_bpe
from fairseq_rope_data.errors import UserError
from tests.integration.test_position_methods import generate, train
from tests.support import ROOT
from tests.support.trained import Trained, call
from tests.support.translators import Notes, load

EOS, SEPARATOR = 2, 9
LENGTHS = st.lists(st.none() | st.integers(2, 12), max_size=25)
LONG = ("--max-len-a", "2", "--max-len-b", "10")
TUNING = "--rope-restart-after <sep> --max-update 20 --lr 1e-3 --lr-scheduler fixed --finetune-from-model"


def numbered(lengths: list[int | None]) -> list[Line]:
    """Lines of so many tokens with </s>; None is a line without a word."""
    rows = [None if n is None else torch.tensor([*range(10, 9 + n), EOS]) for n in lengths]
    return [Line(number, row) for number, row in enumerate(rows, 1)]


@given(LENGTHS, st.integers(1, 5), st.integers(12, 40))
def test_windows_hold_all_lines_in_order_and_are_as_large_as_they_can_be(
    lengths: list[int | None], size: int, limit: int
) -> None:
    lines = numbered(lengths)
    windows = list(windows_of(lines, size, max_tokens=limit))
    assert [line for window in windows for line in window] == lines
    tokens = [[len(line.tokens) for line in window if line.tokens is not None] for window in windows]
    for window, counts in zip(windows, tokens, strict=True):
        assert len(window) <= size and sum(counts) <= limit
        assert len(counts) == len(window) or len(window) == 1  # a line without a word is alone
        if counts:
            assert len(source_of(window, SEPARATOR)) == sum(counts)
    for i, counts in enumerate(tokens[:-1]):
        full = len(counts) == size or not counts or not tokens[i + 1] or sum(counts) + tokens[i + 1][0] > limit
        assert full


@given(LENGTHS, LENGTHS, st.integers(1, 5))
def test_no_window_crosses_the_end_of_a_document(first: list[int | None], second: list[int | None], size: int) -> None:
    lines = numbered([*first, *second])
    documents = lines[: len(first)], lines[len(first) :]
    found = list(windows_of([*documents[0], None, *documents[1], None], size, max_tokens=40))
    assert found == [window for each in documents for window in windows_of(each, size, max_tokens=40)]


@given(LENGTHS.map(lambda lengths: [n for n in lengths if n]).filter(bool))
def test_a_source_has_separators_in_the_place_of_ends_and_splits_again(lengths: list[int]) -> None:
    lines = numbered([*lengths])
    kept = [line.tokens.tolist() for line in lines if line.tokens is not None]
    source = source_of(lines, SEPARATOR).tolist()
    assert source[-1] == EOS and source.count(EOS) == 1
    assert targets_of(source[:-1], SEPARATOR) == [tokens[:-1] for tokens in kept]
    assert [line.tokens.tolist() for line in lines if line.tokens is not None] == kept  # the lines are as they were


@pytest.mark.parametrize(("size", "taken"), [(1, 4), (3, 6), (5, 5)])
def test_no_more_lines_are_taken_than_fill_a_buffer(size: int, taken: int) -> None:
    source: Iterator[Line] = iter(numbered([5] * 30))
    next(buffers(windows_of(source, size, max_tokens=99), 4))
    assert next(source).number == taken + 1


@pytest.fixture(scope="module", params=["fairseq", "ctranslate2"])
def engine(
    request: pytest.FixtureRequest, trained_on_windows: Trained, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, ...]:
    """The options for each engine."""
    if request.param == "fairseq":
        return LONG
    folder = tmp_path_factory.mktemp("exported") / "model"
    export_checkpoint(trained_on_windows.checkpoint, trained_on_windows.data, folder)
    return (*LONG, "--engine", "ctranslate2", "--path", str(folder))


@pytest.fixture(scope="module")
def alone(trained_on_windows: Trained, engine: tuple[str, ...]) -> Translator:
    """The translator of single lines."""
    return load(trained_on_windows, *engine)[0]


@pytest.fixture(scope="module")
def by_fairseq(trained_on_windows: Trained) -> dict[int, list[str]]:
    """What fairseq-interactive gives for the first 60 lines in windows of two and of three, in BPE."""
    pieces = (trained_on_windows.data.parent / "bpe.en").read_text(encoding="utf-8").splitlines()[:60]
    options = trained_on_windows.options()
    options = [*options[:3], *options[options.index("-s") :], "--user-dir", str(ROOT / "fairseq_rope")]
    outputs = {}
    for size in (2, 3):
        windows = "".join(f"{' <sep> '.join(pieces[i : i + size])}\n" for i in range(0, 60, size)).encode()
        done = call("fairseq_cli.interactive", *options, "--beam", "2", *LONG, "--buffer-size", "9", stdin=windows)
        outputs[size] = [line.split("\t")[2] for line in done.stdout.decode().splitlines() if line.startswith("H-")]
    return outputs


def test_windows_are_translated_together_and_split_and_lines_alone_where_their_number_is_wrong(
    trained_on_windows: Trained, engine: tuple[str, ...], alone: Translator, by_fairseq: dict[int, list[str]]
) -> None:
    lines = trained_on_windows.lines[:60]
    single = list(alone.translate(lines))
    windows = windows_alone = differing = 0
    for size, texts in by_fairseq.items():
        translator, notes = load(trained_on_windows, *engine, "--window", str(size))
        found = list(translator.translate(lines))
        expected, wrong = [], 0
        for i, text in enumerate(texts):
            parts = [part.strip() for part in text.split("<sep>")]
            right = len(parts) == size and all(parts)
            wrong += not right
            expected += detokenize(join_bpe(parts, "subword_nmt"), "de") if right else single[size * i : size * (i + 1)]
        assert found == expected and notes == []
        assert (translator.windows, translator.windows_alone) == (60 // size, wrong)
        windows, windows_alone, differing = windows + 60 // size, windows_alone + wrong, differing + (found != single)
    # both happen, and what is translated together is not always what lines alone give
    assert 0 < windows_alone < windows and differing


def test_blank_and_nasty_lines_shift_nothing(
    trained_on_windows: Trained, engine: tuple[str, ...], alone: Translator
) -> None:
    translator, notes = load(trained_on_windows, *engine, "--window", "3", "--max-source-positions", "40")
    some = trained_on_windows.lines[:6]
    lines = [*some[:2], "", *some[2:4], b"\xff\x00", "Anna " * 5000, " ", *some[4:]]
    found = list(translator.translate(lines))
    assert len(found) == len(lines) and [i for i, text in enumerate(found) if not text] == [2, 7]
    assert [number for number, _ in notes if number != 7] == [6, 6, 6]
    # lines 1, 2 and 4, 5 make windows, whatever comes before and after them
    assert found[:2] == list(load(trained_on_windows, *engine, "--window", "2")[0].translate(some[:2]))
    assert list(alone.translate(["", "\n"])) == ["", ""]


def test_the_end_of_a_file_ends_a_document(trained_on_windows: Trained, tmp_path: Path) -> None:
    lines = trained_on_windows.lines[:40]
    documents = {"a": lines[:19], "b": lines[19:]}
    for name, text in documents.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    files = ["--input", str(tmp_path / "a"), "--input", str(tmp_path / "b"), "--output", str(tmp_path / "out")]
    options = [*trained_on_windows.options(), *LONG, "--window", "2"]
    translate_files(parse([*options, *files], ""))
    translator = Translator.from_args(options)
    expected = [line for text in documents.values() for line in translator.translate(text)]
    assert (tmp_path / "out").read_text(encoding="utf-8").splitlines() == expected
    assert expected != list(translator.translate(lines))


@pytest.mark.parametrize("size", ["1", "2", "7"])
def test_the_buffer_changes_no_window(trained_on_windows: Trained, engine: tuple[str, ...], size: str) -> None:
    lines = [*trained_on_windows.lines[:8], "", *trained_on_windows.lines[8:13]]
    results = []
    for options in ((), ("--buffer-size", size)):
        results.append(list(load(trained_on_windows, *engine, "--window", "3", *options)[0].translate(lines)))
    assert results[0] == results[1]


def test_a_window_whose_translation_is_cut_is_translated_line_by_line(
    trained_on_windows: Trained, engine: tuple[str, ...]
) -> None:
    short = (*engine, "--max-len-a", "0", "--max-len-b", "22")
    translator, notes = load(trained_on_windows, *short, "--window", "3")
    lines = trained_on_windows.lines[:9]
    assert list(translator.translate(lines)) == list(load(trained_on_windows, *short)[0].translate(lines))
    assert translator.windows_alone == 3 and notes == []


def test_the_command_counts_the_windows_that_came_back_wrong(
    trained_on_windows: Trained, alone: Translator, tmp_path: Path
) -> None:
    text = "".join(f"{line}\n" for line in trained_on_windows.lines[:10]).encode()
    # windows of ten lines were never seen in training
    options = [*trained_on_windows.options(), "--beam", "2", *LONG, "--window", "10", "--output", str(tmp_path / "out")]
    done = call("fairseq_rope.tools.translate", *options, stdin=text)
    assert (
        b"translate: 1 of 1 windows came back with another number of sentences, or cut: their lines were translated "
        b"one by one\n" in done.stderr
    )
    out = (tmp_path / "out").read_text(encoding="utf-8").splitlines()
    assert out == list(alone.translate(trained_on_windows.lines[:10]))


def test_a_model_of_sentences_is_refused_by_the_separators_name(trained: Trained) -> None:
    with pytest.raises(UserError) as error:
        load(trained, "--window", "2")
    assert str(error.value) == (
        f"--window-separator <sep> is not in the source dictionary of {trained.data}: --window needs a model that was "
        "trained on windows, which fairseq_rope_data.windows makes"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--window", "0"), "--window must be at least 1, but is 0"),
        (("--window-separator", "|"), "--window-separator needs --window of 2 or more"),
        (("--window", "2", "--window-separator", "a b"), "--window-separator must be a token without white space"),
    ],
)
def test_options_that_break_their_rule_are_refused(trained: Trained, options: tuple[str, ...], message: str) -> None:
    with pytest.raises(UserError, match=f"^{message}"):
        load(trained, *options)


def test_a_separator_in_the_text_makes_no_line_two(trained_on_windows: Trained) -> None:
    notes = Notes()
    options = [str(trained_on_windows.data), "--path", str(trained_on_windows.checkpoint), "-s", "en", "-t", "de"]
    translator = Translator.from_args([*options, "--cpu", "--window", "2", *LONG], on_note=notes)
    assert len(list(translator.translate(["Anna <sep> a", "Anna"]))) == 2
    assert notes[0] == (1, "marks of the dictionary, such as </s> or the separator <sep>, replaced by <unk>: 1")
    tokens, _ = translator.codec.encode("Anna <sep> a", max_tokens=9)
    assert tokens is not None and translator.separators[0] not in tokens.tolist()


def test_a_model_trained_with_positions_of_sentences_uses_them_in_every_search(
    trained_on_windows: Trained, tmp_path: Path
) -> None:
    train(trained_on_windows, tmp_path, *TUNING.split(), str(trained_on_windows.checkpoint))
    path = tmp_path / "checkpoint_last.pt"
    found = generate(trained_on_windows, path)
    data = {"data": str(trained_on_windows.data)}
    (model,), _, task = checkpoint_utils.load_model_ensemble_and_task([str(path)], arg_overrides=data)
    words = task.target_dictionary
    separator = words.index("<sep>")
    model.eval()
    model.encoder.restart_after = model.decoder.restart_after = None  # positions are said instead
    task.load_dataset("valid")
    valid = task.datasets["valid"]
    several = [number for number in found if valid[number]["source"].eq(separator).sum() > 1][:5]
    assert several
    for number in several:
        source = valid[number]["source"][None]
        target = words.encode_line(found[number][0][1], add_if_not_exist=False).long()[None]
        inputs = target.roll(1, dims=1)
        positions = {
            name: sentence_positions(tokens, restart_after=separator, padding_idx=words.pad())
            for name, tokens in (("src_positions", source), ("tgt_positions", inputs))
        }
        with torch.no_grad():
            output = model(source, None, inputs, **positions)
        scores = model.get_normalized_probs(output, log_probs=True)[0].gather(1, target.mT)
        expected = scores.sum().item() / target.numel() ** 0.6
        assert found[number][0][0] * math.log(2) == pytest.approx(expected, abs=1e-4)

    lines = trained_on_windows.lines[:30]
    window = ["--window", "3", "--max-len-a", "2", "--max-len-b", "10", "--path", str(path)]
    translator = Translator.from_args([*trained_on_windows.options(), *window])
    assert translator.task.target_dictionary.index("<sep>") == separator
    assert len([*translator.translate(lines)]) == 30 and translator.windows == 10

"""fairseq_rope_data.sentencepiece_bpe: one model of all files, the same each time, whose pieces join to the text."""

import gzip
from pathlib import Path

import pytest
import sentencepiece
from fairseq.data.encoders.sentencepiece_bpe import SentencepieceBPE, SentencepieceConfig

from tests.support.corpora import sentences
from tests.support.program import Done, run_program

PROGRAM = "sentencepiece_bpe"
EN = [line.translate(str.maketrans("aeiou", "éêøîü")) for line in sentences(500, seed=1)]
DE = [*sentences(500, seed=2), "", "½ m² ﬁn … ｆｕｌｌ „Ja“ \U0001f600 世界"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text")
    for name, lines in (("train.en", EN), ("train.de", DE)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def learn(monkeypatch: pytest.MonkeyPatch, folder: Path, model: Path, *options: object) -> Done:
    names = (folder / "train.en", folder / "train.de")
    return run_program(monkeypatch, PROGRAM, "learn", "--pieces", 200, "--model", model, *options, *names)


def test_a_text_is_not_written_over_by_its_model(monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder / "train.de")
    before = link.read_bytes()
    for model in (folder / "train.de", link):
        done = learn(monkeypatch, folder, model)
        assert done.status == 1 and "which is read" in done.stderr and link.read_bytes() == before


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    path = folder / "model"
    if not path.exists():
        assert learn(monkeypatch, folder, path).status == 0
    return path


def test_lines_of_any_length_are_learned_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    document = " ".join(f"xyz{line.split()[0]}" for line in sentences(2000, seed=3))
    (tmp_path / "text").write_text("short lines\n" * 9 + f"{document}\n", encoding="utf-8")
    options = ("--pieces", 60, "--character-coverage", 1, "--model", tmp_path / "model")
    assert run_program(monkeypatch, PROGRAM, "learn", *options, tmp_path / "text").status == 0
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "model"))
    assert len(document) > 4192 and "\u2581xyz" in processor.encode("xyz", out_type=str)


def test_the_same_text_gives_the_same_model_of_as_many_pieces_as_asked(
    monkeypatch: pytest.MonkeyPatch, folder: Path, model: Path, tmp_path: Path
) -> None:
    done = learn(monkeypatch, folder, tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == model.read_bytes()
    assert done.stderr == "sentencepiece_bpe: learned from 1,001 of 1,001 lines\n"
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    assert processor.get_piece_size() == 200
    # of both languages, whose letters differ
    pieces = [processor.id_to_piece(i) for i in range(200)]
    assert any("bé" in piece for piece in pieces) and any("ba" in piece for piece in pieces)


def test_pieces_join_to_the_text_they_were_made_of(monkeypatch: pytest.MonkeyPatch, folder: Path, model: Path) -> None:
    done = run_program(monkeypatch, PROGRAM, "apply", "--model", model, "--jobs", 1, folder / "train.de")
    fairseqs = SentencepieceBPE(SentencepieceConfig(sentencepiece_model=str(model)))
    split = done.stdout.decode().split("\n")[:-1]
    assert [fairseqs.decode(line) for line in split] == DE
    assert split == [fairseqs.encode(line) for line in DE]
    assert len(split[0].split()) > len(DE[0].split())


def test_real_text_joins_too_on_all_cores(
    monkeypatch: pytest.MonkeyPatch, data_dir: Path, model: Path, tmp_path: Path
) -> None:
    text = tmp_path / "news"
    text.write_bytes(gzip.decompress((data_dir / "wmt_newstest_ende" / "newstest2014.de.gz").read_bytes()))
    done = run_program(monkeypatch, PROGRAM, "apply", "--model", model, "--jobs", 2, text)
    joined = [line.replace(" ", "").replace("▁", " ").strip() for line in done.stdout.decode().split("\n")]
    assert joined == text.read_text(encoding="utf-8").split("\n") and len(joined) == 3_004


def test_a_sample_stands_for_all_files(monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path) -> None:
    models = [tmp_path / "one", tmp_path / "two"]
    for model in models:
        done = learn(monkeypatch, folder, model, "--sample", 300)
        assert done.stderr == "sentencepiece_bpe: learned from 300 of 1,001 lines\n"
    assert models[0].read_bytes() == models[1].read_bytes()
    processor = sentencepiece.SentencePieceProcessor(model_file=str(models[0]))
    assert all(len(processor.encode(line, out_type=str)) < len(line) for line in (EN[0], DE[0]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--pieces", "0"), "--pieces must be at least 1, but is 0"),
        (("--sample", "0"), "--sample must be at least 1, but is 0"),
        (("--character-coverage", "0.5"), "--character-coverage must be in [0.98, 1], but is 0.5"),
        (("--pieces", "99999"), "sentencepiece cannot learn 99999 pieces (--pieces): Vocabulary size too high (99999)"),
        (("--pieces", "5"), "sentencepiece cannot learn 5 pieces (--pieces): Vocabulary size is smaller than required"),
        (("/no/text",), "cannot read /no/text: No such file or directory"),
        (("BLANK",), "BLANK has no text"),
        (("BAD",), "BAD:2: not valid UTF-8, byte 1 is 0xff"),
    ],
    ids=["no piece", "no sample", "coverage", "too many", "too few", "no file", "blank", "not UTF-8"],
)
def test_what_cannot_be_learned_from_is_one_line_and_leaves_no_file(
    monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    blank, bad = tmp_path / "blank", tmp_path / "bad"
    blank.write_bytes(b"\n \n")
    bad.write_bytes(b"gut\n\xff\n")
    names = {"BLANK": str(blank), "BAD": str(bad)}
    done = learn(monkeypatch, folder, tmp_path / "model", *(names.get(option, option) for option in options))
    for name, path in names.items():
        message = message.replace(name, path)
    assert done.status == 1 and done.stderr.startswith(f"sentencepiece_bpe: error: {message}")
    assert done.stderr.count("\n") == 1 and {path.name for path in tmp_path.iterdir()} == {"blank", "bad"}


@pytest.mark.parametrize("content", [None, b"", b"no model"], ids=["no file", "empty", "text"])
def test_what_is_no_model_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None) -> None:
    model = tmp_path / "model"
    if content is not None:
        model.write_bytes(content)
    done = run_program(monkeypatch, PROGRAM, "apply", "--model", model, stdin=b"ein Haus\n")
    assert (done.status, done.stdout) == (1, b"") and done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"sentencepiece_bpe: error: --model {model} is no sentencepiece model: ")

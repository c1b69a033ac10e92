"""fairseq_rope_data.check_corpus: a good corpus passes, and what would cost hours later is an error now."""

import gzip
from pathlib import Path

import pytest
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from fairseq_rope_data.check_corpus import looks_swapped
from tests.support.program import Done, run_program

Pairs = list[tuple[str, str]]
PAIRS: Pairs = [
    ("The children are playing in the garden.", "Die Kinder spielen im Garten."),
    ("We could not find the key yesterday.", "Wir konnten den Schlüssel gestern nicht finden."),
    ("If it rains, I will stay at home.", "Wenn es regnet, bleibe ich zu Hause."),
    ("Who has written this letter?", "Wer hat diesen Brief geschrieben?"),
    ("My sister works in a small shop.", "Meine Schwester arbeitet in einem kleinen Laden."),
    ("He said that he would come later.", "Er sagte, dass er später kommen würde."),
    ("The train to Hamburg leaves at eight.", "Der Zug nach Hamburg fährt um acht Uhr ab."),
    ("They have bought a new house.", "Sie haben ein neues Haus gekauft."),
    ("Please open the window.", "Bitte öffnen Sie das Fenster."),
    ("I like this book more than the other one.", "Dieses Buch gefällt mir besser als das andere."),
]
# raw text, and text in BPE
REAL = ("europarl20k/europarl20k", "tatoeba_deu_eng/valid", "wmt_newstest_ende/newstest2014", "multi30k_wu2021/valid")


@pytest.fixture(scope="module")
def identifier() -> LanguageIdentifier:
    return LanguageIdentifier.from_model_file(MODEL_FILE)


def write(prefix: Path, pairs: Pairs) -> None:
    for side, lang in enumerate(("en", "de")):
        prefix.with_suffix(f".{lang}").write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")


def check(monkeypatch: pytest.MonkeyPatch, *prefixes: Path, options: tuple[str, ...] = ()) -> Done:
    sides = ("--source-lang", "en", "--target-lang", "de")
    return run_program(monkeypatch, "check_corpus", *sides, *options, *prefixes)


def swapped(pairs: Pairs) -> Pairs:
    return [(target, source) for source, target in pairs]


def test_good_corpora_pass_and_their_pairs_are_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write(tmp_path / "train", PAIRS * 300)
    write(tmp_path / "valid", [*PAIRS[:9], ("", ""), ("OK", "OK")])
    done = check(monkeypatch, tmp_path / "train", tmp_path / "valid")
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout.decode() == f"{tmp_path}/train: 3,000 pairs\n{tmp_path}/valid: 11 pairs\n"


def test_swapped_sides_are_an_error_unless_languages_do_not_matter(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write(tmp_path / "train", swapped(PAIRS))
    done = check(monkeypatch, tmp_path / "train")
    assert done.status == 1 and done.error == (
        f"check_corpus: error: {tmp_path}/train.en and {tmp_path}/train.de look swapped: "
        "the first reads like de, the second like en; --any-language leaves this check out"
    )
    assert check(monkeypatch, tmp_path / "train", options=("--any-language",)).status == 0


def test_ten_pairs_are_enough_to_tell_their_sides(identifier: LanguageIdentifier) -> None:
    assert looks_swapped(swapped(PAIRS), ("en", "de"), identifier)
    assert not looks_swapped(PAIRS, ("en", "de"), identifier)


def test_one_side_in_another_language_is_no_swap(identifier: LanguageIdentifier) -> None:
    english, german = zip(*PAIRS, strict=True)
    assert not looks_swapped(list(zip(english, english[::-1], strict=True)), ("en", "de"), identifier)
    assert not looks_swapped(list(zip(german, english, strict=True)), ("fr", "en"), identifier)


def test_real_corpora_pass_and_twenty_of_their_pairs_are_enough_to_tell_their_sides(
    monkeypatch: pytest.MonkeyPatch, data_dir: Path, tmp_path: Path, identifier: LanguageIdentifier
) -> None:
    prefixes = []
    for name in REAL:
        texts = [gzip.decompress((data_dir / f"{name}.{lang}.gz").read_bytes()).decode() for lang in ("en", "de")]
        pairs = list(zip(*(text.split("\n") for text in texts), strict=True))
        for start in range(0, 1_000, 20):
            twenty = pairs[start : start + 20]
            assert looks_swapped(swapped(twenty), ("en", "de"), identifier)
            assert not looks_swapped(twenty, ("en", "de"), identifier)
        prefixes.append(tmp_path / name.replace("/", "-"))
        for lang, text in zip(("en", "de"), texts, strict=True):
            prefixes[-1].with_suffix(f".{lang}").write_text(text, encoding="utf-8")
    done = check(monkeypatch, *prefixes)
    assert (done.status, done.stdout.count(b"\n")) == (0, len(REAL))


def test_a_language_that_is_not_known_is_told_and_all_else_is_checked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for side, lang in enumerate(("en", "tlh")):
        (tmp_path / f"train.{lang}").write_text("".join(f"{pair[1 - side]}\n" for pair in PAIRS), encoding="utf-8")
    done = check(monkeypatch, tmp_path / "train", options=("--target-lang", "tlh"))
    assert (done.status, done.stderr) == (
        0,
        "check_corpus: not checked for swapped sides: tlh is no known language\n",
    )
    (tmp_path / "train.tlh").unlink()
    done = check(monkeypatch, tmp_path / "train", options=("--target-lang", "tlh"))
    assert done.error == f"check_corpus: error: cannot read {tmp_path}/train.tlh: No such file or directory"


@pytest.mark.parametrize(
    ("english", "german", "message"),
    [
        (b"", b"", "EN and DE have no pair with text on both sides, of 0"),
        (b"one\n \n", b"\nzwei\n", "EN and DE have no pair with text on both sides, of 2"),
        (b"one\ntwo\n", b"one\ntwo\n", "EN and DE are the same text"),
        (b"one\n", b"eins\nzwei\n", "EN:2: there is no such line, but DE has one: parallel files must be aligned"),
        (b"one\ntwo\n", b"eins\nzw\xf6i\n", "DE:2: not valid UTF-8, byte 3 is 0xf6"),
        (
            b"one\n",
            b"<!doctype html><title>404 Not Found</title>\n",
            "DE is an HTML page, such as a server's error message, and not text",
        ),
    ],
    ids=["empty", "never both", "equal", "unaligned", "not UTF-8", "HTML page"],
)
def test_a_bad_corpus_is_one_line_that_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, english: bytes, german: bytes, message: str
) -> None:
    paths = {"EN": tmp_path / "train.en", "DE": tmp_path / "train.de"}
    for path, text in zip(paths.values(), (english, german), strict=True):
        path.write_bytes(text)
    done = check(monkeypatch, tmp_path / "train", options=("--any-language",))
    for name, path in paths.items():
        message = message.replace(name, str(path))
    assert (done.status, done.stdout, done.stderr) == (1, b"", f"check_corpus: error: {message}\n")

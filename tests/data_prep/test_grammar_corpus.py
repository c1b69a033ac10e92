"""The embedded corpus: the same on every Python, in disjoint parts, and correct German by hand-made examples."""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from fairseq_rope_data.check_corpus import looks_swapped
from fairseq_rope_data.grammar import lexicon
from fairseq_rope_data.grammar.__main__ import distinct

PARTS = {"train": 24_000, "valid": 1_000, "test": 1_000, "long": 500}
# Of the files as Python 3.10, 3.11, 3.12 and 3.13 all write them; a change of words or grammar changes them.
CHECKSUMS = {
    "long.de": "cfb4ed70395748d288793faa69c67b68eb8102923abd839203601af145cca5da",
    "long.en": "e886c310b7964d446acc6183c4b5a1ed87f70c48e108be06fada575c3850fcfd",
    "test.de": "45baecf5384c37595e2fedae97c586c0f864ee5a584de8fb259664a698549bda",
    "test.en": "20f0988c8ae7ad86e080be2253592facf370b5b7058483b63012066c25545804",
    "train.de": "7ed39e13b1e2290aa0a2ba041e1b476a1b673c3ed083399fc2e391d22d47a862",
    "train.en": "114c20310f045ace3d401f00e97dd3903e613c621c06942ab17e4d132877eca0",
    "valid.de": "44aa2dca87e96a7b025c8bfe370962ce281040a59a37aa5cbd702b2788a76c50",
    "valid.en": "5c1680982cae3f1d6bb1c76b2d2893d2935d3f6d78f623faefb0ad23681dbbc0",
}
SUBORDINATE = re.compile(r"(?:^|, )(?:weil|obwohl|wenn|dass|ob|während) ([^,.]+)", re.IGNORECASE)
FINITE = {"habe", "hat", "haben", "bin", "ist", "sind", "war", "waren", "werde", "wird", "werden", "kann", "können"}
FINITE |= {"muss", "müssen", "sollte", "sollten", "will", "wollen"}


def run(*args: object) -> subprocess.CompletedProcess[str]:
    """Run the program as a user does."""
    command = [sys.executable, "-m", "fairseq_rope_data.grammar", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return the folder of one real run, and what it printed."""
    folder = tmp_path_factory.mktemp("grammar") / "new" / "folder"
    done = run(folder)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


@pytest.fixture(scope="module")
def parts(made: tuple[Path, str]) -> dict[str, list[tuple[str, str]]]:
    """Return the pairs of each part."""
    return {part: list(zip(read(made[0], part, "en"), read(made[0], part, "de"), strict=True)) for part in PARTS}


def read(folder: Path, part: str, language: str) -> list[str]:
    """Return the lines of a file."""
    return (folder / f"{part}.{language}").read_text(encoding="utf-8").splitlines()


def tokens(text: str) -> list[str]:
    """Split off punctuation marks."""
    return re.sub(r"([.,?])", r" \1", text).split()


def test_the_files_have_the_recorded_checksums(made: tuple[Path, str]) -> None:
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in made[0].iterdir()}
    assert found == CHECKSUMS


def test_each_part_has_its_number_of_pairs_and_the_table_says_so(
    made: tuple[Path, str], parts: dict[str, list[tuple[str, str]]]
) -> None:
    assert {part: len(pairs) for part, pairs in parts.items()} == PARTS
    printed = {line.split()[0]: line.split()[1:] for line in made[1].splitlines()[1:]}
    for part, pairs in parts.items():
        counts = [[len(tokens(pair[side])) for pair in pairs] for side in (0, 1)]
        means, longest = [f"{sum(c) / len(c):.1f}" for c in counts], [str(max(c)) for c in counts]
        assert printed[part] == [str(len(pairs)), *means, *longest]


@pytest.mark.parametrize("side", [0, 1])
def test_no_sentence_occurs_twice_in_any_part(side: int, parts: dict[str, list[tuple[str, str]]]) -> None:
    sentences = [pair[side] for pairs in parts.values() for pair in pairs]
    assert len(set(sentences)) == len(sentences) == sum(PARTS.values())


@pytest.mark.parametrize("side", [0, 1])
def test_long_sentences_have_more_tokens_than_any_other(side: int, parts: dict[str, list[tuple[str, str]]]) -> None:
    longest = max(len(tokens(pair[side])) for part in ("train", "valid", "test") for pair in parts[part])
    counts = [len(tokens(pair[side])) for pair in parts["long"]]
    assert 20 <= longest <= 24
    assert min(counts) >= 1.3 * longest
    assert max(counts) <= 2 * longest


@pytest.mark.parametrize("side", [0, 1])
def test_every_word_of_the_other_parts_is_in_train(side: int, parts: dict[str, list[tuple[str, str]]]) -> None:
    words = {part: {word for pair in pairs for word in tokens(pair[side])} for part, pairs in parts.items()}
    assert words["valid"] | words["test"] | words["long"] <= words["train"]


def test_sentences_are_cased_and_end_in_one_mark(parts: dict[str, list[tuple[str, str]]]) -> None:
    form = re.compile(r"[A-ZÄÖÜ][\w]*(,? [\w]+)*[.?]")
    for pairs in parts.values():
        for english, german in pairs:
            assert form.fullmatch(english) and form.fullmatch(german), (english, german)
            assert english[-1] == german[-1]


def test_a_and_an_follow_the_next_sound(parts: dict[str, list[tuple[str, str]]]) -> None:
    text = " ".join(pair[0] for pairs in parts.values() for pair in pairs)
    assert not re.search(r"\b[Aa] [aeiou]", text)
    assert set(re.findall(r"\b[Aa]n ([^aeiou]\w*)", text)) == {"honest"}


def test_subordinate_clauses_end_in_a_finite_verb(parts: dict[str, list[tuple[str, str]]]) -> None:
    table = [line.split("\t") for line in (lexicon.FOLDER / "verbs.tsv").read_text("utf-8").splitlines()[1:]]
    finite = set(FINITE)
    for cells in table:
        prefix, _, stem = cells[2].rpartition("|")
        finite |= {prefix + form for form in (stem, cells[3], cells[4])}
    clauses = [clause for pairs in parts.values() for _, german in pairs for clause in SUBORDINATE.findall(german)]
    assert len(clauses) > 5_000
    assert [clause for clause in clauses if clause.split()[-1] not in finite] == []


def test_running_again_changes_nothing_and_leaves_no_unfinished_file(made: tuple[Path, str]) -> None:
    folder = made[0]
    (folder / "train.de").write_text("half a file", encoding="utf-8")
    assert run(folder).returncode == 0
    assert sorted(path.name for path in folder.iterdir()) == sorted(CHECKSUMS)
    assert hashlib.sha256((folder / "train.de").read_bytes()).hexdigest() == CHECKSUMS["train.de"]


def test_ten_pairs_are_enough_for_check_corpus_to_tell_their_sides(parts: dict[str, list[tuple[str, str]]]) -> None:
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    for start in range(0, 300, 10):
        ten = parts["valid"][start : start + 10]
        assert looks_swapped([pair[::-1] for pair in ten], ("en", "de"), identifier)
        assert not looks_swapped(ten, ("en", "de"), identifier)


def test_a_folder_that_cannot_be_written_to_is_one_clear_line(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way", encoding="utf-8")
    done = run(blocked)
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"grammar: error: OUTDIR must be a folder that can be written to, but {blocked} is not: "
    )
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_help_says_what_is_written() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert "OUTDIR/{train,valid,test,long}.{en,de}" in done.stdout


def test_one_sentence_with_two_translations_is_refused() -> None:
    drawn = iter([("One.", "Eins."), ("One.", "Eine.")])
    pairs = distinct(lambda dice: next(drawn), None, range(9), {})  # type: ignore[arg-type]
    assert next(pairs) == ("One.", "Eins.")
    with pytest.raises(ValueError, match=r"one sentence must have one translation, but 'One\.' has two: 'Eine\.'"):
        next(pairs)

"""fairseq_rope_data.scm: similar cases from JSON lines, a sample split by document, and lines that are none."""

import gzip
import json
import random
from pathlib import Path

import pytest

from fairseq_rope_data.case_split import split_by_document
from fairseq_rope_data.scm import read_cases, read_sample
from tests.support.cases import cases, write_cases
from tests.support.program import run_program


def test_texts_and_labels_are_written_a_line_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made = {"train": cases(6, seed=1), "valid": cases(3, seed=2), "test": cases(4, seed=3)}
    made["train"][0]["A"] = " two\nlines\u2028and \t spaces "
    files = {name: write_cases(tmp_path / f"{name}.json", found) for name, found in made.items()}
    (tmp_path / "valid.json.gz").write_bytes(gzip.compress(files["valid"].read_bytes()))
    files["valid"].unlink()
    options = [word for name, path in files.items() for word in (f"--{name}", path)]
    done = run_program(monkeypatch, "scm", *options, tmp_path / "raw")
    assert (done.status, done.stdout, done.stderr) == (0, b"train 6, valid 3, test 4\n", "")
    for name, found in made.items():
        for number, letter in enumerate("ABC"):
            lines = (tmp_path / "raw" / f"{name}.input{number}").read_text(encoding="utf-8").split("\n")[:-1]
            assert lines == [" ".join(each[letter].split()) for each in found]
        labels = (tmp_path / "raw" / f"{name}.label").read_text().split()
        assert labels == ["BC".index(each["label"]).__str__() for each in found]
    assert (tmp_path / "raw" / "train.input0").read_text().startswith("two lines and spaces\n")
    done = run_program(monkeypatch, "scm", *options[:4], "-", "--settings")
    assert done.stdout.decode().split("\n")[:2] == ["INPUTS=(input0 input1 input2)", "EXAMPLES=6"]
    assert "SETS=(valid)\nLABELED=(valid)\n" in done.stdout.decode() and not (tmp_path / "-").exists()


@pytest.mark.parametrize("seed", range(8))
def test_no_document_is_in_two_sets(seed: int):
    dice = random.Random(seed)
    examples = [frozenset(dice.sample(range(40), 3)) for _ in range(60)]
    train, valid = split_by_document(examples, 12)
    documents = [frozenset().union(*(examples[i] for i in numbers)) for numbers in (train, valid)]
    assert len(valid) >= 12 and not documents[0] & documents[1]
    # none is left out without a reason
    crossing = [example for i, example in enumerate(examples) if i not in {*train, *valid}]
    assert all(example & documents[1] and example - documents[1] for example in crossing)
    assert split_by_document(examples, 12) == (train, valid)


def test_unconnected_examples_are_all_kept():
    examples = [frozenset({3 * i, 3 * i + 1, 3 * i + 2}) for i in range(20)]
    train, valid = split_by_document(examples, 5)
    assert len(valid) == 5 and sorted(train + valid) == list(range(20))


def test_a_sample_has_both_labels_and_the_nearer_text_under_its_own(tmp_path: Path):
    made = cases(60, seed=4, labels=("B",))
    found = read_sample(write_cases(tmp_path / "input.json", made, labeled=False))
    whole = {each["A"]: each for each in made}
    mixed = [case for part in found.values() for case in part]
    assert len(mixed) == 60 and len(found["valid"]) == 12
    assert 15 < sum(case.label for case in mixed) < 45
    for case in mixed:
        assert case.texts[1 + case.label] == whole[case.texts[0]]["B"]


def test_a_document_with_other_white_space_is_in_the_same_set(tmp_path: Path):
    dice = random.Random(1)
    made = []
    for _ in range(30):
        texts = [f"文书{number}。第{number}段" for number in dice.sample(range(40), 3)]
        made.append(
            {name: text.replace("。", dice.choice(["。", "。\r\n"])) for name, text in zip("ABC", texts, strict=True)}
        )
    path = tmp_path / "input.json"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in made))
    train, valid = (
        {"".join(text.split()) for case in part for text in case.texts} for part in read_sample(path).values()
    )
    assert train and valid and not train & valid


GOOD = {"A": "a", "B": "b", "C": "c", "label": "B"}
BAD = {
    "no JSON": ("{'A': 1}", "must be a JSON object: Expecting property name"),
    "a list": ('["A"]', 'must be a JSON object, but is ["A"]'),
    "a missing text": (json.dumps({"A": "a", "B": "b", "label": "B"}), "must have A, B, C and label, but lacks C"),
    "no label": (json.dumps({"A": "a", "B": "b", "C": "c"}), "must have A, B, C and label, but lacks label"),
    "another label": (json.dumps({**GOOD, "label": "A"}), 'the label must be B or C, but is "A"'),
    "a list as label": (json.dumps({**GOOD, "label": ["B"]}), 'the label must be B or C, but is ["B"]'),
    "a number as text": (json.dumps({**GOOD, "B": 3}), "B must be a text, but is 3"),
    "a blank text": (json.dumps({**GOOD, "C": " \n"}), 'C must be a text, but is " \\n"'),
    "half a character": (json.dumps({**GOOD, "C": "\ud83d"}), "C has half of a surrogate pair, which is no character"),
    "a blank line": ("", "must be a JSON object: Expecting value"),
}


@pytest.mark.parametrize(("line", "message"), BAD.values(), ids=BAD)
def test_a_bad_line_is_named_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str
):
    good = json.dumps(GOOD)
    (tmp_path / "bad.json").write_text(f"{good}\n{line}\n{good}\n")
    (tmp_path / "good.json").write_text(f"{good}\n")
    given = ("--train", tmp_path / "good.json", "--valid", tmp_path / "bad.json", tmp_path / "raw")
    done = run_program(monkeypatch, "scm", *given)
    assert done.status == 1 and done.error.startswith(f"scm: error: {tmp_path}/bad.json:2: {message}"), done.error
    assert not (tmp_path / "raw").exists()


def test_files_that_are_none_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    good = write_cases(tmp_path / "good.json", cases(12, seed=1))

    def error(*arguments: object) -> str:
        return run_program(monkeypatch, "scm", *arguments, "-").error.removeprefix("scm: error: ")

    assert error("--train", good) == "--valid FILE is needed, or --sample FILE"
    assert error() == "--train FILE is needed, or --sample FILE"
    assert error("--sample", good, "--test", good) == "--sample and --test exclude each other"
    assert error("--sample", tmp_path / "no") == f"{tmp_path}/no: there is no such file"
    (tmp_path / "empty").write_bytes(b"\n")
    assert error("--sample", tmp_path / "empty") == f"{tmp_path}/empty has no text"
    (tmp_path / "latin").write_bytes(b'{"A": "a"}\n{"A": "\xfc"}\n')
    assert error("--sample", tmp_path / "latin") == f"{tmp_path}/latin:2: not valid UTF-8, byte 8 is 0xfc"
    few = write_cases(tmp_path / "few", cases(9, seed=1))
    assert error("--sample", few) == f"--sample {few} must have 10 examples or more, but has 9"
    same = write_cases(tmp_path / "same", cases(1, seed=1) * 12)
    assert error("--sample", same).startswith(f"--sample {same}: no example is left to train on")


def test_the_organizers_triples_are_split_by_document(data_dir: Path):
    path = data_dir / "cail2019_scm_sample" / "input.json.gz"
    found = read_sample(path)
    documents = {name: {text for case in part for text in case.texts} for name, part in found.items()}
    assert not documents["train"] & documents["valid"]
    assert len(read_cases(path, labeled=False)) == 500
    assert len(found["train"]) > 150 and len(found["valid"]) >= 100

"""GLUE's files: every task by its own columns, and each way in which a file can be another one."""

import gzip
import random
from pathlib import Path

import pytest

from fairseq_rope.experiments.submission import write_submission
from fairseq_rope.scoring.predictions import Predictions
from fairseq_rope_data.glue import read_task
from fairseq_rope_data.glue_tasks import TASKS
from tests.support.program import run_program

# GLUE's own headers, from its archive; CoLA's train and dev have none
PAIR = ("index\tsentence1\tsentence2\tlabel", "index\tsentence1\tsentence2")
MNLI = "index promptID pairID genre sentence1_binary_parse sentence2_binary_parse sentence1_parse sentence2_parse"
STS = "index genre filename year old_index source1 source2 sentence1 sentence2"
HEADERS = {
    "CoLA": ("", "index\tsentence"),
    "SST-2": ("sentence\tlabel", "index\tsentence"),
    "MRPC": ("\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String", "index\t#1 ID\t#2 ID\t#1 String\t#2 String"),
    "STS-B": ("\t".join([*STS.split(), "score"]), "\t".join(STS.split())),
    "QQP": ("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate", "id\tquestion1\tquestion2"),
    "MNLI": ("\t".join([*MNLI.split(), "sentence1", "sentence2", "label1", "gold_label"]),) * 2,
    "QNLI": ("index\tquestion\tsentence\tlabel", "index\tquestion\tsentence"),
    "RTE": PAIR,
    "WNLI": PAIR,
}
LABELED = {name: [*task.labels] or ["0.000", "2.5", "5"] for name, task in TASKS.items()}


def row(header: str, number: int, task: str) -> str:
    """A line in which each column has its own text; sentences begin with a quote that nothing closes."""
    if not header:
        return "\t".join(["gj04", LABELED[task][number % 2], "*", f'"A sentence {number}, of CoLA.'])
    cells = []
    for name in header.split("\t"):
        name = name.removeprefix("\ufeff")
        if name in ("label", "gold_label", "score", "is_duplicate", "Quality"):
            cells.append(LABELED[task][number % len(LABELED[task])])
        elif name in ("index", "id", "#1 ID", "#2 ID"):
            cells.append(str(number))
        else:
            cells.append(f'"{name} {number}')
    return "\t".join(cells)


def make(folder: Path, task: str, *, sizes: tuple[int, int, int] = (6, 3, 2)) -> Path:
    """All files of a task, with so few examples."""
    folder.mkdir(parents=True)
    for subset, sources in TASKS[task].sources.items():
        header = PAIR[1] if subset == "test2" else HEADERS[task][subset.startswith("test")]
        size = sizes[("train", "valid", "test").index(subset.rstrip("12"))]
        lines = [header] * bool(header) + [row(header, i, task) for i in range(size)]
        (folder / sources[0].files[0]).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


@pytest.mark.parametrize("task", TASKS)
def test_sentences_and_labels_of_every_task_are_found_by_its_own_columns(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder, out = make(tmp_path / "files", task), tmp_path / "raw"
    done = run_program(monkeypatch, "glue", task, folder, out, "--sample")
    assert (done.status, done.stderr) == (0, ""), done.stderr
    subsets = [*TASKS[task].sources]
    assert done.stdout.decode().startswith("train 6, valid 3")
    columns = {
        "CoLA": ["A"],
        "SST-2": ["sentence"],
        "QQP": ["question1", "question2"],
        "QNLI": ["question", "sentence"],
    }
    names = columns.get(task, ["#1 String", "#2 String"] if task == "MRPC" else ["sentence1", "sentence2"])
    for subset in subsets:
        for number, name in enumerate(names):
            lines = (out / f"{subset}.input{number}").read_text(encoding="utf-8").splitlines()
            expected = "sentence" if task == "CoLA" and subset == "test" else name
            assert [line.split(" ")[: len(expected.split())] for line in lines] == [f'"{expected}'.split()] * len(lines)
            assert len(lines) == {"train": 6, "valid": 3, "test": 2}[subset.rstrip("12")]
        assert not (out / f"{subset}.input{len(names)}").exists()
    labels = (out / "valid.label").read_text().split()
    assert labels == (
        ["0", "0.5", "1"] if task == "STS-B" else [LABELED[task][i % len(LABELED[task])] for i in range(3)]
    )
    if TASKS[task].labels:
        assert (out / "labels.txt").read_text().splitlines() == [f"{label} 1" for label in TASKS[task].labels]
    assert (out / "test.label").exists() == (task == "MNLI")  # whose made test set has labels


def test_glues_diagnostic_set_goes_to_mnli_under_either_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder, out = make(tmp_path / "files", "MNLI"), tmp_path / "raw"
    (folder / "diagnostic.tsv").rename(folder / "AX.tsv")
    done = run_program(monkeypatch, "glue", "MNLI", folder, out, "--sample")
    assert done.stdout.decode().endswith("test1 2, test2 2\n")
    assert (out / "test2.input1").read_text() == '"sentence2 0\n"sentence2 1\n' and not (out / "test2.label").exists()
    (folder / "test_mismatched.tsv").unlink()
    done = run_program(monkeypatch, "glue", "MNLI", folder, out, "--sample")
    assert f"{folder / 'AX.tsv'}: must come with test_mismatched.tsv, the test set before it" in done.stderr
    found = Predictions(("contradiction", "entailment", "neutral"), [], ["neutral", "entailment"])
    assert write_submission(found, "MNLI", "test2", tmp_path) == tmp_path / "AX.tsv"
    assert (tmp_path / "AX.tsv").read_text() == "index\tprediction\n0\tneutral\n1\tentailment\n"


def test_settings_are_what_a_recipe_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = make(tmp_path / "files", "RTE")
    done = run_program(monkeypatch, "glue", "RTE", folder, "-", "--sample", "--settings")
    expected = "CLASSES=2\nINPUTS=(input0 input1)\nEXAMPLES=6\nSETS=(valid test)\nLABELED=(valid)\n"
    assert done.stdout.decode() == expected and not (tmp_path / "-").exists()


BAD = {
    "another column": (
        "sentence\tlabel",
        "text\tlabel",
        "train.tsv:1: must have a column sentence, but has 'text, label'",
    ),
    "quoted": (
        "sentence\tlabel",
        '"sentence"\t"label"',
        'train.tsv:1: must have a column label, but has \'"sentence", "label"\', quoted, which GLUE\'s own are not',
    ),
    "commas": ("sentence\tlabel", "sentence,label", "train.tsv:1: must have a column label, but has 'sentence,label'"),
    "no label": ('"sentence 2\t0', '"sentence 2\t', "train.tsv:4: the label must be 0 or 1, but is ''"),
    "another label": ('"sentence 2\t0', '"sentence 2\t2', "train.tsv:4: the label must be 0 or 1, but is '2'"),
    "a missing cell": ('"sentence 2\t0', '"sentence 2', "train.tsv:4: must have 2 columns, but has 1"),
    "a cell too much": ('"sentence 2\t0', '"sentence\t2\t0', "train.tsv:4: must have 2 columns, but has 3"),
    "blank": ('"sentence 2\t0', " \t0", "train.tsv:4: a sentence is blank"),
}


@pytest.mark.parametrize(("old", "new", "message"), BAD.values(), ids=BAD)
def test_a_bad_line_is_named_and_nothing_is_written(
    old: str, new: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = make(tmp_path / "files", "SST-2")
    path = folder / "train.tsv"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    done = run_program(monkeypatch, "glue", "SST-2", folder, tmp_path / "raw", "--sample")
    assert (done.status, done.stderr) == (1, f"glue: error: {folder}/{message}\n")
    assert not (tmp_path / "raw").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "train.tsv is empty"),
        (b"sentence\tlabel\n\xff\t1\n", "train.tsv:2: not valid UTF-8, byte 1 is 0xff"),
        (b"<!DOCTYPE html><p>404</p>", "train.tsv is an HTML page, such as a server's error message, and not text"),
        (b"sentence\tlabel\n", ": the train set has no examples"),
    ],
)
def test_a_file_that_is_no_text_is_named(content: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = make(tmp_path / "files", "SST-2")
    (folder / "train.tsv").write_bytes(content)
    done = run_program(monkeypatch, "glue", "SST-2", folder, "-", "--sample")
    slash = "" if message.startswith(":") else "/"
    assert (done.status, done.error) == (1, f"glue: error: {folder}{slash}{message}")


def test_another_count_than_glues_is_refused_unless_it_is_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = make(tmp_path / "files", "SST-2")
    done = run_program(monkeypatch, "glue", "SST-2", folder, "-")
    expected = "the train set has 6 examples, but GLUE's has 67,349; --sample takes it as it is"
    assert done.error == f"glue: error: {folder}/train.tsv: {expected}"
    (folder / "train.tsv").unlink()
    done = run_program(monkeypatch, "glue", "SST-2", folder, "-", "--sample")
    assert done.error == f"glue: error: cannot read {folder}/train.tsv: No such file or directory"


def test_numbers_outside_of_the_scale_are_no_labels_of_sts_b(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = make(tmp_path / "files", "STS-B")
    text = (folder / "dev.tsv").read_text()
    for label in ("5.1", "-1", "nan", "high"):
        (folder / "dev.tsv").write_text(text.replace("\t2.5\n", f"\t{label}\n"))
        done = run_program(monkeypatch, "glue", "STS-B", folder, "-", "--sample")
        assert (
            done.error == f"glue: error: {folder}/dev.tsv:3: the label must be a number from 0 to 5, but is {label!r}"
        )


def test_qqp_leaves_out_its_known_bad_lines_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = make(tmp_path / "files", "QQP")
    path = folder / "train.tsv"
    path.write_text(path.read_text() + "9\t9\t9\tcut off\n")
    done = run_program(monkeypatch, "glue", "QQP", folder, "-", "--sample")
    assert done.stdout.decode().startswith("train 6,")
    assert done.error == f"glue: note: {path}: 1 lines of another number of columns are left out, as others do"


def test_no_line_of_qqps_test_set_is_left_out_for_a_submission_numbers_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = make(tmp_path / "files", "QQP")
    path = folder / "test.tsv"
    path.write_text(path.read_text().replace("\n1\t", "\n1\tcut\t"))
    done = run_program(monkeypatch, "glue", "QQP", folder, "-", "--sample")
    assert (done.status, done.error) == (1, f"glue: error: {path}:3: must have 3 columns, but has 4")


def msr(folder: Path, count: int = 10) -> Path:
    """MRPC as Microsoft released it, gzipped, with Windows' line ends."""
    folder.mkdir(parents=True)
    lines = [HEADERS["MRPC"][0], *(row(HEADERS["MRPC"][0], i, "MRPC") for i in range(count))]
    (folder / "msr_paraphrase_train.txt.gz").write_bytes(gzip.compress("".join(f"{x}\r\n" for x in lines).encode()))
    return folder


def test_mrpc_is_split_by_glues_ids_or_at_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = msr(tmp_path / "files")
    done = run_program(monkeypatch, "glue", "MRPC", folder, "-", "--sample")
    assert done.status == 1 and "dev_ids.tsv, GLUE's list" in done.error and "--dev-last 408" in done.error
    last = read_task(folder, "MRPC", sample=True, dev_last=3)
    assert [each.inputs[0] for each in last["valid"]] == [f'"#1 String {i}' for i in (7, 8, 9)]
    assert len(last["train"]) == 7
    (folder / "dev_ids.tsv").write_text("4\t4\n2\t2\n")
    found = read_task(folder, "MRPC", sample=True)
    assert [each.ids[0] for each in found["valid"]] == ["2", "4"] and len(found["train"]) == 8
    (folder / "dev_ids.tsv").write_text("4\t4\n77\t2\n")
    done = run_program(monkeypatch, "glue", "MRPC", folder, "-", "--sample")
    assert done.error.startswith(f"glue: error: {folder}/dev_ids.tsv: the pair 77 2 is not in ")
    done = run_program(monkeypatch, "glue", "MRPC", folder, "-", "--sample", "--dev-last", "10")
    assert done.error == "glue: error: --dev-last must be from 1 to 9, but is 10"
    done = run_program(monkeypatch, "glue", "RTE", folder, "-", "--dev-last", "10")
    assert done.error == "glue: error: --dev-last is for MRPC alone, but the task is RTE"


@pytest.mark.parametrize("name", ["train.tsv", "dev.tsv"])
def test_the_last_pairs_are_not_taken_beside_glues_own_files(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = msr(tmp_path / "files")
    header = HEADERS["MRPC"][0]
    (folder / name).write_text("".join(f"{line}\n" for line in (header, *(row(header, i, "MRPC") for i in range(9)))))
    done = run_program(monkeypatch, "glue", "MRPC", folder, "-", "--sample", "--dev-last", "3")
    assert done.status == 1
    assert done.error == f"glue: error: --dev-last splits msr_paraphrase_train.txt, but {folder} has {name}"


def test_no_line_of_a_file_is_lost_or_moved(tmp_path: Path):
    """What csv would join at a quote, and str.splitlines cut, stays a line."""
    dice = random.Random(5)
    folder = make(tmp_path / "files", "SST-2")
    texts = [" ".join(dice.choices(['"', "''", "\u2028", "\x85", "word", "\\", ","], k=5)) + " x" for _ in range(50)]
    (folder / "train.tsv").write_text("sentence\tlabel\n" + "".join(f"{x}\t1\n" for x in texts), encoding="utf-8")
    assert [each.inputs[0] for each in read_task(folder, "SST-2", sample=True)["train"]] == texts


@pytest.mark.parametrize("task", ["CoLA", "SST-2", "STS-B", "RTE", "MRPC"])
def test_real_files_have_glues_numbers_of_examples(data_dir: Path, task: str):
    found = read_task(data_dir / "glue_small" / task, task, dev_last=408 if task == "MRPC" else None)
    assert all(len(examples) == TASKS[task].sizes[subset] for subset, examples in found.items())

"""The tasks of GLUE (Wang et al., 2019) as its own files have them: columns, labels, sizes, scores and submissions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# its name in the header, or its number, from 0, where a file has no header
Column = str | int


@dataclass(frozen=True)
class Layout:
    """The columns of a file: those of the one or two sentences, and that of the label.

    Args:
        inputs: of the sentences.
        label: may be missing in a test set.
        widths: how many columns a file without a header can have; none where it has one.
    """

    inputs: tuple[Column, ...]
    label: Column
    widths: tuple[int, ...] = ()


@dataclass(frozen=True)
class Source:
    """Files that together are a subset, all of one layout."""

    files: tuple[str, ...]
    layout: Layout


@dataclass(frozen=True)
class Task:
    """A task.

    Args:
        sizes: examples of each subset, which have fairseq's names: train, valid, test and perhaps valid1, test1, test2.
        sources: of each subset, the first of which that is there is read.
        metrics: its scores; the first one chooses between models.
        labels: in the order of the classes; none where the label is a number from 0 to `scale`.
        scale: of numbers: a model learns label / scale.
        submission: the names of GLUE's files for the predictions of test and perhaps test1, test2.
        flawed: its own train and valid have lines of another number of columns, which all who use it leave out, and
            blanks, as test has.
    """

    sizes: Mapping[str, int]
    sources: Mapping[str, Sequence[Source]]
    metrics: tuple[str, ...]
    labels: tuple[str, ...]
    submission: tuple[str, ...]
    scale: float = 1.0
    flawed: bool = False


def _sizes(train: int, valid: int, test: int) -> dict[str, int]:
    return {"train": train, "valid": valid, "test": test}


def _sources(layout: Layout, **others: Source) -> dict[str, list[Source]]:
    """Return train.tsv, dev.tsv and test.tsv of a layout; where there are none, the `others`."""
    found = {name: [Source((file,), layout)] for name, file in (("train", "train.tsv"), ("valid", "dev.tsv"))}
    found["test"] = [Source(("test.tsv",), layout)]
    for name, source in others.items():
        found[name].append(source)
    return found


_BINARY = ("0", "1")
_ENTAILMENT = ("entailment", "not_entailment")
_PAIR = Layout(("sentence1", "sentence2"), "label")
_MNLI = Layout(("sentence1", "sentence2"), "gold_label")
_COLA = Layout((3,), 1, (4,))
# the release that GLUE was made from; lines may end with one or two sources
_STS = Layout((5, 6), 4, (7, 8, 9))
_MRPC = Layout(("#1 String", "#2 String"), "Quality")
# the release that GLUE was made from, whose training file holds both train and valid
MSR_TRAIN, MSR_TEST, MSR_IDS = "msr_paraphrase_train.txt", "msr_paraphrase_test.txt", ("#1 ID", "#2 ID")

TASKS = {
    "CoLA": Task(
        sizes=_sizes(8551, 1043, 1063),
        sources={
            "train": [Source(("train.tsv",), _COLA), Source(("in_domain_train.tsv",), _COLA)],
            "valid": [Source(("dev.tsv",), _COLA), Source(("in_domain_dev.tsv", "out_of_domain_dev.tsv"), _COLA)],
            "test": [Source(("test.tsv",), Layout(("sentence",), "label"))],
        },
        metrics=("matthews", "accuracy"),
        labels=_BINARY,
        submission=("CoLA.tsv",),
    ),
    "SST-2": Task(
        sizes=_sizes(67349, 872, 1821),
        sources=_sources(Layout(("sentence",), "label")),
        metrics=("accuracy",),
        labels=_BINARY,
        submission=("SST-2.tsv",),
    ),
    "MRPC": Task(
        sizes=_sizes(3668, 408, 1725),
        sources=_sources(
            _MRPC,
            train=Source((MSR_TRAIN,), _MRPC),
            valid=Source((MSR_TRAIN,), _MRPC),
            test=Source((MSR_TEST,), _MRPC),
        ),
        metrics=("f1", "accuracy"),
        labels=_BINARY,
        submission=("MRPC.tsv",),
    ),
    "STS-B": Task(
        sizes=_sizes(5749, 1500, 1379),
        sources=_sources(
            Layout(("sentence1", "sentence2"), "score"),
            train=Source(("sts-train.csv",), _STS),
            valid=Source(("sts-dev.csv",), _STS),
            test=Source(("sts-test.csv",), _STS),
        ),
        metrics=("spearman", "pearson"),
        labels=(),
        submission=("STS-B.tsv",),
        scale=5.0,
    ),
    "QQP": Task(
        sizes=_sizes(363849, 40430, 390965),
        sources=_sources(Layout(("question1", "question2"), "is_duplicate")),
        metrics=("f1", "accuracy"),
        labels=_BINARY,
        submission=("QQP.tsv",),
        flawed=True,
    ),
    "MNLI": Task(
        sizes={**_sizes(392702, 9815, 9796), "valid1": 9832, "test1": 9847, "test2": 1104},
        sources={
            "train": [Source(("train.tsv",), _MNLI)],
            "valid": [Source(("dev_matched.tsv",), _MNLI)],
            "valid1": [Source(("dev_mismatched.tsv",), _MNLI)],
            "test": [Source(("test_matched.tsv",), _MNLI)],
            "test1": [Source(("test_mismatched.tsv",), _MNLI)],
            # the diagnostic set, which GLUE's server wants of MNLI's model; its two archives name it differently
            "test2": [Source((name,), _PAIR) for name in ("diagnostic.tsv", "AX.tsv")],
        },
        metrics=("accuracy",),
        labels=("contradiction", "entailment", "neutral"),
        submission=("MNLI-m.tsv", "MNLI-mm.tsv", "AX.tsv"),
    ),
    "QNLI": Task(
        sizes=_sizes(104743, 5463, 5463),
        sources=_sources(Layout(("question", "sentence"), "label")),
        metrics=("accuracy",),
        labels=_ENTAILMENT,
        submission=("QNLI.tsv",),
    ),
    "RTE": Task(
        sizes=_sizes(2490, 277, 3000),
        sources=_sources(_PAIR),
        metrics=("accuracy",),
        labels=_ENTAILMENT,
        submission=("RTE.tsv",),
    ),
    "WNLI": Task(
        sizes=_sizes(635, 71, 146),
        sources=_sources(_PAIR),
        metrics=("accuracy",),
        labels=_BINARY,
        submission=("WNLI.tsv",),
    ),
}

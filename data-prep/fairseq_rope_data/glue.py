"""Read a task of GLUE from its own files and write its sentences and labels, raw, a line each.

    python -m fairseq_rope_data.glue SST-2 glue_data/SST-2 raw

writes raw/SUBSET.input0, for pairs raw/SUBSET.input1, and raw/SUBSET.label for the subsets train, valid and, where its
file is there, test; of MNLI also valid1 and test1, the mismatched ones, and test2, the diagnostic set (diagnostic.tsv
or AX.tsv). raw/labels.txt has the classes in their order. Labels of STS-B become numbers from 0 to 1.

Tasks are CoLA, SST-2, MRPC, STS-B, QQP, MNLI, QNLI, RTE and WNLI. Files are train.tsv, dev.tsv and test.tsv as GLUE's
archive has them, or .gz; or those that GLUE was made of: CoLA's in_domain_train.tsv and others, sts-train.csv,
msr_paraphrase_train.txt with dev_ids.tsv. A quote is a character, columns are found by the header, every line is
checked, and each file must have as many examples as GLUE's.
"""

import argparse
from pathlib import Path

from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import complete_files
from fairseq_rope_data.glue_files import Example, find_source, read_subset
from fairseq_rope_data.glue_tasks import MSR_TRAIN, TASKS, Task


def read_task(
    folder: Path, name: str, *, sample: bool = False, dev_last: int | None = None
) -> dict[str, list[Example]]:
    """Read all subsets of a task; a test set that is not there is left out.

    Raises:
        UserError: see `read_subset`; a file has another number of examples than GLUE's, and it is no sample; a later
            test set is there without an earlier one.
    """
    task = TASKS[name]
    if not folder.is_dir():
        raise UserError(f"DIR must be the folder of {name}'s files, but is {folder}")
    found: dict[str, list[Example]] = {}
    missing = ""
    for subset, size in task.sizes.items():
        source = find_source(folder, task, subset)
        # a set of GLUE's own would have pairs of the other one
        if dev_last is not None and subset in ("train", "valid") and source and source.files != (MSR_TRAIN,):
            raise UserError(f"--dev-last splits {MSR_TRAIN}, but {folder} has {source.files[0]}")
        if subset.startswith("test"):
            if source is None:
                missing = missing or task.sources[subset][0].files[0]
                continue
            if missing:  # fairseq-preprocess numbers the sets that it is given
                raise UserError(f"{folder / source.files[0]}: must come with {missing}, the test set before it")
        examples = read_subset(folder, task, subset, dev_last=dev_last)
        if not examples:
            raise UserError(f"{folder}: the {subset} set has no examples")
        if len(examples) != size and not sample:
            files = " and ".join(source.files) if source else ""
            raise UserError(
                f"{folder / files}: the {subset} set has {len(examples):,} examples, but GLUE's has {size:,}; "
                "--sample takes it as it is"
            )
        found[subset] = examples
    return found


def label_text(label: str, task: Task) -> str:
    """Return a label as the model learns it."""
    return label if task.labels else f"{float(label) / task.scale:.6g}"


def write_task(found: dict[str, list[Example]], task: Task, output: Path) -> None:
    """Write sentences and labels; all files are complete or not there."""
    texts = {"labels.txt": [f"{label} 1" for label in task.labels]} if task.labels else {}
    for subset, examples in found.items():
        for number in range(len(examples[0].inputs)):
            texts[f"{subset}.input{number}"] = [each.inputs[number] for each in examples]
        labels = [each.label for each in examples]
        if None not in labels:
            texts[f"{subset}.label"] = [label_text(label or "", task) for label in labels]
    output.mkdir(parents=True, exist_ok=True)
    with complete_files(*(output / name for name in texts)) as parts:
        for part, lines in zip(parts, texts.values(), strict=True):
            part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def settings(found: dict[str, list[Example]], task: Task) -> list[str]:
    """Return what a recipe must know of a task, a line of shell each."""
    sets = [subset for subset in found if subset != "train"]
    return [
        f"CLASSES={len(task.labels)}",
        f"INPUTS=({' '.join(f'input{number}' for number in range(len(found['train'][0].inputs)))})",
        f"EXAMPLES={len(found['train'])}",
        f"SETS=({' '.join(sets)})",
        f"LABELED=({' '.join(subset for subset in sets if found[subset][0].label is not None)})",
    ]


def main() -> None:
    parser = cli.parser(__doc__, "glue")
    add = parser.add_argument
    add("task", choices=TASKS, metavar="TASK", help=", ".join(TASKS))
    add("folder", type=Path, metavar="DIR", help="the folder of its files")
    add("output", type=Path, metavar="OUT", help="the folder to write; with - the files are checked only")
    add("--sample", action="store_true", help="the files are samples: take another number of examples than GLUE's")
    add("--dev-last", type=int, metavar="N", help="of MRPC without dev_ids.tsv: the last N examples are valid")
    add("--settings", action="store_true", help="print classes and sets as settings of the shell")
    options: argparse.Namespace = parser.parse_args()
    if options.dev_last is not None and options.task != "MRPC":
        raise UserError(f"--dev-last is for MRPC alone, but the task is {options.task}")
    found = read_task(options.folder, options.task, sample=options.sample, dev_last=options.dev_last)
    if str(options.output) != "-":
        write_task(found, TASKS[options.task], options.output)
    if options.settings:
        print("\n".join(settings(found, TASKS[options.task])))
    else:
        print(", ".join(f"{subset} {len(examples):,}" for subset, examples in found.items()))


if __name__ == "__main__":
    run("glue", main)

"""A small pre-trained encoder in the layout of run_mlm.sh's work folder, and files of GLUE with its real columns."""

import random
from pathlib import Path

from tests.support import ROOT
from tests.support.trained import _learn_bpe, call

_TEXT = "the a film story actor plot is was very quite good great fine bad dull awful and but , ."
WORDS = _TEXT.split()
SMALL = "--encoder-layers 2 --encoder-embed-dim 16 --encoder-ffn-embed-dim 32 --encoder-attention-heads 2"
TRAINING = f"""
    --task masked_lm --criterion masked_lm --arch roformer_tiny {SMALL} --tokens-per-sample 32
    --sample-break-mode none --optimizer adam --lr 1e-3 --lr-scheduler fixed --max-update 2 --batch-size 8 --cpu
    --disable-validation --no-epoch-checkpoints --num-workers 0
"""


def sentence(dice: random.Random, label: int) -> str:
    """A review, good or bad."""
    mood = ["good", "great", "fine"] if label else ["bad", "dull", "awful"]
    words = [dice.choice(WORDS[:4]), dice.choice(WORDS[4:6]), dice.choice(["is", "was"]), dice.choice(mood)]
    return " ".join([*words, *dice.choices(WORDS, k=dice.randint(0, 6)), "."])


def pretrained_work(work: Path, models: dict[str, str]) -> Path:
    """Make a work folder with these models, name -> options of fairseq-train beside ours."""
    dice = random.Random(1)
    text = work / "text"
    text.mkdir(parents=True)
    lines = [sentence(dice, i % 2) for i in range(200)]
    for lang in ("en", "de"):
        (text / f"tok.{lang}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    _learn_bpe(text, text / "codes")
    data = work / "data-bin"
    call("fairseq_cli.preprocess", "--only-source", "--trainpref", str(text / "bpe.en"), "--destdir", str(data))
    for name, options in models.items():
        save = ["--user-dir", str(ROOT / "fairseq_rope"), "--save-dir", str(work / name)]
        call("fairseq_cli.train", str(data), *save, *TRAINING.split(), *options.split())
        (work / name / "checkpoint_last.pt").rename(work / name / "averaged.pt")
    settings = ["SOURCE_LANG=en", "NORMALIZE=0", "LOWERCASE=0", "MOSES=", "BPE=subword_nmt"]
    call("fairseq_rope_data.manifest", str(work), *settings)
    return work


def sst2(folder: Path, *, test: bool = True) -> Path:
    """Files of SST-2's columns: 48 examples to train, 16 to validate, 4 without labels."""
    dice = random.Random(2)
    folder.mkdir(parents=True)
    for name, size in (("train", 48), ("dev", 16)):
        rows = [f"{sentence(dice, i % 3 > 0)}\t{int(i % 3 > 0)}" for i in range(size)]
        (folder / f"{name}.tsv").write_text("\n".join(["sentence\tlabel", *rows]) + "\n", encoding="utf-8")
    if test:
        rows = [f'{i}\t{sentence(dice, i % 2)} "quoted' for i in range(4)]
        (folder / "test.tsv").write_text("\n".join(["index\tsentence", *rows]) + "\n", encoding="utf-8")
    return folder


def stsb(folder: Path) -> Path:
    """Files of STS-B's columns: 32 pairs to train, 12 to validate."""
    dice = random.Random(3)
    folder.mkdir(parents=True)
    names = ["index", "genre", "filename", "year", "old_index", "source1", "source2", "sentence1", "sentence2", "score"]
    for name, size in (("train", 32), ("dev", 12)):
        rows = []
        for i in range(size):
            pair = (sentence(dice, 1), sentence(dice, i % 2))
            rows.append("\t".join([str(i), *"abcdef", *pair, f"{dice.choice([0.5, 1.25, 5.0])}"]))
        (folder / f"{name}.tsv").write_text("\n".join(["\t".join(names), *rows]) + "\n", encoding="utf-8")
    return folder

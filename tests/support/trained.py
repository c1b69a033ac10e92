"""A small real model for tests of the tools: text made here, then the real command lines from tokens to a checkpoint.

Use it through the fixture `trained` of tests/conftest.py: it is trained once in a session.
"""

import io
import random
from pathlib import Path
from typing import NamedTuple

from fairseq.data.encoders.moses_tokenizer import MosesTokenizer, MosesTokenizerConfig
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

from tests.support import ROOT
from tests.support.forked import Done, shared_server

_WHO = ["the dog", "the old man", "my sister", "Anna", "the teacher's cat", "a child", "our neighbor"]
_DOES = ["sees", "likes", "calls", "helps", "follows", "finds"]
_WHEN = ["today", "tomorrow", "every morning", "at 10.30", "in Berlin, again", "(perhaps) soon"]
_GERMAN = {
    **{"the": "der", "old": "alte", "man": "Mann", "dog": "Hund", "my": "meine", "sister": "Schwester", "a": "ein"},
    **{"teacher's": "Lehrers", "cat": "Katze", "child": "Kind", "our": "unser", "neighbor": "Nachbar"},
    **{"sees": "sieht", "likes": "mag", "calls": "ruft", "helps": "hilft", "follows": "folgt", "finds": "findet"},
    **{"today": "heute", "tomorrow": "morgen", "every": "jeden", "morning": "Morgen", "at": "um", "Berlin,": "Berlin,"},
    **{"again": "wieder", "(perhaps)": "(vielleicht)", "soon": "bald"},
}


SIZES = """
    --arch transformer_rope_tiny --encoder-layers 2 --decoder-layers 2 --encoder-embed-dim 32 --decoder-embed-dim 32
    --encoder-ffn-embed-dim 64 --decoder-ffn-embed-dim 64 --encoder-attention-heads 2 --decoder-attention-heads 2
"""
TRAINING = f"""
    {SIZES} --dropout 0.1 --criterion label_smoothed_cross_entropy --label-smoothing 0.1 --optimizer adam
    --lr 1e-2 --lr-scheduler inverse_sqrt --warmup-updates 40 --max-update 150 --max-tokens 600 --seed 1 --cpu
    --disable-validation --no-epoch-checkpoints --save-interval 1000 --num-workers 0
"""


class Trained(NamedTuple):
    """What a user has after a training: the folder for DATA, a checkpoint, BPE codes, and raw source lines."""

    data: Path
    checkpoint: Path
    codes: Path
    lines: list[str]

    def options(self) -> list[str]:
        """The command line that translates raw text with it, from DATA on, for fairseq-interactive and ours."""
        names = [str(self.data), "--path", str(self.checkpoint), "--bpe-codes", str(self.codes)]
        return [*names, "--bpe", "subword_nmt", "--tokenizer", "moses", "-s", "en", "-t", "de", "--cpu"]


def call(*command: str, stdin: bytes = b"", **settings: str) -> Done:
    """Run `python -m command` from the repository's root on one core; a failure shows its stderr.

    `settings` are environment variables.
    """
    module, *arguments = command
    done = shared_server().call(module, arguments, stdin=stdin, timeout=600, **settings)
    assert done.status == 0, f"{command}: {done.text[-3000:]}"
    return done


def trained_model(folder: Path, options: str = "", *, window: int = 1, padding: int = 8) -> Trained:
    """Make a corpus of 300 pairs in `folder`, learn BPE on it and train a small model, with `options` after ours.

    With a window above 1 it is trained on windows of 1 to so many lines. The dictionary has a multiple of `padding`
    entries; with 8, fairseq's default, it happens to need no more than it has.
    """
    source = _sentences(300)
    texts = {"en": source, "de": [_translate(line) for line in source]}
    for lang, lines in texts.items():
        tokenize = MosesTokenizer(MosesTokenizerConfig(source_lang=lang)).encode
        (folder / f"tok.{lang}").write_text("".join(f"{tokenize(line)}\n" for line in lines), encoding="utf-8")
    codes, data, save = folder / "codes", folder / "data-bin", folder / "checkpoints"
    _learn_bpe(folder, codes)
    prefix = str(folder / "bpe")
    if window > 1:
        order = ["--size", str(window), "--random", "--singles", "--any-order"]
        call(
            "fairseq_rope_data.windows",
            "make",
            "--source-lang",
            "en",
            "--target-lang",
            "de",
            *order,
            prefix,
            f"{prefix}.w",
        )
        prefix = f"{prefix}.w"
    files = ["--destdir", str(data), "--trainpref", prefix, "--validpref", prefix, "--padding-factor", str(padding)]
    call("fairseq_cli.preprocess", "-s", "en", "-t", "de", "--joined-dictionary", *files)
    _train(data, save, options)
    return Trained(data, save / "checkpoint_last.pt", codes, source)


def _sentences(count: int) -> list[str]:
    rng = random.Random(1)
    return [
        f"{rng.choice(_WHO).capitalize()} {rng.choice(_DOES)} {rng.choice(_WHO)} {rng.choice(_WHEN)}{rng.choice('.?!')}"
        for _ in range(count)
    ]


def _translate(line: str) -> str:
    words = [_GERMAN.get(word, _GERMAN.get(word.lower(), word)) for word in line[:-1].split()]
    return " ".join(words)[:1].upper() + " ".join(words)[1:] + line[-1]


def _learn_bpe(folder: Path, codes: Path) -> None:
    tokens = {lang: (folder / f"tok.{lang}").read_text(encoding="utf-8") for lang in ("en", "de")}
    with codes.open("w", encoding="utf-8") as file:
        learn_bpe(io.StringIO("".join(tokens.values())), file, num_symbols=120)
    with codes.open(encoding="utf-8") as file:
        bpe = BPE(file)
    for lang, text in tokens.items():
        pieces = "".join(f"{bpe.process_line(line)}\n" for line in text.splitlines())
        (folder / f"bpe.{lang}").write_text(pieces, encoding="utf-8")


def _train(data: Path, save: Path, options: str) -> None:
    command = ["fairseq_cli.train", str(data), "--user-dir", str(ROOT / "fairseq_rope"), "--save-dir", str(save)]
    # the faster library at these sizes
    call(*command, *TRAINING.split(), *options.split(), FAIRSEQ_ROPE_PRODUCTS="torch")

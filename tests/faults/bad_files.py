"""A tiny trained model and what may be wrong with it: files for the table of bad input."""

import gzip
import os
import shlex
import shutil
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch

import fairseq_rope  # noqa: F401  torch then loads fairseq's checkpoints
from tests.support import ROOT
from tests.support.roformers import TOKENS, our_model, save_ours, their_tensors, write_folder, write_vocabulary
from tests.support.trained import SIZES, Trained, call, trained_model

LOG = "S-0\tein Hund\nT-0\ta dog\nH-0\t-0.5\ta dog\nD-0\t-0.5\ta dog\nP-0\t-0.5\n"
END = "Generate test with beam=5: BLEU4 = 10.00, 20.0/15.0/10.0/5.0 (BP=1.000, ratio=1.000, syslen=9, reflen=9)\n"
VALID = "epoch 001 | valid on 'valid' subset | loss 5.0 | nll_loss 4.0 | ppl 16 | num_updates 10\n"
GERMAN = ["Der alte Mann sieht heute den Hund.", "Meine Schwester ruft morgen das Kind.", "Wir sind in Berlin."]
ENGLISH = ["The old man sees the dog today.", "My sister will call the child tomorrow.", "We are in Berlin."]


class Runs:
    """Runs code where a pickle of it is loaded."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch ran",)


def make(folder: Path) -> dict[str, str]:
    """Make all files in `folder`; name -> path or options, as a shell takes them, for the table's commands."""
    folder.mkdir()
    good = trained_model(_made(folder / "trained"))
    exported = folder / "exported"
    model = ("--path", str(good.checkpoint), "--data", str(good.data))
    call("fairseq_rope.export.ctranslate2", *model, "--output", str(exported))
    paths = {"data": good.data, "model": good.checkpoint, "codes": good.codes, "exported": exported}
    paths["plugin"] = ROOT / "fairseq_rope"
    for make_some in (_checkpoints, _data, _models, _hugging_face, _texts, _work_folders):
        paths |= {path.name: path for path in make_some(folder, good, exported)}
    names = {name: shlex.quote(str(path)) for name, path in paths.items()}
    return names | {
        "translate": f"{names['data']} --path {names['model']} --bpe-codes {names['codes']} --bpe subword_nmt "
        "--tokenizer moses --cpu",
        "train": f"{names['data']} --cpu --user-dir {names['plugin']} {' '.join(SIZES.split())} --optimizer adam "
        "--lr 1e-3 --max-tokens 1000 --max-update 2 --save-dir save --num-workers 0",
        "another-base": shlex.quote("{'rope_base': 500.0}"),
        "other-heads": shlex.quote("{'encoder_attention_heads': 1}"),
        "misspelt": shlex.quote("{'rope_scalling': 'ntk'}"),
        "half-a-factor": shlex.quote("{'rope_scaling': 'ntk', 'rope_scaling_factor': 0.5}"),
    }


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _checkpoints(folder: Path, good: Trained, _: Path) -> list[Path]:
    data = good.checkpoint.read_bytes()
    changed: dict[str, Callable[[dict[str, Any]], object]] = {
        "nan.pt": lambda state: state["model"]["encoder.layers.0.fc1.bias"].fill_(float("nan")),
        "shape.pt": lambda state: state["model"].update({"encoder.layers.0.fc1.bias": torch.zeros(3)}),
        "lacks.pt": lambda state: state["model"].pop("encoder.layers.0.fc1.bias"),
        "text.pt": lambda state: state["model"].update({"encoder.layers.0.fc1.bias": "weights"}),
        "eval.pt": lambda state: setattr(
            state["cfg"]["model"], "adaptive_softmax_cutoff", "__import__('os').system('touch ran') or [10]"
        ),
        "average.pt": lambda state: state.pop("last_optimizer_state"),
        "stock.pt": lambda state: (setattr(state["cfg"]["model"], "arch", "transformer"), _named(state, "transformer")),
    }
    made = []
    state = torch.load(good.checkpoint, map_location="cpu", weights_only=True)
    for name, change in changed.items():
        other = deepcopy(state)
        change(other)
        torch.save(other, folder / name)
        made.append(folder / name)
    torch.save({"model": Runs()}, folder / "pickle.pt")
    torch.save([1, 2], folder / "list.pt")
    (folder / "truncated.pt").write_bytes(data[: len(data) * 2 // 3])
    middle = len(data) // 2
    (folder / "zeros.pt").write_bytes(data[:middle] + bytes(20_000) + data[middle + 20_000 :])
    (folder / "page.pt").write_text("<!DOCTYPE html><html>404 not found</html>")
    made += [folder / f"{name}.pt" for name in ("pickle", "list", "truncated", "zeros", "page")]
    return made


def _named(state: dict[str, Any], name: str) -> None:
    state["cfg"]["model"]._name = name


def _data(folder: Path, good: Trained, _: Path) -> list[Path]:
    made = {name: folder / name for name in ("small-dict", "no-dict", "bad-dict")}
    for path in made.values():
        shutil.copytree(good.data, path)
    for lang in ("en", "de"):
        dictionary = good.data / f"dict.{lang}.txt"
        lines = dictionary.read_text().splitlines(keepends=True)
        (made["small-dict"] / dictionary.name).write_text("".join(lines[: len(lines) // 2]))
        (made["bad-dict"] / dictionary.name).write_text("".join(lines[:5]) + "no count\n")
        (made["no-dict"] / dictionary.name).unlink()
    return list(made.values())


def _models(folder: Path, _: Trained, exported: Path) -> list[Path]:
    made = {name: folder / name for name in ("no-model", "bad-settings", "cut-model", "bad-vocabulary")}
    for path in made.values():
        shutil.copytree(exported, path)
    (made["no-model"] / "model.bin").unlink()
    (made["bad-settings"] / "fairseq_rope.json").write_text('{"source_lang": "en"')
    weights = made["cut-model"] / "model.bin"
    weights.write_bytes(weights.read_bytes()[:-5000])
    (made["bad-vocabulary"] / "shared_vocabulary.json").write_text('["a"')
    return list(made.values())


def _hugging_face(folder: Path, *_: object) -> list[Path]:
    changes: dict[str, dict[str, Any]] = {
        "hf-good": {},
        "hf-bert": {"model_type": "bert"},
        "hf-values": {"rotary_value": True},
        "hf-layers": {"num_hidden_layers": 3},
        **{f"hf-{name}": {} for name in ("bad-config", "vocabulary", "cut", "pickle")},
    }
    made = [write_folder(folder / name, weights=their_tensors(), **change) for name, change in changes.items()]
    *_, bad_config, vocabulary, cut, pickle = made
    (bad_config / "config.json").write_text('{"model_type": "roformer"')
    write_vocabulary(vocabulary, TOKENS[:-1])
    weights = (cut / "model.safetensors").read_bytes()
    (cut / "model.safetensors").write_bytes(weights[:-500])
    (pickle / "model.safetensors").unlink()
    torch.save({"weight": Runs()}, pickle / "pytorch_model.bin")
    checkpoint, _ = save_ours(_made(folder / "roformer"), our_model())
    return [*made, checkpoint.rename(folder / "roformer.pt")]


def _texts(folder: Path, _: Trained, __: Path) -> list[Path]:
    half = gzip.compress(b"a line\n" * 1000)
    texts: dict[str, str | bytes] = {
        "good.en": "\n".join(ENGLISH * 20) + "\n",
        "good.de": "\n".join(GERMAN * 20) + "\n",
        "swapped.en": "\n".join(GERMAN * 20) + "\n",
        "swapped.de": "\n".join(ENGLISH * 20) + "\n",
        "same.en": "\n".join(ENGLISH) + "\n",
        "same.de": "\n".join(ENGLISH) + "\n",
        "short.en": "\n".join(ENGLISH * 20) + "\n",
        "short.de": "\n".join(GERMAN) + "\n",
        "blank.en": "\n" * 5,
        "blank.de": "\n" * 5,
        "empty.txt": "",
        "latin1.txt": "a line\nGr\xfc\xdfe\n".encode("latin-1"),
        "page.txt": "<!DOCTYPE html>\n<html><body>404</body></html>\n",
        "cut.gz": half[: len(half) // 2],
        "two.txt": "a dog\na cat\n",
        "one.txt": "a dog\n",
        "marks.txt": "a d@@ og\na cat\n",
        "gap.txt": "a dog\n\n",
        "letters.txt": "abcdefg\n",
        "cases.json": '{"A": "a", "B": "b", "C": "c", "label": "B"}\n{"A": "a", "B": "b"}\n',
        "labels.json": '{"A": "a", "B": "b", "C": "c", "label": "A"}\n',
        "codes.txt": "#version: 0.2\na b\nthree words here\n",
        "no-codes.txt": "#version: 0.2\n",
        "test.sgm": '<srcset setid="x">\n<doc docid="a">\n<seg id="1">a line\nand more</seg>\n</doc>\n</srcset>\n',
        "done.log": LOG + END,
        "cut.log": LOG,
        "twice.log": LOG + LOG + END,
        "huge.log": LOG + LOG.replace("-0\t", "-60000000\t") + END,
        "quiet.log": END,
        "shuffled.txt": "\n".join(_numbered(20)[1:] + _numbered(20)[:1]) + "\n",
        "ordered.txt": "\n".join(_numbered(20)) + "\n",
    }
    for name, text in texts.items():
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    prefixes = [folder / name for name in ("good", "swapped", "same", "short", "blank")]
    return [*(folder / name for name in texts), *prefixes]


def _numbered(count: int) -> list[str]:
    """Sentences that share no phrase."""
    return [
        " ".join(f"{word}{i}" for word in ("we", "saw", "one", "red", "bird", "near", "house")) for i in range(count)
    ]


def _work_folders(folder: Path, good: Trained, _: Path) -> list[Path]:
    nothing, no_model, cut_log, bad_score = (
        _made(folder / name) for name in ("nothing", "raw-only", "no-valid", "bad-score")
    )
    (_made(no_model / "raw") / "test.de").write_text("ein Hund\n")
    (_made(cut_log / "rope") / "train.log").write_text("begin\n")
    (_made(bad_score / "rope") / "train.log").write_text(VALID)
    (bad_score / "rope" / "score-test.json").write_text('{"scores": [')
    forgotten = _made(folder / "no-last")
    shutil.copyfile(good.checkpoint, forgotten / "checkpoint3.pt")
    average = _made(folder / "average-last")
    shutil.move(folder / "average.pt", average / "checkpoint_last.pt")
    archives = _made(folder / "pages")
    for name in ("training-parallel-europarl-v7.tgz", "training-parallel-commoncrawl.tgz"):
        (archives / name).write_text("<html>moved</html>")
    return [nothing, no_model, cut_log, bad_score, forgotten, average, archives]

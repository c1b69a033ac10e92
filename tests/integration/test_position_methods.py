"""Models of other position methods through the command lines: train, resume, average, generate, translate, export."""

import math
from pathlib import Path

import ctranslate2
import pytest
import torch
from torch import Tensor

import fairseq_rope
from fairseq_rope.export.ctranslate2 import export_checkpoint
from fairseq_rope.inference.translator import Translator
from tests.integration.test_generate import lines
from tests.support import ROOT
from tests.support.ctranslate2_runtime import pair, runtime_scores
from tests.support.near import SCORES
from tests.support.trained import TRAINING, Trained, call

USER_DIR = ("--user-dir", str(ROOT / "fairseq_rope"))
SEARCH = ("--beam", "4", "--lenpen", "0.6")
# an average of 41 and 82 updates knows less than the model of test_search.py, whose reason makes more searches differ
SAME_TEXT = 0.95


def train(trained: Trained, folder: Path, *options: str) -> None:
    call("fairseq_cli.train", str(trained.data), *USER_DIR, "--save-dir", str(folder), *TRAINING.split(), *options)


def weights(path: Path) -> dict[str, Tensor]:
    model: dict[str, Tensor] = torch.load(path, map_location="cpu", weights_only=False)["model"]
    return model


def generate(trained: Trained, path: Path, *options: str) -> dict[int, list[tuple[float, str]]]:
    """What fairseq-generate finds for each sentence: scores, to base 2, and texts."""
    command = ["fairseq_cli.generate", str(trained.data), *USER_DIR, "--path", str(path), "--cpu", *SEARCH]
    batches = ("--gen-subset", "valid", "--max-tokens", "600", "--required-batch-size-multiple", "1")
    log = call(*command, *batches, *options).stdout.decode().splitlines()
    found = {number: [line.split("\t") for line in of] for number, of in lines(log, "H").items()}
    return {number: [(float(score), text) for score, text in of] for number, of in found.items()}


@pytest.mark.parametrize("method", ["t5", "shaw"])
def test_a_method_with_weights_of_its_own_is_trained_averaged_and_used(
    method: str, trained: Trained, tmp_path: Path
) -> None:
    # no epoch ends there, where fairseq would save under another name
    settings = ("--position-method", method, "--max-update", "82", "--save-interval-updates", "41")
    train(trained, tmp_path / "whole", *settings)
    paths = [next((tmp_path / "whole").glob(f"checkpoint_*_{updates}.pt")) for updates in (41, 82)]
    earlier, later = map(weights, paths)
    own = [name for name in later if "position_weights" in name]
    assert len(own) == {"t5": 2, "shaw": 8}[method]
    assert all((later[name] != earlier[name]).any() for name in own)

    train(trained, tmp_path / "resumed", *settings, "--restore-file", str(paths[0]))
    resumed = weights(tmp_path / "resumed" / "checkpoint_last.pt")
    assert all(torch.equal(resumed[name], later[name]) for name in later)

    average = tmp_path / "average.pt"
    call("fairseq_rope.tools.average", "--inputs", *map(str, paths), "--output", str(average))
    averaged = weights(average)
    for name in own:
        torch.testing.assert_close(averaged[name], (earlier[name] + later[name]) / 2)

    generated = generate(trained, average)
    options = [*trained.options(), *SEARCH, "--path", str(average)]
    translator = Translator.from_args(options)
    sources = [translator.codec.encode(line, max_tokens=100).tokens for line in trained.lines]
    words = translator.task.target_dictionary
    hypotheses = dict(translator.engine.translate(sources))
    for number, ((score, text),) in generated.items():
        assert words.string(hypotheses[number].tokens[:-1]) == text
        assert hypotheses[number].score == pytest.approx(score * math.log(2), abs=1e-4)

    model = fairseq_rope.TransformerRopeModel.from_pretrained(
        *(str(average.parent), average.name, str(trained.data)),
        tokenizer="moses",
        bpe="subword_nmt",
        bpe_codes=str(trained.codes),
    )
    head = trained.lines[:5]
    assert model.translate(head, beam=4, lenpen=0.6) == list(translator.translate(head))

    export_checkpoint(average, trained.data, tmp_path / "model")
    runtime = Translator.from_args([*options, "--engine", "ctranslate2", "--path", str(tmp_path / "model")])
    same = sum(found.tokens == hypotheses[number].tokens for number, found in runtime.engine.translate(sources))
    assert same >= SAME_TEXT * len(sources)
    scorer = ctranslate2.Translator(str(tmp_path / "model"), "cpu", intra_threads=1)
    for number, source in enumerate(sources):
        tokens, score = hypotheses[number].tokens, hypotheses[number].score
        scores = runtime_scores(scorer, words, pair(source, torch.as_tensor(tokens)))
        assert scores.sum().item() == pytest.approx(score * len(tokens) ** 0.6, abs=SCORES["runtime"] * len(tokens))


@pytest.mark.parametrize("method", ["sinusoidal", "learned"])
def test_a_stock_model_goes_on_with_its_positions(method: str, trained: Trained, tmp_path: Path) -> None:
    learned = ["--encoder-learned-pos", "--decoder-learned-pos"] if method == "learned" else []
    sizes = ("--share-all-embeddings", "--encoder-ffn-embed-dim", "64")
    stock = ("--arch", "transformer", *sizes)
    train(trained, tmp_path / "stock", *stock, *learned, "--max-update", "80")
    before = tmp_path / "stock" / "checkpoint_last.pt"
    ours = ("--arch", "transformer_rope", *sizes, "--position-method", method)
    once = ("--finetune-from-model", str(before), "--max-update", "1", "--lr", "0", "--lr-scheduler", "fixed")
    train(trained, tmp_path / "ours", *ours, *once)
    after = tmp_path / "ours" / "checkpoint_last.pt"
    kept, unchanged = weights(before), weights(after)
    assert all(torch.equal(unchanged[name], kept[name]) for name in unchanged if "_float_tensor" not in name)

    expected, found = (generate(trained, path, "--nbest", "4") for path in (before, after))
    for number in expected:
        assert [text for _, text in found[number]] == [text for _, text in expected[number]]
        scores = [[score for score, _ in lists[number]] for lists in (found, expected)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-4)

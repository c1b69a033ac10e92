"""What the tests of the export share: a model with every weight in use, written and loaded, and its scores."""

from pathlib import Path

import ctranslate2
import torch
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from torch import Tensor, nn

from fairseq_rope.export.ctranslate2.model_folder import token_names
from fairseq_rope.export.ctranslate2.writer import write_model
from tests.support.small import EOS, PAD, sample, small


def task_of(source, target) -> TranslationTask:
    return TranslationTask(TranslationConfig(source_lang="en", target_lang="de"), source, target)


def stirred(arch: str = "transformer_rope", **options) -> nn.Module:
    """A small model whose biases and norms are no longer zero and one, so that each of them counts."""
    return stir(small(arch, **options))


@torch.no_grad()
def stir(model: nn.Module) -> nn.Module:
    generator = torch.Generator().manual_seed(5)
    for parameter in model.parameters():
        parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.05)
    return model


def runtime(model: nn.Module, folder: Path, *, task: TranslationTask | None = None, **options: str):
    """Write a model and load it with CTranslate2, on one thread; products are of float32, however it is stored."""
    folder.mkdir()
    task = task or task_of(model.encoder.dictionary, model.decoder.dictionary)
    write_model(folder, task, model, **options)
    return ctranslate2.Translator(str(folder), "cpu", intra_threads=1, compute_type="float32")


def runtime_scores(translator, dictionary, batch: dict) -> Tensor:
    """The log-probability of each target token of a batch, sentence after sentence."""
    names = token_names(dictionary)
    source, target = (
        [[names[token] for token in row.tolist() if token not in (PAD, EOS)] for row in tokens]
        for tokens in (batch["net_input"]["src_tokens"], batch["target"])
    )
    results = translator.score_batch(source, target, max_input_length=0)
    return torch.tensor([score for result in results for score in result.log_probs])


@torch.no_grad()
def fairseq_scores(model: nn.Module, batch: dict) -> Tensor:
    target = batch["target"]
    log_probs = model(**batch["net_input"])[0].log_softmax(-1)
    return log_probs.gather(-1, target[..., None]).squeeze(-1)[target.ne(PAD)]


def score_both(model: nn.Module, folder: Path, **options: str) -> tuple[Tensor, Tensor]:
    """What CTranslate2 and fairseq give for the sentences of `sample`."""
    batch = sample()
    translator = runtime(model, folder, **options)
    return runtime_scores(translator, model.decoder.dictionary, batch), fairseq_scores(model, batch)


def pair(source: Tensor, target: Tensor) -> dict:
    """A batch of one sentence, (S,) and (T,), both with </s>."""
    net_input = dict(
        src_tokens=source[None], src_lengths=torch.tensor([len(source)]), prev_output_tokens=target.roll(1)[None]
    )
    return dict(net_input=net_input, target=target[None])

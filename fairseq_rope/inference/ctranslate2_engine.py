"""Translate tokens with CTranslate2, to the translations and scores of fairseq's generator.

Its search is fairseq's but for two things. Where fairseq forbids a token, <pad> anywhere and </s> at the start, it
shares that token's probability among the others; a trained model gives these next to none. A translation that reaches
its limit ends there, while fairseq still compares how well each of the beam could end: another may be taken.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from fairseq_rope.checkpoints.loading import brief
from fairseq_rope.export.ctranslate2.model_folder import ModelFolder, token_names
from fairseq_rope.export.ctranslate2.package import check_compute_type, device_of, require_ctranslate2, share_threads
from fairseq_rope.inference.engine import Hypothesis, length_batches
from fairseq_rope.inference.engine_options import RuntimeOptions
from fairseq_rope_data.errors import UserError

_NO_PENALTY = 1e-10
# sentences of a batch on a CPU, at most; measured at 128 and 512 dimensions, beam 4
_CPU_BATCH = 32


class CTranslate2Engine:
    """An `Engine` on the GPU if there is one and `--cpu` isn't given.

    Args:
        cfg: fairseq's configuration.
        task: fairseq's translation task, with its dictionaries.
        options: of the runtime, with the model folder.

    Raises:
        UserError: the package is missing, the folder cannot be loaded, the dictionaries are not the model's, or
            the device cannot compute in the type that is asked for or stored.
    """

    def __init__(self, cfg: Any, task: Any, options: RuntimeOptions) -> None:
        self.cfg, self.task = cfg, task
        package = require_ctranslate2()
        folder = options.folder
        _check_dictionaries(folder, task)
        self.path = folder.path
        self.source_names = folder.source_names
        self.target_ids = {name: i for i, name in enumerate(folder.target_names)}
        self.settings = folder.settings
        self.eos: int = task.target_dictionary.eos()
        self.special_ids = {self.eos}
        self.max_source_tokens: int = min(
            task.max_positions()[0], folder.settings.max_source_positions, cfg.dataset.max_tokens or 10**9
        )
        self.search = self._search(folder.target_names)
        device = device_of(package, cpu=cfg.common.cpu)
        self.shares_evenly = options.own_batches and device == "cpu"
        self.batch_size: int | None = _CPU_BATCH if self.shares_evenly else cfg.dataset.batch_size
        threads = share_threads(
            options.inter_threads,
            options.intra_threads,
            # a GPU takes one batch after the other
            cores=torch.get_num_threads() if device == "cpu" else 1,
            batches=math.ceil(cfg.interactive.buffer_size / (self.batch_size or 1)),
        )
        self.workers = threads[0]
        self.translator = _load(package, folder, device, options.compute_type, threads)

    def translate(self, sources: Sequence[Tensor]) -> Iterator[tuple[int, Hypothesis | None]]:
        """See `Engine`."""
        lengths = [len(source) for source in sources]
        dataset = self.task.build_dataset_for_inference(list(sources), lengths)
        running = []
        # all are started before the first is awaited, so that several threads have work
        sizes = {"max_tokens": self.cfg.dataset.max_tokens, "max_sentences": self._batch_size(len(sources))}
        for batch in length_batches(dataset, lengths, **sizes):
            limit = self._limit(max(lengths[index] for index in batch))
            # without </s>, which the model adds
            names = [[self.source_names[token] for token in sources[index].tolist()[:-1]] for index in batch]
            results = self.translator.translate_batch(
                names, asynchronous=True, max_decoding_length=limit + 1, **self.search
            )
            running.append((batch, limit, results))
        for batch, limit, results in running:
            for index, result in zip(batch, results, strict=True):
                try:
                    found = result.result()
                except RuntimeError as error:  # the memory of a GPU
                    raise UserError(f"the search with {self.path} failed: {brief(error)}") from error
                yield int(index), self._hypothesis(found, limit)

    def _batch_size(self, sentences: int) -> int | None:
        """Return how many sentences a batch has; on a CPU no worker is left without one while others have more."""
        if not (self.batch_size and self.shares_evenly):
            return self.batch_size
        rounds = math.ceil(sentences / (self.workers * self.batch_size))
        return max(1, math.ceil(sentences / max(1, self.workers * rounds)))

    def _limit(self, width: int) -> int:
        """Return how many target tokens without </s> fit; `width` is the longest source of the batch, with </s>."""
        options = self.cfg.generation
        return min(int(options.max_len_a * width + options.max_len_b), self.settings.max_target_positions - 1)

    def _search(self, target_names: list[str]) -> dict[str, Any]:
        """Return the options of the search, in the runtime's names."""
        options = self.cfg.generation
        return {
            "beam_size": min(options.beam, len(target_names) - 1),
            # with 0 it would search on until the best of the beam ends; the other is 1 to every length in float32
            "length_penalty": (0.0 if options.unnormalized else options.lenpen) or _NO_PENALTY,
            "min_decoding_length": options.min_len,
            "max_input_length": 0,
            # with </s> in the hypothesis, a length is what fairseq takes to the power of --lenpen
            "return_end_token": True,
            "return_scores": True,
            "suppress_sequences": [[target_names[self.task.target_dictionary.pad()]]],
        }

    def _hypothesis(self, result: Any, limit: int) -> Hypothesis:
        tokens = [self.target_ids[name] for name in result.hypotheses[0]]
        if tokens[-1] != self.eos:
            tokens[-1] = self.eos  # it was cut; fairseq ends it after `limit` tokens
        return Hypothesis(tokens, result.scores[0], limit)


def _check_dictionaries(folder: ModelFolder, task: Any) -> None:
    for side, dictionary, names in (
        ("source", task.source_dictionary, folder.source_names),
        ("target", task.target_dictionary, folder.target_names),
    ):
        if token_names(dictionary) != names:
            raise UserError(
                f"DATA {task.cfg.data} does not fit --path {folder.path}: its {side} dictionary has "
                f"{len(dictionary):,} words and the model {len(names):,}, or others; the folder itself can be DATA"
            )


def _load(package: Any, folder: ModelFolder, device: str, compute_type: str | None, threads: tuple[int, int]) -> Any:
    if compute_type is None:
        stored = folder.settings.quantization
        check_compute_type(package, stored, device, named=f"--path {folder.path}: its --quantization")
    else:
        check_compute_type(package, compute_type, device, named="--compute-type")
    try:
        return package.Translator(
            str(folder.path),
            device,
            compute_type=compute_type or "default",
            inter_threads=threads[0],
            intra_threads=threads[1],
        )
    except (RuntimeError, ValueError) as error:  # a damaged model.bin or config.json
        raise UserError(f"--path {folder.path} cannot be loaded: {brief(error)}") from error

"""Translate tokens with fairseq's own generator: every option, ensembles, any task."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from fairseq import utils
from torch import Tensor

from fairseq_rope.checkpoints.loading import brief, load_ensemble
from fairseq_rope.inference.engine import Hypothesis, length_batches
from fairseq_rope_data.errors import UserError

# of a search: options, memory, a model's NaN
_FAILURES = (ArithmeticError, AssertionError, RuntimeError, TypeError, ValueError)


class FairseqEngine:
    """An `Engine` on the GPU if there is one and `--cpu` isn't given.

    Args:
        cfg: fairseq's configuration.
        task: fairseq's task, with its dictionaries.

    Raises:
        UserError: a checkpoint can't be loaded, or options exclude each other.
    """

    def __init__(self, cfg: Any, task: Any) -> None:
        self.cfg, self.task = cfg, task
        self.use_cuda = torch.cuda.is_available() and not cfg.common.cpu
        self.models = load_ensemble(cfg, task, use_cuda=self.use_cuda)
        try:
            self.generator = task.build_generator(self.models, cfg.generation)
        except (AssertionError, ValueError) as error:  # options of the search that exclude each other
            raise UserError(brief(error)) from error
        no_words = {task.target_dictionary.eos()}
        self.special_ids: set[int] = getattr(self.generator, "symbols_to_strip_from_output", no_words)
        self.max_source_tokens = self._max_source_tokens()

    def translate(self, sources: Sequence[Tensor]) -> Iterator[tuple[int, Hypothesis | None]]:
        """See `Engine`."""
        lengths = [len(source) for source in sources]
        # not task.get_batch_iterator: it starts a loader, and keeps every dataset that it has seen
        dataset = self.task.build_dataset_for_inference(list(sources), lengths)
        sizes = {"max_tokens": self.cfg.dataset.max_tokens, "max_sentences": self.cfg.dataset.batch_size}
        for batch in length_batches(dataset, lengths, **sizes):
            sample = dataset.collater([dataset[i] for i in batch])
            # (B, S) and (B); the collater sorts, so `id` tells which is which
            net_input = {name: sample["net_input"][name] for name in ("src_tokens", "src_lengths")}
            width = net_input["src_tokens"].size(1)
            if self.use_cuda:
                net_input = utils.move_to_cuda(net_input)
            try:
                hypotheses = self.task.inference_step(self.generator, self.models, {"net_input": net_input})
            except _FAILURES as error:
                reason = f"by its options, for want of memory or over a NaN: {brief(error)}"
                raise UserError(f"the search with {self.cfg.common_eval.path} failed, {reason}") from error
            for index, ranked in zip(sample["id"].tolist(), hypotheses, strict=True):
                yield index, self._best(ranked, width)

    def _best(self, ranked: list[dict[str, Tensor]], width: int) -> Hypothesis | None:
        """Return the best hypothesis of a sentence; `width` is S of its batch, from which fairseq limits the length."""
        if not ranked:
            return None
        options: Any = self.cfg.generation
        tokens: list[int] = ranked[0]["tokens"].tolist()
        limit = int(options.max_len_a * width + options.max_len_b)
        limit = min(limit, getattr(self.generator, "max_len", limit + 1) - 1)
        return Hypothesis(tokens, float(ranked[0]["score"]), len(tokens) if options.match_source_len else limit)

    def _max_source_tokens(self) -> int:
        """Return how many source tokens, with </s>, fit the task, each model and a batch."""
        limit = utils.resolve_max_positions(self.task.max_positions(), *(m.max_positions() for m in self.models))
        limit = limit[0] if isinstance(limit, tuple | list) else limit
        return min(limit, self.cfg.dataset.max_tokens or limit)

"""What a fine-tuned model predicts: with sentence_prediction a class or a number, with sentence_ranking a choice."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from fairseq import utils
from fairseq.tasks.sentence_prediction import SentencePredictionTask
from fairseq.tasks.sentence_ranking import SentenceRankingTask
from torch import Tensor

from fairseq_rope.checkpoints.loading import brief, load_with_task
from fairseq_rope.scoring.predictions import Predictions
from fairseq_rope_data.errors import UserError


class Classifier:
    """A fine-tuned model.

    Args:
        path: its checkpoint.
        data: the folder with input0, perhaps input1 and more, and label.
        cpu: use no GPU.

    Raises:
        UserError: see `load_with_task`; or the model is of another task.
    """

    def __init__(self, path: str, data: str, *, cpu: bool = False):
        self.path, self.data = path, data
        self.model, self.task = load_with_task(path, data=data)
        self.ranks = isinstance(self.task, SentenceRankingTask)
        if not self.ranks and not isinstance(self.task, SentencePredictionTask):
            name = type(self.task).__name__
            raise UserError(
                f"--path {path} must be a model of sentence_prediction or sentence_ranking, but is of {name}"
            )
        self.cfg = self.task.args if self.ranks else self.task.cfg
        self.head = self._head_name()
        self.gpu = torch.cuda.is_available() and not cpu
        if self.gpu:
            self.model.cuda()

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, those of choices numbers from 0; none where a number is predicted."""
        if self.ranks:
            return tuple(map(str, range(self.cfg.num_classes)))
        if self.cfg.regression_target:
            return ()
        names = self.task.label_dictionary
        return tuple(names[names.nspecial + index] for index in range(self.cfg.num_classes))

    def predict(self, subset: str, *, max_tokens: int = 4096) -> tuple[Predictions, list[str]]:
        """Return what the model predicts of a subset, and a note where examples were cut.

        Args:
            subset: such as valid.
            max_tokens: of a batch, with its padding.

        Raises:
            UserError: the subset cannot be read, or has examples that are too long for the model.
        """
        dataset, longest, cut = self._read(subset)
        limits = [each for each in (self.model.max_positions(), self.task.max_positions()) if isinstance(each, int)]
        limit = min(limits, default=longest)
        if longest > limit:
            raise UserError(
                f"--subset {subset} has an example of {longest} tokens, more than the {limit} of the model: fine-tune "
                "with --shorten-method truncate"
            )
        outputs, targets = self._outputs(dataset, max(max_tokens, longest))
        note = [f"{cut} of {len(outputs)} examples are cut to {self.cfg.max_positions} tokens"] if cut else []
        return _predictions(outputs, targets, self.classes), note

    def _head_name(self) -> str:
        name = getattr(self.cfg, "classification_head_name", None) or getattr(self.cfg, "ranking_head_name", None)
        heads = getattr(self.model, "classification_heads", {})
        name = name or "sentence_classification_head"
        if name not in heads:
            raise UserError(f"--path {self.path} has no classification head {name}, only {', '.join(heads) or 'none'}")
        return str(name)

    def _read(self, subset: str) -> tuple[Any, int, int]:
        """Return a subset, the tokens of its longest example, and how many examples are cut."""
        try:
            whole = self._load(subset, shorten="none")
            dataset = self._load(subset, shorten=self.cfg.shorten_method)
        except Exception as error:  # no such file, or a damaged one: each raises its own
            raise UserError(f"--subset {subset} cannot be read from --data {self.data}: {brief(error)}") from error
        if not len(dataset):
            raise UserError(f"--subset {subset} of --data {self.data} has no examples")
        return dataset, int(np.max(_sizes(dataset))), int(np.sum(_sizes(whole) > _sizes(dataset)))

    def _load(self, subset: str, *, shorten: str) -> Any:
        """Return a subset, its examples cut as in training, or whole where `shorten` is none."""
        names = ("shorten_method", "max_option_length") if self.ranks else ("shorten_method",)
        chosen = {name: getattr(self.cfg, name) for name in names}
        self.cfg.shorten_method = shorten
        if self.ranks and shorten == "none":
            self.cfg.max_option_length = None
        try:
            self.task.load_dataset(subset, combine=False)
        finally:
            for name, value in chosen.items():
                setattr(self.cfg, name, value)
        return self.task.dataset(subset)

    @torch.no_grad()
    def _outputs(self, dataset: Any, max_tokens: int) -> tuple[Tensor, Tensor | None]:
        """Return what the head says of each example, (N, C), and the targets, (N), if there are any."""
        outputs: list[Tensor] = [torch.empty(0)] * len(dataset)
        targets: dict[int, Tensor] = {}
        for batch in _batches(_sizes(dataset), max_tokens):
            sample = dataset.collater([dataset[index] for index in batch])
            sample = utils.move_to_cuda(sample) if self.gpu else sample
            for index, row in zip(sample["id"].tolist(), self._head(sample).float().cpu(), strict=True):
                outputs[index] = row
            if "target" in sample:
                targets |= zip(sample["id"].tolist(), sample["target"].view(-1).cpu(), strict=True)
        ordered = torch.stack([targets[index] for index in range(len(dataset))]) if targets else None
        return torch.stack(outputs), ordered

    def _head(self, sample: dict[str, Any]) -> Tensor:
        """Return logits or a number, (B, C), of a batch."""
        if not self.ranks:
            logits, _ = self.model(**sample["net_input"], features_only=True, classification_head_name=self.head)
            return logits
        names = [f"net_input{choice + 1}" for choice in range(self.cfg.num_classes)]
        # (B, 1) each -> (B, C)
        return torch.cat([self.model(**sample[name], classification_head_name=self.head)[0] for name in names], dim=1)


def _sizes(dataset: Any) -> Any:
    return np.array([dataset.size(index) for index in range(len(dataset))]).reshape(len(dataset), -1).max(1)


def _batches(sizes: Any, max_tokens: int) -> Iterator[Sequence[int]]:
    """Yield examples of about equal length together, no more than `max_tokens` with their padding."""
    batch: list[int] = []
    # the longest first: what does not fit in memory fails at once
    for index in np.argsort(-sizes, kind="stable").tolist():
        if batch and (len(batch) + 1) * sizes[batch[0]] > max_tokens:
            yield batch
            batch = []
        batch.append(index)
    yield batch


def _predictions(outputs: Tensor, targets: Tensor | None, classes: tuple[str, ...]) -> Predictions:
    if not classes:
        # (N, 1) -> (N)
        numbers = outputs.view(-1).tolist()
        labels = [] if targets is None else [f"{value:.6g}" for value in targets.tolist()]
        return Predictions((), labels, [f"{value:.6g}" for value in numbers])
    probabilities, chosen = outputs.softmax(1).max(1)
    labels = [] if targets is None else [classes[index] for index in targets.tolist()]
    return Predictions(classes, labels, [classes[index] for index in chosen.tolist()], probabilities.tolist())

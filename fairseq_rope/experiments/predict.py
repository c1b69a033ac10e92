"""What a fine-tuned model predicts: with sentence_prediction a class or a number, with sentence_ranking a choice."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from fairseq import utils
from fairseq.tasks.sentence_prediction import SentencePredictionTask
from fairseq.tasks.sentence_ranking import SentenceRankingTask
from torch import Tensor

from fairseq_rope.checkpoints.labels import class_names
from fairseq_rope.checkpoints.loading import brief, load_with_task
from fairseq_rope.experiments.targets import read_targets
from fairseq_rope.scoring.prediction_report import CUT_NOTE
from fairseq_rope.scoring.predictions import Predictions
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.recorded import check_recorded


class Classifier:
    """A fine-tuned model.

    Args:
        path: its checkpoint.
        data: the folder with input0, perhaps input1 and more, and label.
        cpu: use no GPU.

    Attributes:
        labels: the dictionary of the labels; None where they are numbers.
        classes: their names; none where a number is predicted.

    Raises:
        UserError: see `load_with_task`; or the model is of another task, has more classes than there are labels, or a
            dictionary is not as a recipe prepared it.
    """

    def __init__(self, path: str, data: str, *, cpu: bool = False):
        self.path, self.data = path, data
        labels = Path(data, "label", "dict.txt")
        for dictionary in (*sorted(Path(data).glob("input*/dict.txt")), labels):
            check_recorded(dictionary)
        self.model, self.task = load_with_task(path, data=data)
        self.ranks = isinstance(self.task, SentenceRankingTask)
        if not self.ranks and not isinstance(self.task, SentencePredictionTask):
            name = type(self.task).__name__
            raise UserError(
                f"--path {path} must be a model of sentence_prediction or sentence_ranking, but is of {name}"
            )
        self.cfg = self.task.args if self.ranks else self.task.cfg
        self.head = self._head_name()
        self.labels = None if self.ranks or self.cfg.regression_target else self.task.label_dictionary
        self.classes: tuple[str, ...] = ()
        if self.ranks:  # choices have numbers from 0
            self.classes = tuple(map(str, range(self.cfg.num_classes)))
        elif self.labels is not None:
            self.classes = class_names(self.labels, self.cfg.num_classes, path=labels)
        self.gpu = torch.cuda.is_available() and not cpu
        if self.gpu:
            self.model.cuda()

    def predict(self, subset: str, *, max_tokens: int = 4096) -> tuple[Predictions, list[str]]:
        """Return what the model predicts of a subset, and a note where examples were cut.

        Args:
            subset: such as valid.
            max_tokens: of a batch, with its padding.

        Raises:
            UserError: the subset cannot be read, has a label that the model has not, or examples that are too long for
                it; or what the model says is not finite.
        """
        dataset, longest, cut = self._read(subset)
        limits = [each for each in (self.model.max_positions(), self.task.max_positions()) if isinstance(each, int)]
        limit = min(limits, default=longest)
        if longest > limit:
            raise UserError(
                f"--subset {subset} has an example of {longest} tokens, more than the {limit} of the model: fine-tune "
                "with --shorten-method truncate"
            )
        targets = read_targets(dataset, self.classes, subset=subset, dictionary=self.labels)
        outputs = self._outputs(dataset, max(max_tokens, longest))
        notes = [f"{cut} of {len(outputs)} {CUT_NOTE}{self._longest()}"] if cut else []
        return _predictions(outputs, targets, self.classes), notes

    def _longest(self) -> str:
        """Return what is left of an example that is cut."""
        option = self.cfg.max_option_length if self.ranks else None
        choice = f", and each text to choose to {option} of these" if option is not None else ""
        return f"{self.cfg.max_positions} tokens{choice}"

    def _head_name(self) -> str:
        name = getattr(self.cfg, "classification_head_name", None) or getattr(self.cfg, "ranking_head_name", None)
        heads = getattr(self.model, "classification_heads", {})
        name = name or "sentence_classification_head"
        if name not in heads:
            raise UserError(f"--path {self.path} has no classification head {name}, only {', '.join(heads) or 'none'}")
        return str(name)

    def _read(self, subset: str) -> tuple[Any, int, int]:
        """Return a subset, the tokens of its longest example, and how many examples are cut."""
        text = Path(self.data, "input0", f"{subset}.bin")
        if text.is_file() and not text.stat().st_size:  # which fairseq cannot open
            raise UserError(f"--subset {subset} of --data {self.data} has no examples")
        try:
            whole = self._load(subset, whole=True)
            dataset = self._load(subset)
        except Exception as error:  # no such file, or a damaged one: each raises its own
            raise UserError(f"--subset {subset} cannot be read from --data {self.data}: {brief(error)}") from error
        return dataset, int(np.max(_sizes(dataset))), int(np.sum(_sizes(whole) > _sizes(dataset)))

    def _load(self, subset: str, *, whole: bool = False) -> Any:
        """Return a subset, its examples cut as in training, or whole."""
        uncut = {"shorten_method": "none", **({"max_option_length": None} if self.ranks else {})}
        chosen = {name: getattr(self.cfg, name) for name in uncut}
        try:
            if whole:
                for name, value in uncut.items():
                    setattr(self.cfg, name, value)
            self.task.load_dataset(subset, combine=False)
        finally:
            for name, value in chosen.items():
                setattr(self.cfg, name, value)
        return self.task.dataset(subset)

    @torch.no_grad()
    def _outputs(self, dataset: Any, max_tokens: int) -> Tensor:
        """Return what the head says of each example, (N, C)."""
        outputs: list[Tensor] = [torch.empty(0)] * len(dataset)
        for batch in _batches(_sizes(dataset), max_tokens):
            sample = dataset.collater([dataset[index] for index in batch])
            sample = utils.move_to_cuda(sample) if self.gpu else sample
            rows = self._head(sample).float().cpu()
            if not rows.isfinite().all():
                raise UserError(f"--path {self.path}: what it says is not finite: its training has diverged")
            for index, row in zip(sample["id"].tolist(), rows, strict=True):
                outputs[index] = row
        return torch.stack(outputs)

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


def _predictions(outputs: Tensor, targets: Sequence[float] | None, classes: tuple[str, ...]) -> Predictions:
    if not classes:
        # (N, 1) -> (N)
        numbers = outputs.view(-1).tolist()
        return Predictions((), [f"{value:.6g}" for value in targets or ()], [f"{value:.6g}" for value in numbers])
    probabilities, chosen = outputs.softmax(1).max(1)
    labels = [classes[int(target)] for target in targets or ()]
    return Predictions(classes, labels, [classes[index] for index in chosen.tolist()], probabilities.tolist())

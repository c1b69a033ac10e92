"""What is measured: one model in one setting, as a worker is told it."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields

MODELS = ("stock", "rope")  # fairseq's `transformer` or `roberta`, and ours
TRAINED = "trained"  # as size, and as length of translations: those of the checkpoints that the user gives


@dataclass(frozen=True)
class Spec:
    """One model in one setting; what a kind of measurement has no use for keeps its default.

    Args:
        kind: train, generate, length, rotation, profile, masked or finetune.
        model: one of MODELS.
        size: a name in `build.SIZES`; TRAINED with a checkpoint of the user's.
        dtype: fp32, bf16 or fp16.
        device: cpu or cuda.
        data: folder of the binarized corpus.
        work: folder for what is made.
        options: the model's own options of fairseq-train.
        memory: bytes that the process may use, 0 for all; on the CPU only.
        max_tokens: size of a training batch.
        block: tokens of a block of running text.
        updates: training steps in a repetition.
        batch: size of a batch to translate, a name in `generate.BATCHES`.
        checkpoint: file of the model that translates.
        steps: tokens of every translation, at least 2; 0: as long as the model wants.
        without: the trick that is switched off, a name in `tricks.TRICKS`.
        length: tokens in each sentence, source and target.
        sentences: sentences in a batch of `length`.
    """

    kind: str
    model: str
    size: str
    dtype: str
    device: str
    data: str
    work: str
    options: tuple[str, ...] = ()
    memory: int = 0
    max_tokens: int = 0
    block: int = 0
    updates: int = 1
    batch: str = ""
    checkpoint: str = ""
    steps: int = 0
    without: str = ""
    length: int = 0
    sentences: int = 0

    @property
    def name(self) -> str:
        """What tells it from the others of its setting."""
        return self.without or self.model

    def dumps(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def loads(cls, text: str) -> "Spec":
        """Return what `dumps` wrote."""
        fields = json.loads(text)
        return cls(**{**fields, "options": tuple(fields["options"])})


@dataclass(frozen=True)
class Repetition:
    """What one repetition did, and how long it took.

    Args:
        seconds: the time.
        tokens: target tokens, of training or translations.
        sentences: sentence pairs.
        steps: training steps; 0 for generation.
        flops: floating-point operations that the model needs for it; 0 when not counted.
        skipped: steps that ended in an overflow of fp16 and left the weights alone.
        seconds_without: what the same steps would take without the rotation, where that is measured.
        padded: places for tokens in the sources and targets of the steps' batches.
        padding: those of them that are padding.
        parts: seconds of each part of the steps, where they are told apart.
    """

    seconds: float
    tokens: int
    sentences: int
    steps: int = 0
    flops: float = 0.0
    skipped: int = 0
    seconds_without: float = 0.0
    padded: int = 0
    padding: int = 0
    parts: dict[str, float] = field(default_factory=dict)


def total(parts: Sequence[Repetition]) -> Repetition:
    """Return repetitions joined into one, whose figures are sums; `parts` are left out."""
    names = [each.name for each in fields(Repetition) if each.name != "parts"]
    return Repetition(**{name: sum(getattr(part, name) for part in parts) for name in names})

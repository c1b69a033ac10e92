"""The checkpoint to convert: fairseq's `transformer`, of any size and age."""

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY
from fairseq.models.transformer import TransformerModel
from fairseq.tasks.translation import TranslationTask
from omegaconf import DictConfig, OmegaConf

from fairseq_rope.checkpoints.data_folder import check_no_colon, translation_task
from fairseq_rope.checkpoints.files import Checkpoint, arch_of
from fairseq_rope.checkpoints.loading import load_upgraded
from fairseq_rope.models.translation import TransformerRopeModel
from fairseq_rope_data.errors import UserError


@dataclass(frozen=True)
class Original:
    """A checkpoint with its options, in the form of today's fairseq, and the task that its DATA belongs to.

    Args:
        path: the file.
        state: what it holds; `cfg` is as fairseq upgrades it, also where the file has `args`.
        model: the options of its model, those that an old file lacks included.
        task: with the languages of the checkpoint and the dictionaries of DATA.
        data: DATA.
    """

    path: Path
    state: Checkpoint
    model: Namespace
    task: TranslationTask
    data: Path

    def section(self, name: str) -> dict[str, Any]:
        """Return a part of the configuration, such as `optimizer`, as a plain dictionary; empty where there is none."""
        return _section(self.state, name)

    @property
    def updates(self) -> int:
        """How many updates it was trained for; 0 where it doesn't say."""
        history = self.state.get("optimizer_history") or [{}]
        updates = history[-1].get("num_updates")
        return updates if type(updates) is int else 0  # true is none


def read_original(path: Path, data: Path) -> Original:
    """Read a checkpoint to convert and the dictionaries of the folder that it was trained on.

    Raises:
        UserError: no checkpoint, one of another model or task, or no folder of fairseq-preprocess for its languages.
    """
    check_no_colon("--from", str(path))
    state = load_upgraded(path)
    model = _model_options(path, state)
    return Original(path, state, model, _task(path, state, data), data)


def check_sets(original: Original) -> list[str]:
    """Check that DATA has sets to train on, to validate and to test with; return the test sets, fairseq's names.

    Raises:
        UserError: one of them is missing.
    """
    source = original.task.cfg.source_lang
    for name in ("train", "valid", "test"):
        if set_files(original, name, source) is None:
            raise UserError(
                f"DATA {original.data} has no {name} set: there is no {_names(original, name, source)[0]}.idx"
            )
    tests = ["test"]
    while set_files(original, f"test{len(tests)}", source):
        tests.append(f"test{len(tests)}")
    return tests


def set_files(original: Original, name: str, lang: str) -> Path | None:
    """Return the path of one side of a set of DATA, less .idx and .bin, or None where there is no such set."""
    paths = [original.data / found for found in _names(original, name, lang)]
    return next((path for path in paths if path.with_name(f"{path.name}.idx").is_file()), None)


def _section(state: Checkpoint, name: str) -> dict[str, Any]:
    cfg = state["cfg"]
    # as they are written: an interpolation, such as ${env:HOME}, would be looked up here and now
    plain: Any = OmegaConf.to_container(cfg) if isinstance(cfg, DictConfig) else cfg
    section = plain.get(name) or {}
    return vars(section) if isinstance(section, Namespace) else dict(section)


def _model_options(path: Path, state: Checkpoint) -> Namespace:
    """Return the options of the checkpoint's model, which is fairseq's `transformer`."""
    options = (state.get("cfg") or {}).get("model")
    arch = arch_of(options)
    model = ARCH_MODEL_REGISTRY.get(arch)
    if model is not None and issubclass(model, TransformerRopeModel):
        raise UserError(f"--from {path} is rotary already: its arch is {arch}")
    if model is not TransformerModel or not isinstance(options, Namespace):
        raise UserError(f"--from {path} must be of fairseq's transformer, but its arch is {arch}")
    options = Namespace(**vars(options))
    ARCH_CONFIG_REGISTRY[arch](options)
    options.arch = arch
    return options


def _task(path: Path, state: Checkpoint, data: Path) -> TranslationTask:
    options = _section(state, "task")
    name = options.get("_name") or options.get("task")
    if name != "translation":
        raise UserError(f"--from {path} must be of --task translation, but is of {name}")
    return translation_task(data, options.get("source_lang"), options.get("target_lang"))


def _names(original: Original, name: str, lang: str) -> list[str]:
    """Return what the files of one side of a set may be named, less their endings: by the direction or its reverse."""
    source, target = original.task.cfg.source_lang, original.task.cfg.target_lang
    return [f"{name}.{pair}.{lang}" for pair in (f"{source}-{target}", f"{target}-{source}")]

"""From a checkpoint to a model folder for CTranslate2."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.tasks.translation import TranslationTask

from fairseq_rope.checkpoints.data_folder import translation_task
from fairseq_rope.checkpoints.files import arch_of, load_checkpoint, model_options
from fairseq_rope.checkpoints.loading import load_models
from fairseq_rope.export.ctranslate2.model_folder import OWN_NAMES
from fairseq_rope.export.ctranslate2.package import require_ctranslate2
from fairseq_rope.models.translation import TransformerRopeModel
from fairseq_rope_data.errors import UserError, why_no_file
from fairseq_rope_data.files import complete_folder
from fairseq_rope_data.recorded import check_recorded


def export_checkpoint(
    path: Path,
    data: Path,
    output: Path,
    *,
    quantization: str = "float32",
    source_lang: str | None = None,
    target_lang: str | None = None,
    copy_files: Sequence[Path] = (),
    overrides: dict[str, Any] | None = None,
) -> None:
    """Write the model folder `output` for the checkpoint `path`, whose dictionaries are in `data`.

    Args:
        path: a checkpoint of fairseq, or an average of some.
        data: the folder of fairseq-preprocess.
        output: complete when this ends well, and not there when it doesn't.
        quantization: one of QUANTIZATIONS, the type of the stored weights.
        source_lang: of the checkpoint, or else as `data` tells, if not given.
        target_lang: see source_lang.
        copy_files: put beside the model under their own names.
        overrides: options of the model, in the place of those that it was trained with.

    Raises:
        UserError: a bad checkpoint or one that is not rotary, dictionaries that don't fit it, an option that the
            runtime does not support, an output that exists, or a missing package.
    """
    require_ctranslate2()
    # here, because it imports the package
    from fairseq_rope.export.ctranslate2.writer import write_model

    for file in copy_files:
        if "\n" in file.name:
            raise UserError(f"--copy-files {file}: a name must be one line")
        if not file.is_file():
            raise UserError(f"--copy-files {file}: {why_no_file(file)}")
        if file.name in OWN_NAMES:
            raise UserError(f"--copy-files {file}: in a model folder {file.name} would be read as the model's own")
        check_recorded(file)
    with complete_folder(output) as folder:
        task, model = _load(path, data, source_lang, target_lang, overrides)
        write_model(folder, task, model, quantization=quantization, copy_files=copy_files)


def _load(
    path: Path, data: Path, source_lang: str | None, target_lang: str | None, overrides: dict[str, Any] | None
) -> tuple[TranslationTask, TransformerRopeModel]:
    """Load the one model of a checkpoint, with a task that holds its dictionaries."""
    checkpoint = load_checkpoint(path)
    trained = model_options(checkpoint)
    arch = arch_of(trained)
    if not issubclass(ARCH_MODEL_REGISTRY.get(arch, object), TransformerRopeModel):
        raise UserError(
            f"--path {path}: only rotary models, transformer_rope..., can be exported, but its arch is {arch}"
        )
    # a file of fairseq before 0.10 has no configuration, and all options in one place
    asked = (checkpoint.get("cfg") or {}).get("task") or trained
    options = vars(asked) if isinstance(asked, Namespace) else asked
    task_name = options.get("task") or options.get("_name")
    if task_name != "translation":
        raise UserError(f"--path {path}: only models of --task translation can be exported, not of {task_name}")
    source, target = source_lang or options.get("source_lang"), target_lang or options.get("target_lang")
    task = translation_task(data, source, target)
    (model,) = load_models([str(path)], task=task, data=str(data), overrides=overrides)
    return task, model

"""Write a rotary model as a folder that CTranslate2 and `translate` read."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairseq.tasks.translation import TranslationTask

from fairseq_rope.export.ctranslate2.model_folder import (
    ModelSettings,
    token_names,
    write_checksums,
    write_dictionary,
    write_settings,
)
from fairseq_rope.export.ctranslate2.spec import RUNTIME_LAYOUT, transformer_model_spec
from fairseq_rope.export.ctranslate2.unsupported import check_supported
from fairseq_rope.models.translation import TransformerRopeModel
from fairseq_rope_data.errors import UserError


def write_model(
    folder: Path,
    task: TranslationTask,
    model: TransformerRopeModel,
    *,
    quantization: str = "float32",
    layout: str = RUNTIME_LAYOUT,
    copy_files: Sequence[Path] = (),
) -> None:
    """Write all files of `fairseq_rope.export.ctranslate2.model_folder` into an empty folder.

    Args:
        folder: exists already.
        task: with the model's dictionaries and languages.
        model: what was trained; stays as it is.
        quantization: one of QUANTIZATIONS.
        layout: see `transformer_model_spec`.
        copy_files: put beside the model under their own names.

    Raises:
        UserError: see `check_supported`; or a file to copy has the name of one of the model's.
    """
    check_supported(model, quantization=quantization)
    source, target = task.source_dictionary, task.target_dictionary
    spec = transformer_model_spec(model, layout=layout)
    spec.register_source_vocabulary(token_names(source))
    spec.register_target_vocabulary(token_names(target))
    _set_special_tokens(spec.config, target)
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))
    write_dictionary(source, folder, task.cfg.source_lang)
    write_dictionary(target, folder, task.cfg.target_lang)
    limits = model.max_positions()
    write_settings(
        folder,
        ModelSettings(
            source_lang=task.cfg.source_lang,
            target_lang=task.cfg.target_lang,
            max_source_positions=limits[0],
            max_target_positions=limits[1],
            quantization=quantization,
        ),
    )
    for file in copy_files:
        if (folder / file.name).exists():
            raise UserError(f"--copy-files {file}: the model folder has a file {file.name} of its own")
        shutil.copyfile(file, folder / file.name)
    write_checksums(folder)


def _set_special_tokens(config: Any, dictionary: Any) -> None:
    """Set how fairseq uses special tokens: </s> ends the source, starts the target and ends it."""
    names = token_names(dictionary)
    config.bos_token, config.eos_token = names[dictionary.bos()], names[dictionary.eos()]
    config.unk_token = names[dictionary.unk()]
    config.decoder_start_token = config.eos_token
    config.add_source_eos = True

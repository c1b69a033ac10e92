"""Turn a checkpoint, or an average, into a model folder for CTranslate2, the runtime for translation on CPUs and GPUs.

python -m fairseq_rope.export.ctranslate2 --path average.pt --data data-bin --output model --quantization int8
python -m fairseq_rope.tools.translate model --engine ctranslate2 --tokenizer moses --bpe subword_nmt --bpe-codes codes

The folder holds the model, its vocabularies, fairseq's dictionaries, languages and length limits; with --copy-files
also what else a deployment needs, such as the BPE codes; and the checksums of all these in SHA256SUMS, which
`translate` compares and `sha256sum -c` can. It appears under its name when it is complete. In float32 its scores are
fairseq's within rounding; what the runtime cannot express is refused by the option's name. Every --quantization can be
written on any machine, for another may read it; stderr tells if this one cannot compute in it.
"""

import argparse
import shutil
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from fairseq import utils
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.tasks.translation import TranslationConfig, TranslationTask

from fairseq_rope import TransformerRopeModel
from fairseq_rope.compat.chatter import silence_libraries
from fairseq_rope.tools.checkpoints import Checkpoint, load_checkpoint
from fairseq_rope.tools.data_folder import languages
from fairseq_rope.tools.ensemble import brief, load_models
from fairseq_rope.tools.model_folder import QUANTIZATIONS, write_checksums
from fairseq_rope.tools.recorded import check_recorded
from fairseq_rope.tools.runtime import check_compute_type, device_of, require_ctranslate2
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import complete_folder


def export_checkpoint(
    path: Path,
    data: Path,
    output: Path,
    *,
    quantization: str = "float32",
    source_lang: str | None = None,
    target_lang: str | None = None,
    copy_files: Sequence[Path] = (),
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

    Raises:
        UserError: a bad checkpoint or one that is not rotary, dictionaries that don't fit it, an option that the
            runtime cannot express, an output that exists, or a missing package.
    """
    require_ctranslate2()
    # here, because it imports the package
    from fairseq_rope.export.writing import write_model

    for file in copy_files:
        if "\n" in file.name:
            raise UserError(f"--copy-files {file}: a name must be one line")
        if not file.is_file():
            raise UserError(f"--copy-files {file}: {'it is a folder' if file.is_dir() else 'there is no such file'}")
        check_recorded(file)
    with complete_folder(output) as folder:
        task, model = _load(path, data, source_lang, target_lang)
        write_model(folder, task, model, quantization=quantization)
        for file in copy_files:
            if (folder / file.name).exists():
                raise UserError(f"--copy-files {file}: the model folder has a file {file.name} of its own")
            shutil.copyfile(file, folder / file.name)
        write_checksums(folder)


def _load(
    path: Path, data: Path, source_lang: str | None, target_lang: str | None
) -> tuple[TranslationTask, TransformerRopeModel]:
    """Load the one model of a checkpoint, with a task that holds its dictionaries."""
    trained = _options(load_checkpoint(path))
    arch = getattr(trained, "arch", None) or getattr(trained, "_name", None)
    if not issubclass(ARCH_MODEL_REGISTRY.get(arch, object), TransformerRopeModel):
        raise UserError(
            f"--path {path}: only rotary models, transformer_rope..., can be exported, but its arch is {arch}"
        )
    task_name = getattr(trained, "task", None)
    if task_name != "translation":
        raise UserError(f"--path {path}: only models of --task translation can be exported, not of {task_name}")
    source, target = languages(data, source_lang or trained.source_lang, target_lang or trained.target_lang)
    try:
        task = TranslationTask.setup_task(TranslationConfig(data=str(data), source_lang=source, target_lang=target))
    except Exception as error:  # a damaged dictionary has errors of its own
        raise UserError(f"cannot load the dictionaries of {data}: {brief(error)}") from error
    (model,) = load_models([str(path)], task=task, data=str(data))
    return task, model


def _options(state: Checkpoint) -> Namespace:
    """Give the options that a model was trained with; a model without a command line of its own has a few only."""
    options = state.get("args") or (state.get("cfg") or {}).get("model") or {}
    return options if isinstance(options, Namespace) else Namespace(**options)


def main() -> None:
    """Read the command line and export."""
    parser = argparse.ArgumentParser(
        prog="export.ctranslate2", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--path", required=True, metavar="FILE", help="the checkpoint; average several with fairseq_rope.tools.average")
    add(
        "--data",
        required=True,
        type=Path,
        metavar="DATA",
        help="the folder of fairseq-preprocess, for its dictionaries",
    )
    add("--output", required=True, type=Path, metavar="DIR", help="the model folder to write; must not exist")
    add(
        "--quantization",
        choices=QUANTIZATIONS,
        default="float32",
        help="the type of the stored weights (default: float32)",
    )
    add("-s", "--source-lang", metavar="LANG", help="if the checkpoint does not tell it")
    add("-t", "--target-lang", metavar="LANG", help="if the checkpoint does not tell it")
    add("--copy-files", nargs="+", default=[], type=Path, metavar="FILE", help="put these beside the model")
    args = parser.parse_args()
    silence_libraries()
    if len(utils.split_paths(args.path)) > 1 and not Path(args.path).exists():
        raise UserError(f"--path must be one checkpoint, because the runtime has no ensembles, but is {args.path}")
    export_checkpoint(
        Path(args.path),
        args.data,
        args.output,
        quantization=args.quantization,
        source_lang=args.source_lang,
        target_lang=args.target_lang,
        copy_files=args.copy_files,
    )
    print(f"exported {args.path} ({args.quantization}) into {args.output}")
    package = require_ctranslate2()
    try:
        check_compute_type(package, args.quantization, device_of(package), named="--quantization")
    except UserError as note:
        print(f"export.ctranslate2: note: {note}", file=sys.stderr)


if __name__ == "__main__":
    run("export.ctranslate2", main)

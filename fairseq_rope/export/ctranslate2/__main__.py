"""Turn a checkpoint, or an average, into a model folder for CTranslate2, the runtime for translation on CPUs and GPUs.

python -m fairseq_rope.export.ctranslate2 --path average.pt --data data-bin --output model --quantization int8
python -m fairseq_rope.tools.translate model --engine ctranslate2 --tokenizer moses --bpe subword_nmt --bpe-codes codes

The folder holds the model, its vocabularies, fairseq's dictionaries, languages and length limits; with --copy-files
also what else a deployment needs, such as the BPE codes; and the checksums of all these in SHA256SUMS, which
`translate` compares and `sha256sum -c` can. It appears under its name when it is complete. In float32 its scores are
fairseq's within rounding; what the runtime lacks is refused by the option's name. Every --quantization can be
written on any machine, for another may read it; stderr tells if this one cannot compute in it.
"""

import sys
from pathlib import Path

from fairseq import utils

from fairseq_rope.checkpoints.loading import parse_overrides
from fairseq_rope.compat.chatter import silence_libraries
from fairseq_rope.export.ctranslate2 import export_checkpoint
from fairseq_rope.export.ctranslate2.model_folder import QUANTIZATIONS
from fairseq_rope.export.ctranslate2.package import check_compute_type, device_of, require_ctranslate2
from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run


def main() -> None:
    parser = cli.parser(__doc__, "export.ctranslate2")
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
    add(
        "--model-overrides",
        default="{}",
        metavar="DICT",
        help="options in the place of the model's own, as for fairseq-generate; what changes rotation or limits, such "
        "as {'max_source_positions': 2048}",
    )
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
        overrides=parse_overrides(args.model_overrides),
    )
    print(f"exported {args.path} ({args.quantization}) into {args.output}")
    package = require_ctranslate2()
    try:
        check_compute_type(package, args.quantization, device_of(package), named="--quantization")
    except UserError as note:
        print(f"export.ctranslate2: note: {note}", file=sys.stderr)


if __name__ == "__main__":
    run("export.ctranslate2", main)

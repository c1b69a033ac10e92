"""Exchange encoders with Hugging Face: a folder of its RoFormer becomes a checkpoint, and a checkpoint a folder.

    fairseq-rope huggingface import roformer_chinese_base --output roformer
    fairseq-rope huggingface export --path checkpoint_best.pt --data data-bin --output folder

RoFormerForMaskedLM and RoFormerForSequenceClassification, with safetensors or pickles, which run nothing here. The
logits are the same to 1e-5; what cannot be the same is refused by name. `import` writes DIR/model.pt and dict.txt,
prints the options of fairseq-train that make the model, and keeps them in DIR/options.txt; with --segments 1 all tokens
have the first token type. `export` takes --max-length, for its table of positions, and --head, where there are several.
docs/huggingface.md has more.
"""

import argparse
import shlex
from pathlib import Path

from fairseq_rope.compat.chatter import silence_libraries
from fairseq_rope.export.huggingface import export_checkpoint, import_folder
from fairseq_rope.export.huggingface.options import train_options
from fairseq_rope_data import cli
from fairseq_rope_data.errors import run


def import_model(options: argparse.Namespace) -> None:
    """Write a checkpoint for a folder."""
    config = import_folder(options.folder, options.output, segments=options.segments)
    print(f"imported {options.folder} into {options.output}; options of fairseq-train for the same model:")
    print(shlex.join(train_options(config)))


def export_model(options: argparse.Namespace) -> None:
    """Write a folder for a checkpoint."""
    config = export_checkpoint(
        options.path, options.data, options.output, max_length=options.max_length, head=options.head
    )
    kind = "masked tokens" if config.labels is None else f"{len(config.labels)} labels"
    print(f"exported {options.path} into {options.output}: {kind}, inputs of up to {config.max_length:,} tokens")


def main() -> None:
    parser = cli.parser(__doc__, "huggingface")
    commands = parser.add_subparsers(required=True, metavar="import|export")
    importer = commands.add_parser("import", help="write the folder DIR for the model in FOLDER")
    importer.set_defaults(command=import_model)
    add = importer.add_argument
    add("folder", type=Path, metavar="FOLDER", help="with config.json, vocab.txt and weights")
    add("--output", type=Path, required=True, metavar="DIR", help="the folder to write; must not exist")
    add("--segments", type=int, metavar="N", help="keep only the first N token types (default: all)")
    exporter = commands.add_parser("export", help="write a folder for a checkpoint")
    exporter.set_defaults(command=export_model)
    add = exporter.add_argument
    add("--path", type=Path, required=True, metavar="FILE", help="the checkpoint, or an average")
    add("--data", type=Path, required=True, metavar="DATA", help="the folder of fairseq-preprocess it was trained on")
    add("--output", type=Path, required=True, metavar="FOLDER", help="the folder to write; must not exist")
    add("--max-length", type=int, metavar="N", help="tokens of the longest input (default: --max-positions)")
    add("--head", metavar="NAME", help="the classification head to export, if there is more than one")
    options = parser.parse_args()
    silence_libraries()
    options.command(options)


if __name__ == "__main__":
    run("huggingface", main)

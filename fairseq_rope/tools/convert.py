"""Turn a checkpoint of fairseq's sinusoidal or learned-position `transformer` into one of the rotary model.

    python -m fairseq_rope.tools.convert --from checkpoint_best.pt --data data-bin --output converted.pt
    python -m fairseq_rope.tools.convert --from checkpoint_best.pt --data data-bin --settings
    python -m fairseq_rope.tools.convert --from checkpoint_best.pt --data data-bin --text text

The first writes an ordinary checkpoint of --arch transformer_rope with the weights and all options of the model, less
its positions and the optimizer's state. It has to be trained on before it translates: docs/conversion.md says how, and
scripts/convert_to_rope.sh does it. The second prints what that script reads of the checkpoint, as lines of shell: among
it MODEL_CONVERTED, the options of fairseq-train that make the same rotary model, and PEAK_RATE, the highest learning
rate. The third writes the training and test sets of DATA as they were before fairseq-preprocess, TEXT/SET.LANG: windows
of several sentences are made of them. --stock writes the original itself, less the optimizer's state and what fairseq
0.12.2 alone can load.
"""

from pathlib import Path

from fairseq_rope.compat.chatter import silence_libraries
from fairseq_rope.conversion.original import read_original
from fairseq_rope.conversion.rotary import rotary_checkpoint, stock_checkpoint, write_checkpoint
from fairseq_rope.conversion.settings import settings_text
from fairseq_rope.conversion.text import check_segmentation, write_text
from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run


def main() -> None:
    parser = cli.parser(__doc__, "convert")
    add = parser.add_argument
    add("--from", required=True, type=Path, metavar="FILE", dest="original", help="the checkpoint, or an average")
    add("--data", required=True, type=Path, metavar="DATA", help="the folder of fairseq-preprocess it was trained on")
    product = parser.add_mutually_exclusive_group(required=True)
    product.add_argument("--output", type=Path, metavar="FILE", help="where the rotary checkpoint goes")
    product.add_argument("--stock", type=Path, metavar="FILE", help="where the same checkpoint goes as stock fairseq's")
    product.add_argument("--settings", action="store_true", help="print how it was trained")
    product.add_argument("--text", type=Path, metavar="FOLDER", help="where the text of DATA goes")
    add("--ordered", metavar="PREFIX", help="with --settings: check that PREFIX.LANG is text segmented as DATA is")
    args = parser.parse_args()
    if args.ordered is not None and not args.settings:
        raise UserError("--ordered goes with --settings")
    silence_libraries()
    original = read_original(args.original, args.data)
    if args.settings:
        text = settings_text(original)
        rotary_checkpoint(original)  # what cannot be converted is told before the training
        if args.ordered is not None:
            check_segmentation(original, args.ordered)
        print(text)
        return
    if args.text:
        write_text(original, args.text)
        return
    state = rotary_checkpoint(original) if args.output else stock_checkpoint(original)
    write_checkpoint(original, state, args.output or args.stock)
    print(f"converted {args.original} into {args.output or args.stock}")


if __name__ == "__main__":
    run("convert", main)

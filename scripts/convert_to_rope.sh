#!/usr/bin/env bash
# From sinusoidal to rotary: a checkpoint of fairseq's own `transformer`, with sinusoidal or learned positions and of any
# size, becomes one of transformer_rope, is trained on for a tenth of its updates, and compared with the original, trained
# on for as long.
#
# Usage: bash scripts/convert_to_rope.sh --from CHECKPOINT --data DATA [OPTIONS]
#
#   --from      the checkpoint, or an average of some
#   --data      the folder of fairseq-preprocess that it was trained on, with a test set
#   --updates   for how many updates the model is trained on (10% of those of the checkpoint)
#   --models    converted alone leaves the comparison out
#
# Several sentences at once:
#
#   --windows   the models are also trained on windows of up to this many consecutive lines of the training text, and each
#               test set is translated in windows of as many lines too
#   --ordered   text in order, PREFIX.en and PREFIX.de in the BPE of DATA, to make them of where the training text itself
#               has lost its order
#
# STAGE is of prepare, train, average, evaluate. There are no seeds.
#
# Set:  the rate, its warm-up, the points of the comparison and the separator of windows in --conf (convert); PRECISION,
#       GPUS, SHARDS
# Out:  $WORK/converted/averaged.pt and a table: loss, BLEU and minutes of both by updates. Run again, it continues. WORK is
#       runs/convert, a folder for each checkpoint; it takes 20 times the space of the checkpoint
# Time: a fifth of what the checkpoint's training took, and the translation of the test set 12 times.
#
# Example: bash scripts/convert_to_rope.sh --from runs/mine/averaged.pt --data runs/mine/data-bin --updates 5000
set -euo pipefail
# shellcheck source=scripts/lib/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/recipe.sh"
# shellcheck source=scripts/lib/conversion.sh
source "$ROOT/scripts/lib/conversion.sh"
# shellcheck source=scripts/lib/conversion_windows.sh
source "$ROOT/scripts/lib/conversion_windows.sh"

FROM="" DATA="" UPDATES="" WINDOW="" ORDERED=""
own_option() {
  case $1 in
    --from) need_value "a checkpoint" "$@" && FROM=$2 ;;
    --data) need_value "a folder" "$@" && DATA=$2 ;;
    --updates) need_value "a number" "$@" && UPDATES=$2 ;;
    --windows) need_value "a number of lines" "$@" && WINDOW=$2 ;;
    --ordered) need_value "the path of text without .LANG" "$@" && ORDERED=$2 ;;
    *) die "there is no option $1, see --help" ;;
  esac
}

parse_options convert "$@"
WORK=${WORK:-$ROOT/runs/convert}
run_conversion

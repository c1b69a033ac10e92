#!/usr/bin/env bash
# Train short, test long: position methods trained on windows of 1 to 3 sentences and tested on windows of 1, 2, 4, 8 and
# 12; and the rotary model decoded with linear, NTK and YaRN scaling. A table and a picture.
#
# Usage: bash scripts/length_extrapolation.sh [OPTIONS]
#        bash scripts/length_extrapolation.sh --train PREFIX --valid PREFIX --test PREFIX -s en -t de [OPTIONS]
#
#   --train, ...   your own text, as in run_bitext.sh; the embedded corpus without it
#
# Set:  MAX_UPDATE   updates of each training (1200)
#       FACTOR       how much longer inputs the scalings are for (4)
#       PARALLEL     models that are trained at once (2)
# Out:  $WORK/MODEL, MODEL-seed2 ...; the table of BLEU by number of sentences, mean and deviation over seeds, with the
#       differences from rope, and $WORK/lengths-SET.png: BLEU over length by that of the longest training example. Run again,
#       it continues. WORK is runs/windows
# Time: about 70 minutes on two AMD Zen 5 cores.
#
# Example: bash scripts/length_extrapolation.sh --models "rope rope_ntk alibi" --seeds 1
set -euo pipefail
# shellcheck source=scripts/lib/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/recipe.sh"

corpus=grammar sets=()
own_option() { file_option "$@"; }

parse_options windows "$@"
WORK=${WORK:-$ROOT/runs/windows}
if ((${#FILES[@]})) || [[ -s $WORK/test-sets ]]; then
  corpus=bitext
  name_files
fi
tested_sets sets
RESULTS=(--statistics "${sets[@]/%/: BLEU}" "valid loss, best")
run_recipe "$corpus"

if has_stage evaluate; then
  for set in "${TEST_SETS[@]}"; do
    # shellcheck disable=SC2086  # names without spaces
    python -m fairseq_rope_data plot "$WORK" --models $MODELS --windows="$set" --source-lang "$SOURCE_LANG" \
      --output "$WORK/lengths-$set.png" >&2
    printf '\nBLEU over length: %s\n' "$WORK/lengths-$set.png"
  done
fi

#!/usr/bin/env bash
# Your own parallel text, raw files to binarized data.
#
# Usage: bash data-prep/prepare_bitext.sh --train PREFIX --valid PREFIX --test PREFIX -s en -t de [OPTIONS]
#
#   --train         PREFIX.en and PREFIX.de (or .gz), raw text, a sentence a line; likewise --valid and --test. Once they
#                   are taken they may be left out
#   --test          may be repeated: each set has the name of its files
#   -s, -t          the languages, also --source-lang and --target-lang; without them those of the conf
#
# Out:  $WORK/raw, text, data-bin and manifest.json; WORK is runs/bitext
set -euo pipefail
# shellcheck source=scripts/lib/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/recipe.sh"

own_option() { file_option "$@"; }

# check_given: what is given is there, and what must be is given.
check_given() {
  local set lang given option
  for set in train valid "${TEST_SETS[@]}"; do
    option=--test
    [[ $set != train && $set != valid ]] || option=--$set
    for lang in "$SOURCE_LANG" "$TARGET_LANG"; do
      given=${PREFIX[$set]:-}.$lang
      if [[ $given != ".$lang" ]]; then
        [[ -f $given || -f $given.gz ]] || die "$option ${PREFIX[$set]}: there is no $given or $given.gz"
        OFFERED["raw/$set.$lang"]=$given
      elif has_stage fetch; then
        [[ -s $WORK/raw/$set.$lang || -s $WORK/text/$set.tok.$lang ]] ||
          die "$option PREFIX is needed: no $set text is in $WORK yet"
      fi
    done
  done
}

fetch_text() {
  take_offered
  printf '%s\n' "${TEST_SETS[@]}" >"$WORK/test-sets.part"
  mv -- "$WORK/test-sets.part" "$WORK/test-sets"
}

STAGES=(fetch prepare)
parse_options tiny "$@"
WORK=${WORK:-$ROOT/runs/bitext}
name_files
run_preparation

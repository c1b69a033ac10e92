#!/usr/bin/env bash
# Your own parallel text: the chain of all recipes, raw files to a translator and a table of scores.
#
# Usage: bash scripts/run_bitext.sh --train PREFIX --valid PREFIX --test PREFIX -s en -t de [--conf tiny] [STAGE...]
#
#   --train  PREFIX.en and PREFIX.de (or .gz), raw text, a sentence a line; once they are taken it may be left out
#   --test   may be repeated: the table names each set by its files
#   --conf   a file of scripts/conf (tiny), or a path: model, BPE, batch, training and evaluation
#   --seeds  1,2,3: train each model with each of these seeds; the table gives mean and deviation
#   STAGE    fetch, prepare, train, average, evaluate; all of them, in this order, when none is named
#
# Set:  MODELS="rope sinusoidal" (rope)  WORK (runs/bitext)  BPE=sentencepiece  SHARDS  JOBS  MAX_EPOCH  MAX_TOKENS
#       GPUS, PRECISION, NODES, NODE_RANK, MASTER_ADDR, MASTER_PORT: found by themselves, see scripts/lib/hardware.sh
# Out:  $WORK/rope/averaged.pt, the table of results, and how to translate. Run again, every stage continues.
#
# Example: bash scripts/run_bitext.sh --train data/train --valid data/dev --test data/test -s en -t de --conf tiny
set -euo pipefail
# shellcheck source=scripts/lib/base.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/base.sh"
# shellcheck source=scripts/lib/pipeline.sh
source "$ROOT/scripts/lib/pipeline.sh"
# shellcheck source=scripts/lib/training.sh
source "$ROOT/scripts/lib/training.sh"

CONF=tiny STAGES=() source_lang="" target_lang=""
declare -A prefix=()
tests=()
while (($#)); do
  TAKEN=2
  case $1 in
    --train | --valid) need_value "a prefix" "$@" && prefix[${1#--}]=$2 ;;
    --test) need_value "a prefix" "$@" && tests+=("$2") ;;
    -s | --source-lang) need_value "a language" "$@" && source_lang=$2 ;;
    -t | --target-lang) need_value "a language" "$@" && target_lang=$2 ;;
    *) take_option "$@" ;;
  esac
  shift "$TAKEN"
done
source_conf "$CONF"
SOURCE_LANG=${source_lang:-$SOURCE_LANG} TARGET_LANG=${target_lang:-$TARGET_LANG}
WORK=${WORK:-$ROOT/runs/bitext}

# name_tests: TEST_SETS are the names of the files, or what they were when these were taken.
name_tests() {
  local given name
  if ((${#tests[@]} == 0)); then
    if [[ -s $WORK/test-sets ]]; then mapfile -t TEST_SETS <"$WORK/test-sets"; fi
    return
  fi
  TEST_SETS=()
  for given in "${tests[@]}"; do
    name=${given##*/}
    [[ $name =~ ^[A-Za-z0-9_-]+$ && ! $name =~ ^(train|valid)$ && -z ${prefix[$name]:-} ]] ||
      die "--test $given: test sets are named by their files, each by another one, of letters, digits, _ and -, but not train or valid"
    prefix[$name]=$given
    TEST_SETS+=("$name")
  done
}

# offer_files: what is given, and what must be.
offer_files() {
  local set lang given
  for set in $(sets); do
    for lang in "$SOURCE_LANG" "$TARGET_LANG"; do
      given=${prefix[$set]:-}.$lang
      if [[ $given != ".$lang" ]]; then
        [[ -f $given || -f $given.gz ]] || die "--$(option_of "$set") ${prefix[$set]}: there is no $given or $given.gz"
        OFFERED["raw/$set.$lang"]=$given
      elif ((${#STAGES[@]} == 0)) || [[ " ${STAGES[*]} " == *" fetch "* ]]; then
        [[ -s $WORK/raw/$set.$lang || -s $WORK/text/$set.tok.$lang ]] ||
          die "--$(option_of "$set") PREFIX is needed: no $set text is in $WORK yet"
      fi
    done
  done
}

option_of() { # SET
  if [[ $1 == train || $1 == valid ]]; then printf '%s' "$1"; else printf test; fi
}

# take_files: into $WORK/raw.
take_files() {
  take_offered
  printf '%s\n' "${TEST_SETS[@]}" >"$WORK/test-sets.part"
  mv -- "$WORK/test-sets.part" "$WORK/test-sets"
}

name_tests
check_options "${STAGES[@]}"
offer_files
setup_env
run_stages take_files "${STAGES[@]}"
[[ ! -s $WORK/rope/averaged.pt ]] || how_to_translate rope

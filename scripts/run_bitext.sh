#!/usr/bin/env bash
# Your own parallel text: the chain of all recipes, raw files to a translator and a table of scores.
#
# Usage: bash scripts/run_bitext.sh --train PREFIX --valid PREFIX --test PREFIX -s en -t de [--conf tiny] [STAGE...]
#
#   --train  PREFIX.en and PREFIX.de (or .gz), raw text, a sentence a line; once they are taken it may be left out
#   --conf   a file of scripts/conf (tiny), or a path: model, BPE, batch, training and evaluation
#   --seeds  1,2,3: train each model with each of these seeds; the table gives mean and deviation
#   STAGE    fetch, prepare, train, average, evaluate; all of them, in this order, when none is named
#
# Set:  MODELS="rope sinusoidal" (rope)  WORK (runs/bitext)  BPE=sentencepiece  SHARDS  JOBS  MAX_EPOCH  MAX_TOKENS
#       GPUS, PRECISION, NODES, NODE_RANK, MASTER_ADDR, MASTER_PORT: found by themselves, see scripts/hardware.sh
# Out:  $WORK/rope/averaged.pt, the table of results, and how to translate. Run again, every stage continues.
#
# Example: bash scripts/run_bitext.sh --train data/train --valid data/dev --test data/test -s en -t de --conf tiny
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=data-prep/prepare.sh
source "$ROOT/data-prep/prepare.sh"
# shellcheck source=scripts/experiment.sh
source "$ROOT/scripts/experiment.sh"

conf=tiny source_lang="" target_lang=""
declare -A prefix=()
stages=()
while (($#)); do
  case $1 in
    --help | -h) usage_from_header && exit ;;
    --train | --valid | --test) prefix[${1#--}]=${2:?$1 needs a prefix} && shift ;;
    -s | --source-lang) source_lang=${2:?$1 needs a language} && shift ;;
    -t | --target-lang) target_lang=${2:?$1 needs a language} && shift ;;
    --conf) conf=${2:?--conf needs a name} && shift ;;
    --seeds) SEEDS=${2:?--seeds needs numbers} && shift ;;
    *) stages+=("$1") ;;
  esac
  shift
done
source_conf "$conf"
SOURCE_LANG=${source_lang:-$SOURCE_LANG} TARGET_LANG=${target_lang:-$TARGET_LANG} TEST_SETS=(test)
WORK=${WORK:-$ROOT/runs/bitext}

# take_bitext: the files into $WORK/raw; again where they have been mended after a check refused them.
take_bitext() {
  local set lang given raw
  for set in train valid test; do
    for lang in "$SOURCE_LANG" "$TARGET_LANG"; do
      given=${prefix[$set]:-}.$lang raw=$WORK/raw/$set.$lang
      if [[ $given == ".$lang" ]]; then
        [[ -s $raw || -s $WORK/text/$set.tok.$lang ]] || die "--$set PREFIX is needed: no $set text is in $WORK yet"
        continue
      fi
      [[ -f $given ]] || given+=.gz
      [[ -f $given ]] || die "--$set ${prefix[$set]}: there is no ${given%.gz} or $given"
      if [[ $given -nt $raw ]]; then
        [[ ! -f $WORK/text/$set.tok.$lang ]] || die "$given is newer than what was made of it: remove $WORK, or choose another folder with WORK"
        rm -f -- "$raw" "$WORK/text/$set.checked"
      fi
      step "$raw" plain "${given%.gz}"
    done
  done
}

setup_env
run_stages take_bitext "${stages[@]}"
[[ ! -s $WORK/rope/averaged.pt ]] || how_to_translate rope

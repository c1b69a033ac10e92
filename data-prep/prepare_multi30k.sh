#!/usr/bin/env bash
# Multi30k English-German, raw, of a pinned commit and with known checksums: text to binarized data.
#
# Usage: bash data-prep/prepare_multi30k.sh [OPTIONS]
#
# In:   the network; or MULTI30K_DIR, a folder with {train,val,test_2016_flickr}.{en,de}.gz (or without .gz); or
#       MULTI30K_URL, another place with these files; or PREPARED, a folder with {train,valid,test.2016}.{en,de} (.gz) that
#       are tokenized and in BPE already: used as they are
# Out:  $WORK/raw, text, data-bin and manifest.json; WORK is runs/multi30k, or runs/multi30k-prepared
# The data is for research use; cite Elliott et al., 2016.
set -euo pipefail
# shellcheck source=scripts/lib/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/recipe.sh"

# the last commit at which these files changed
COMMIT=c9be912dc05a3ebf9ae5bb5f7f58c1791cda43ab
URL=${MULTI30K_URL:-https://raw.githubusercontent.com/multi30k/dataset/$COMMIT/data/task1/raw}
CHECKSUMS=$ROOT/data-prep/checksums/multi30k.sha256
RAW=(train:train val:valid test_2016_flickr:test) # name there:name here

check_given() {
  check_dir MULTI30K_DIR
  check_dir PREPARED
  if [[ -n ${PREPARED:-} ]]; then
    [[ ! -s $WORK/raw/train.en ]] ||
      die "$WORK has raw text, and PREPARED is other text: choose another folder with WORK"
    offer PREPARED text train:train valid:valid test.2016:test
  elif [[ -n ${MULTI30K_DIR:-} ]]; then
    offer MULTI30K_DIR raw "${RAW[@]}"
  fi
  [[ -n ${PREPARED:-} || ! -s $WORK/text/train.en || -s $WORK/text/settings ]] || ! has_stage fetch prepare ||
    die "$WORK was made from prepared text: name it with PREPARED, or choose another folder with WORK"
}

# offer VARIABLE TO NAME:SET...: the files of the folder that VARIABLE names are to be $WORK/TO/SET.LANG.
offer() {
  local pair lang file
  for pair in "${@:3}"; do
    for lang in en de; do
      file=${!1}/${pair%:*}.$lang
      [[ -f $file || -f $file.gz ]] || die "$1 must hold ${file##*/} or ${file##*/}.gz, but is ${!1}"
      OFFERED["$2/${pair#*:}.$lang"]=$file
    done
  done
}

fetch_text() {
  local pair lang out file=""
  if [[ -n ${PREPARED:-} ]]; then
    take_offered
    return
  fi
  for pair in "${RAW[@]}"; do
    for lang in en de; do
      out=$WORK/raw/${pair#*:}.$lang
      [[ -s $out ]] || file=$(fetched "$URL/${pair%:*}.$lang.gz" MULTI30K_DIR gzip_problem)
      step "$out" plain "${file%.gz}"
    done
  done
}

STAGES=(fetch prepare)
parse_options multi30k "$@"
WORK=${WORK:-$ROOT/runs/multi30k${PREPARED:+-prepared}}
if [[ -n ${PREPARED:-} ]]; then
  text_of() { printf '%s' "$WORK/text/$1"; }
  prepare_text() { check_sets; }
fi
run_preparation

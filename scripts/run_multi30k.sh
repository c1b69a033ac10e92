#!/usr/bin/env bash
# Multi30k English-German with the rotary Transformer-Tiny: raw text to scores, with the settings of Wu et al. (ACL 2021).
#
# Usage: bash scripts/run_multi30k.sh
#
# In:   MULTI30K_DIR  a folder with the raw files; without it they are fetched from their public repository
#       PREPARED      a folder with {train,valid,test.2016}.{en,de} (.gz) that are tokenised and in BPE already: used as they are
# Set:  BASELINE=1    train the sinusoidal twin instead
#       MAX_EPOCH     epochs (45)         SEEDS  random seeds (1), as 1,2,3
#       WORK          work folder (runs/multi30k, or runs/multi30k-prepared)
# Out:  $WORK/rope/averaged.pt and the table of results; run again, it continues.
# Time: about 70 minutes on two cores. Expected: BLEU4 of about 41, lower-cased and tokenised.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
no_arguments "$@"
# shellcheck source=data-prep/fetch_multi30k.sh
source "$ROOT/data-prep/fetch_multi30k.sh"
# shellcheck source=data-prep/prepare.sh
source "$ROOT/data-prep/prepare.sh"
# shellcheck source=scripts/experiment.sh
source "$ROOT/scripts/experiment.sh"

take_prepared() {
  local lang pair
  for pair in train:train valid:valid test.2016:test; do
    for lang in en de; do
      step "$WORK/text/${pair#*:}.$lang" plain "$PREPARED/${pair%:*}.$lang"
    done
  done
}

source_conf multi30k
[[ ${BASELINE:-0} == 0 ]] || MODELS=sinusoidal
WORK=${WORK:-$ROOT/runs/multi30k${PREPARED:+-prepared}}
setup_env
if [[ -n ${PREPARED:-} ]]; then
  take_prepared
else
  fetch_multi30k
  prepare_text
fi
binarise
run_stages true train average evaluate

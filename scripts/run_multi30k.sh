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
# shellcheck source=scripts/lib/base.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/base.sh"
no_arguments "$@"
# shellcheck source=data-prep/prepare_multi30k.sh
source "$ROOT/data-prep/prepare_multi30k.sh"
# shellcheck source=scripts/lib/pipeline.sh
source "$ROOT/scripts/lib/pipeline.sh"
# shellcheck source=scripts/lib/training.sh
source "$ROOT/scripts/lib/training.sh"

# offer_prepared: text in BPE, which goes where prepare_text would write it.
offer_prepared() {
  local lang pair file
  for pair in train:train valid:valid test.2016:test; do
    for lang in en de; do
      file=$PREPARED/${pair%:*}.$lang
      [[ -f $file || -f $file.gz ]] || die "PREPARED must hold ${file##*/} or ${file##*/}.gz, but is $PREPARED"
      OFFERED["text/${pair#*:}.$lang"]=$file
    done
  done
}

CONF=multi30k fetch=fetch_multi30k
source_conf "$CONF"
[[ ${BASELINE:-0} != 1 ]] || MODELS=sinusoidal
WORK=${WORK:-$ROOT/runs/multi30k${PREPARED:+-prepared}}
check_options "${ALL_STAGES[@]}"
if [[ -n ${PREPARED:-} ]]; then
  fetch=take_offered
  prepare_text() { :; }
  offer_prepared
else
  offer_multi30k
fi
setup_env
run_stages "$fetch"

#!/usr/bin/env bash
# Multi30k English-German with the rotary Transformer-Tiny: raw text to scores, with the settings of Wu et al. (ACL 2021).
#
# Usage: bash scripts/run_multi30k.sh [OPTIONS]
#
# In:   the network, or MULTI30K_DIR or PREPARED: see data-prep/prepare_multi30k.sh --help
# Set:  BASELINE=1  train the sinusoidal model instead, as --models sinusoidal does
#       MAX_EPOCH   epochs (45)
# Out:  $WORK/rope/averaged.pt and the table of results; run again, it continues. WORK is runs/multi30k, or
#       runs/multi30k-prepared
# Time: about 70 minutes on two cores. Expected: BLEU4 of about 41, lower-cased and tokenized.
set -euo pipefail
# shellcheck source=scripts/lib/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/recipe.sh"

parse_options multi30k "$@"
WORK=${WORK:-$ROOT/runs/multi30k${PREPARED:+-prepared}}
[[ -z ${BASELINE:-} ]] || check_flag BASELINE
run_recipe multi30k

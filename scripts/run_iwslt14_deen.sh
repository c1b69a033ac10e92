#!/usr/bin/env bash
# IWSLT14 German-English with the rotary model of fairseq's transformer_iwslt_de_en: the archive to scores, with fairseq's
# settings.
#
# Usage: bash scripts/run_iwslt14_deen.sh [OPTIONS]
#
# In:   the network, or IWSLT14_ARCHIVES: see data-prep/prepare_iwslt14_deen.sh --help
# Set:  MAX_EPOCH   epochs (60)
# Out:  $WORK/rope/averaged.pt, the table of results, and how to translate. Run again, every stage continues. WORK is
#       runs/iwslt14_deen
# Time and score: not measured yet.
#
# Example: bash scripts/run_iwslt14_deen.sh --models "rope sinusoidal"
set -euo pipefail
# shellcheck source=scripts/lib/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/recipe.sh"

parse_options iwslt14_deen "$@"
WORK=${WORK:-$ROOT/runs/iwslt14_deen}
run_recipe iwslt14_deen
[[ ! -s $(model_dir)/averaged.pt ]] || how_to_translate

#!/usr/bin/env bash
# All position methods on the same code, data and batches: eight models, five seeds each, of the embedded corpus.
#
# Usage: bash scripts/compare_positions.sh [OPTIONS]
#
# Set:  PARALLEL   models that are trained at once (2)
# Out:  $WORK/METHOD, METHOD-seed2 ... and a table: mean and deviation of BLEU within the lengths of training (test) and
#       beyond (long), of loss and of training speed; then the differences from rope, paired by seed, with 95% t intervals.
#       Run again, it continues. WORK is runs/positions. `python -m fairseq_rope_data results WORK` prints all there is
# Speed is target words by seconds of training steps, of runs beside each other: only its ratio to rope says something.
# Time: two and a half hours on two AMD Zen 4 cores.
#
# Example: bash scripts/compare_positions.sh --models "rope alibi" --seeds 1,2
set -euo pipefail
# shellcheck source=scripts/lib/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/recipe.sh"

parse_options positions "$@"
WORK=${WORK:-$ROOT/runs/positions}
run_recipe grammar

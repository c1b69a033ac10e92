#!/usr/bin/env bash
# WMT14 English-German, the experiment of RoFormer (4.1.2): the rotary Transformer and, with the same settings, the
# sinusoidal one; public archives to a table of scores.
#
# Usage: bash scripts/run_wmt14_ende.sh [OPTIONS]
#
#   --conf   wmt14_ende_base (the default) or wmt14_ende_big, of scripts/conf
#
# In:   the network, or WMT14_ARCHIVES or WMT14_MIRROR: see data-prep/prepare_wmt14_ende.sh --help
# Set:  DASH_SPLITS=0 (no -a)  MAX_UPDATE  MAX_TOKENS (4096) at once on a GPU; the batch stays the paper's 8 x 4,096,
#       whatever the number of GPUs
# Out:  $WORK/{rope,sinusoidal}/averaged.pt and the table of results. Run again, every stage continues. WORK is runs/NAME of
#       --conf
# Time: prepare about half an hour on two cores (extrapolated). Expected of base: compound-split BLEU of about 27.3
#       (sinusoids), 27.5 (rotary).
#
# Several nodes, the work folder on a disk that all see:
#   bash scripts/run_wmt14_ende.sh fetch prepare
#   on each node n:  NODES=2 NODE_RANK=n MASTER_ADDR=first-node bash scripts/run_wmt14_ende.sh train
#   or with SLURM:   srun --nodes 2 --ntasks-per-node 1 --gpus-per-node 8 bash scripts/run_wmt14_ende.sh train
#   bash scripts/run_wmt14_ende.sh average evaluate
set -euo pipefail
# shellcheck source=scripts/lib/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/recipe.sh"

parse_options wmt14_ende_base "$@"
WORK=${WORK:-$ROOT/runs/$(basename "$CONF" .env)}
run_recipe wmt14_ende

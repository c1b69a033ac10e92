#!/usr/bin/env bash
# WMT14 English-German, the experiment of RoFormer (4.1.2): the rotary Transformer and, with the same settings, its
# sinusoidal twin; public archives to a table of scores.
#
# Usage: bash scripts/run_wmt14_ende.sh [--conf NAME] [--seeds 1,2,3] [STAGE...]
#
#   STAGE    fetch, prepare, train, average, evaluate; all of them, in this order, when none is named
#   --conf   wmt14_ende_base (the default) or wmt14_ende_big, of scripts/conf
#   --seeds  train each model with each of these seeds; the table gives mean and deviation
#
# In:   the network; or WMT14_ARCHIVES, a folder with the archives; or WMT14_MIRROR, another server
# Set:  MODELS="rope sinusoidal"  WORK (runs/NAME)  BPE=sentencepiece  DASH_SPLITS=0 (no -a)  SHARDS  JOBS  MAX_UPDATE
#       MAX_TOKENS (4096) at once on a GPU; the batch stays the paper's 8 x 4,096, whatever the number of GPUs
#       GPUS, PRECISION, NODES, NODE_RANK, MASTER_ADDR, MASTER_PORT: found by themselves, see scripts/lib/hardware.sh
# Out:  $WORK/{rope,sinusoidal}/averaged.pt and the table of results. Run again, every stage continues.
# Time: prepare about half an hour on two cores (extrapolated). Expected of base: compound-split BLEU of about 27.3 (sinusoids), 27.5 (rotary).
#
# Several nodes, the work folder on a disk that all see:
#   bash scripts/run_wmt14_ende.sh fetch prepare
#   on each node n:  NODES=2 NODE_RANK=n MASTER_ADDR=first-node bash scripts/run_wmt14_ende.sh train
#   or with SLURM:   srun --nodes 2 --ntasks-per-node 1 --gpus-per-node 8 bash scripts/run_wmt14_ende.sh train
#   bash scripts/run_wmt14_ende.sh average evaluate
set -euo pipefail
# shellcheck source=scripts/lib/base.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/base.sh"
# shellcheck source=data-prep/prepare_wmt14_ende.sh
source "$ROOT/data-prep/prepare_wmt14_ende.sh"
# shellcheck source=scripts/lib/pipeline.sh
source "$ROOT/scripts/lib/pipeline.sh"
# shellcheck source=scripts/lib/training.sh
source "$ROOT/scripts/lib/training.sh"

CONF=wmt14_ende_base STAGES=()
while (($#)); do
  take_option "$@"
  shift "$TAKEN"
done
source_conf "$CONF"
WORK=${WORK:-$ROOT/runs/$(basename "$CONF" .env)}
check_options "${STAGES[@]}"
same_archives
setup_env
run_stages fetch_wmt14 "${STAGES[@]}"

#!/usr/bin/env bash
# GLUE: pre-trained models fine-tuned on one of its tasks and compared, as RoFormer's paper does it (section 4.3).
#
# Usage: bash scripts/run_glue.sh --task TASK --data DIR --from FOLDER [OPTIONS]
#
#   --task      CoLA, SST-2, MRPC, STS-B, QQP, MNLI, QNLI, RTE or WNLI
#   --data      the folder of its files, as GLUE has them: train.tsv, dev.tsv and perhaps test.tsv
#   --from      a work folder of run_mlm.sh, of which each model is fine-tuned, or a folder with model.pt, dict.txt and
#               vocab.txt; can be repeated, for models of one vocabulary
#   --sample    the files are samples: their numbers of examples are not compared with GLUE's
#   --dev-last  of MRPC's first release without dev_ids.tsv: the last N pairs are the validation set
#   --models    which models of --from (all)
#   --conf      rates, length and epochs (glue, the paper's); glue_small is for the models of run_mlm.sh
#
# STAGE is of prepare, train, evaluate. A seed begins with the pre-trained model of that seed; where fewer were
# pre-trained, they take turns.
#
# Set:  LENGTH, MAX_EPOCH, MAX_BATCH, PARALLEL, see the conf
# Out:  $WORK/MODEL with the scores of the best rate on the validation set, predictions, and submission/ for GLUE's
#       server; a table with the most frequent label and a bag of words, and report.html. Run again, it continues.
#       WORK is runs/glue-TASK
# Time: of STS-B 3.5 minutes for a rate, seed and model of run_mlm.sh, on one AMD Zen 3 core beside another training
#
# Example: bash scripts/run_glue.sh --task SST-2 --data glue_data/SST-2 --from runs/mlm --conf glue_small --seeds 1,2,3
set -euo pipefail
# shellcheck source=scripts/lib/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/recipe.sh"
# shellcheck source=scripts/lib/glue.sh
source "$ROOT/scripts/lib/glue.sh"

own_option() { glue_option "$@"; }

parse_options glue "$@"
name_work
run_fine_tuning prepare_glue

#!/usr/bin/env bash
# CAIL2019-SCM, similar-case matching: pre-trained models fine-tuned to say which of two cases is nearer to a third, at
# several lengths of input, as RoFormer's paper does it (section 4.5.4).
#
# Usage: bash scripts/run_scm.sh --train FILE --valid FILE [--test FILE] --from FOLDER [OPTIONS]
#
#   --train   JSON lines with A, B, C and label, plain or gzipped; likewise --valid and --test
#   --sample  in the place of these, a file without labels in which B is nearer, such as the organizers' 500 triples: it is
#             split by document into train and valid, for a smoke test and nothing more
#   --from    a work folder of run_zh.sh, of which each model is fine-tuned at each length, or a folder with model.pt,
#             dict.txt and vocab.txt; can be repeated, for models of one vocabulary
#   --models  which models at which lengths (all), as "roformer_at_512 roformer_at_1024"
#   --conf    lengths, rates and epochs (scm, for small models); scm_base is for released weights, on GPUs
#
# STAGE is of prepare, train, evaluate. A seed begins with the pre-trained model of that seed; where fewer were
# pre-trained, they take turns.
#
# Set:  MAX_EPOCH, MAX_BATCH, PARALLEL, see the conf
# Out:  $WORK/MODEL with accuracy and predictions of the best rate on the validation set; a table with the most frequent
#       label and the TF-IDF of characters, and report.html. Run again, it continues. WORK is runs/scm
# Time: 2, 9 and 19 minutes a rate at 128, 512 and 1,024 tokens, of the sample, on one AMD Zen 3 core
#
# Example: bash scripts/run_scm.sh --train train.json --valid valid.json --test test.json --from runs/zh --seeds 1,2,3
set -euo pipefail
# shellcheck source=scripts/lib/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/recipe.sh"
# shellcheck source=scripts/lib/scm.sh
source "$ROOT/scripts/lib/scm.sh"

own_option() { scm_option "$@"; }

parse_options scm "$@"
name_scm
run_fine_tuning prepare_scm
show_sample

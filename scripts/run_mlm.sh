#!/usr/bin/env bash
# RoFormer pre-trained against BERT: running text to masked language models of the same size, masks and batches, their
# learning curves, and their loss on blocks two and four times as long as in training.
#
# Usage: bash scripts/run_mlm.sh --train FILE... --valid FILE... [OPTIONS]
#
#   --train   UTF-8, plain or gzipped (.gz), joined in this order; likewise --valid. Once they are taken they may be left
#             out. Neighboring lines belong together: a line is a paragraph or a sentence
#   --without leave out of the training text each line that is a document of these files, white space apart: a
#             document a line, or JSON lines with A, B and C, as of run_scm.sh
#   --lang    the language, for the tokenizer; without it that of the conf
#   --conf    model, BPE, length and batch (mlm); bert_base has the settings of the paper, for GPUs
#
# Set:  MAX_UPDATE, PARALLEL, see the conf
# Out:  $WORK/roformer/averaged.pt, the pre-trained model; bert and sinusoidal beside it; the table, report.html, and
#       pictures of learning curves and of bits over length. Run again, it continues. WORK is runs/mlm
# Time: 28 minutes a training of mlm on one AMD Zen 3 core; docs/results-encoder.md has what came out
#
# Example: bash scripts/run_mlm.sh --train news.txt wiki.txt.gz --valid talks.txt --models "roformer bert" --seeds 1,2,3
set -euo pipefail
# shellcheck source=scripts/lib/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/recipe.sh"
# shellcheck source=scripts/lib/masked_lm.sh
source "$ROOT/scripts/lib/masked_lm.sh"

own_option() { text_option "$@"; }

parse_options mlm "$@"
WORK=${WORK:-$ROOT/runs/mlm}
one_language
check_test_lengths
run_recipe text
draw_masked

#!/usr/bin/env bash
# Chinese RoFormer in stages of growing length, one model without a table of positions: text to masked language models,
# with the columns of the paper's table 4, and the models of the first stage read at the later lengths without training.
#
# Usage: bash scripts/run_zh.sh --train FILE... --valid FILE... [OPTIONS]
#
#   --train   UTF-8, plain or gzipped (.gz), joined in this order; likewise --valid. Once they are taken they may be left
#             out. A line is a document or a paragraph, and neighboring lines belong together
#   --without leave out of the training text each line that is a document of these files, white space apart: a
#             document a line, or JSON lines with A, B and C, as of run_scm.sh
#   --lang    the name of the language in files (zh)
#   --conf    stages: lengths, batches, steps; vocabulary (zh)
#
# A later stage, such as roformer_512, begins with the last checkpoint of the one before.
#
# Set:  BPE=words, by jieba's dictionary; characters without it. STEPS, STEPS_512, STEPS_1536, PARALLEL, see the conf
# Out:  $WORK/roformer_1536/averaged.pt, the model of all stages; those of each stage beside it; tables, report.html, and
#       pictures of learning curves and of bits over length. Run again, it continues. WORK is runs/zh
# Time: half an hour for 2,000 steps of the first stage on one AMD Zen 3 core; docs/results-encoder.md has what came out
#
# Example: bash scripts/run_zh.sh --train judgments.txt.gz --valid others.txt.gz --without scm/train.json scm/valid.json
set -euo pipefail
# shellcheck source=scripts/lib/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/recipe.sh"
# shellcheck source=scripts/lib/masked_lm.sh
source "$ROOT/scripts/lib/masked_lm.sh"

own_option() { text_option "$@"; }
show_results() { show_stages; }

parse_options zh "$@"
WORK=${WORK:-$ROOT/runs/zh}
one_language
check_test_lengths
run_recipe text
draw_masked

#!/usr/bin/env bash
# Running text of one language, raw files to binarized data for masked language models.
#
# Usage: bash data-prep/prepare_text.sh --train FILE... --valid FILE... [OPTIONS]
#
#   --train   UTF-8, plain or gzipped (.gz), joined in this order; likewise --valid. Once they are taken they may be left
#             out. Neighboring lines belong together: a line is a paragraph or a sentence
#   --without leave out of the training text each line that is a document of these files, white space apart: a
#             document a line, or JSON lines with A, B and C, as of run_scm.sh
#   --lang    the language, for the tokenizer; without it that of the conf
#
# Out:  $WORK/raw, text, data-bin and manifest.json; WORK is runs/mlm
set -euo pipefail
# shellcheck source=scripts/lib/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/recipe.sh"
# shellcheck source=scripts/lib/masked_lm.sh
source "$ROOT/scripts/lib/masked_lm.sh"

own_option() { text_option "$@"; }

STAGES=(fetch prepare)
parse_options mlm "$@"
WORK=${WORK:-$ROOT/runs/mlm}
one_language
check_test_lengths
run_preparation

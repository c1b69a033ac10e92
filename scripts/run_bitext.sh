#!/usr/bin/env bash
# Your own parallel text: the chain of all recipes, raw files to a translator and a table of scores.
#
# Usage: bash scripts/run_bitext.sh --train PREFIX --valid PREFIX --test PREFIX -s en -t de [OPTIONS]
#
#   --train         PREFIX.en and PREFIX.de (or .gz), raw text, a sentence a line; likewise --valid and --test. Once they
#                   are taken they may be left out
#   --test          may be repeated: the table names each set by its files
#   -s, -t          the languages, also --source-lang and --target-lang; without them those of the conf
#   --conf          model, BPE, batch, training and evaluation (tiny)
#
# Set:  MAX_EPOCH
# Out:  $WORK/rope/averaged.pt, the table of results, and how to translate. Run again, every stage continues. WORK is
#       runs/bitext
#
# Example: bash scripts/run_bitext.sh --train data/train --valid data/dev --test data/test -s en -t de --conf tiny
set -euo pipefail
# shellcheck source=scripts/lib/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/recipe.sh"

own_option() { file_option "$@"; }

parse_options tiny "$@"
WORK=${WORK:-$ROOT/runs/bitext}
name_files
run_recipe bitext
[[ ! -s $(model_dir)/averaged.pt ]] || how_to_translate

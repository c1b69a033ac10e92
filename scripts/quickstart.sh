#!/usr/bin/env bash
# The whole chain on a synthetic English-German corpus, on a fresh machine: environment, data, training, averaging, beam
# search, scores, translation. Needs Python 3.10 to 3.13, a C++ compiler and the package index; no data, no GPU.
#
# Usage: bash scripts/quickstart.sh [--compare] [OPTIONS]
#
#   --compare   train all models of the conf, the rotary and the sinusoidal one: both columns, BLEU on longer sentences,
#               learning curves as a picture
#
# Out:  $WORK/rope/averaged.pt, a table of results, and how to translate your own text. Run again, it continues. WORK is
#       runs/quickstart
# Time: on two cores 1 to 10 minutes of installation, once, and about 3 minutes; --compare about 3 more.
# Expected: test BLEU above 90.
set -euo pipefail
# shellcheck source=scripts/lib/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/recipe.sh"

compare=0 command=()
own_option() {
  [[ $1 == --compare ]] || die "there is no option $1, see --help"
  compare=1 TAKEN=1
}

parse_options quickstart "$@"
WORK=${WORK:-$ROOT/runs/quickstart}
((compare == 0)) || all_models
run_recipe grammar
if ((compare)); then
  python -m fairseq_rope_data plot "$WORK" --output "$WORK/learning_curves.png" >&2
  printf '\nLearning curves: %s\n' "$WORK/learning_curves.png"
fi

if has_stage evaluate; then
  translator_command command
  head -n 5 "$WORK/raw/test.$SOURCE_LANG" >"$WORK/five.$SOURCE_LANG"
  "${command[@]}" --input "$WORK/five.$SOURCE_LANG" >"$WORK/five.$TARGET_LANG"
  printf '\nFive sentences of the test set, translated:\n'
  paste -d '\n' "$WORK/five."{"$SOURCE_LANG","$TARGET_LANG"} | sed '1~2s/^/\n  /; 2~2s/^/  /'
  how_to_translate " (this model knows only the words of its corpus)"
fi

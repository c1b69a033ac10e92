#!/usr/bin/env bash
# The whole chain on a made English-German corpus, on a fresh machine: environment, data, training, averaging, beam
# search, scores, translation. Needs Python 3.10 to 3.13, a C++ compiler and the package index; no data, no GPU.
#
# Usage: bash scripts/quickstart.sh [--compare]
#
#   --compare   train the sinusoidal twin too: both columns, BLEU on longer sentences, learning curves as a picture
#
# Set:  WORK  work folder (runs/quickstart)
# Out:  $WORK/rope/averaged.pt, a table of results, and how to translate your own text. Run again, it continues.
# Time: on two cores 1 to 10 minutes of installation, once, and about 3 minutes; --compare about 3 more.
# Expected: test BLEU above 90.
set -euo pipefail
# shellcheck source=scripts/lib/base.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/base.sh"
# shellcheck source=scripts/lib/pipeline.sh
source "$ROOT/scripts/lib/pipeline.sh"
# shellcheck source=scripts/lib/training.sh
source "$ROOT/scripts/lib/training.sh"

# make_corpus: the embedded one, all of it or nothing.
make_corpus() {
  if [[ -d $WORK/raw ]]; then
    log "have $WORK/raw"
    return
  fi
  rm -rf -- "$WORK/raw.part"
  python -m fairseq_rope_data.grammar "$WORK/raw.part" >&2
  mv -- "$WORK/raw.part" "$WORK/raw"
}

CONF=quickstart compare=0
(($# < 2)) || die "there is one argument at most, but got: $*"
case ${1:-} in
  --help | -h) usage_from_header && exit ;;
  --compare) compare=1 MODELS="rope sinusoidal" ;;
  "") ;;
  *) die "the argument must be --compare or --help, but is $1" ;;
esac
source_conf "$CONF"
WORK=${WORK:-$ROOT/runs/quickstart}
check_options "${ALL_STAGES[@]}"
setup_env "" plot
run_stages make_corpus
if ((compare)); then
  python -m fairseq_rope.tools.plot "$WORK" --output "$WORK/learning_curves.png" >&2
  printf '\nLearning curves: %s\n' "$WORK/learning_curves.png"
fi

translator_command rope
head -n 5 "$WORK/raw/test.en" >"$WORK/five.en"
"${TRANSLATOR[@]}" --input "$WORK/five.en" >"$WORK/five.de"
printf '\nFive sentences of the test set, translated:\n'
paste -d '\n' "$WORK/five.en" "$WORK/five.de" | sed '1~2s/^/\n  /; 2~2s/^/  /'
how_to_translate rope " (this model knows only the words of its corpus)"

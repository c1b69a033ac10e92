#!/usr/bin/env bash
# The synthetic English-German corpus of the quickstart, made by a grammar: text to binarized data.
#
# Usage: bash data-prep/prepare_grammar.sh [OPTIONS]
#
# Out:  $WORK/raw, text, data-bin and manifest.json; WORK is runs/quickstart
set -euo pipefail
# shellcheck source=scripts/lib/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/recipe.sh"

# fetch_text: all of the corpus or nothing.
fetch_text() {
  if [[ -d $WORK/raw ]]; then
    log "have $WORK/raw"
    return
  fi
  rm -rf -- "$WORK/raw.part"
  python -m fairseq_rope_data.grammar "$WORK/raw.part" >&2
  mv -- "$WORK/raw.part" "$WORK/raw"
}

STAGES=(fetch prepare)
parse_options quickstart "$@"
WORK=${WORK:-$ROOT/runs/quickstart}
run_preparation

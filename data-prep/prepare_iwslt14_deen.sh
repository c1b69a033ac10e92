#!/usr/bin/env bash
# IWSLT14 German-English as fairseq's recipe makes it: lower-cased, 1 to 175 tokens at a ratio of at most 1.5, every 23rd
# pair for validation, five TED sets of 2010 to 2012 for the test, joint 10,000-merge BPE. One dictionary for both sides.
#
# Usage: bash data-prep/prepare_iwslt14_deen.sh [OPTIONS]
#
# In:   the network; or IWSLT14_ARCHIVES, a folder with de-en.tgz; or IWSLT14_URL, another address. No checksum is
#       published: that of the first use is recorded in $WORK/archives.sha256 and compared from then on
# Out:  $WORK/raw, text, data-bin and manifest.json; WORK is runs/iwslt14_deen
# Expected: 160,239 pairs to train, 7,283 to validate, 6,750 to test.
set -euo pipefail
# shellcheck source=scripts/lib/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/recipe.sh"

TALKS=(dev2010 dev2012 tst2010 tst2011 tst2012)

training_lines() { # ARCHIVE LANG: without the lines that only describe a talk, and without tags
  unpack "$1" "de-en/train.tags.de-en.$2" | sed -E '/<(url|talkid|keywords)>/d; s,</?(title|description)>,,g'
}

test_lines() { # ARCHIVE LANG
  local talk
  for talk in "${TALKS[@]}"; do
    unpack "$1" "de-en/IWSLT14.TED.$talk.de-en.$2.xml" "de-en/IWSLT14.TEDX.$talk.de-en.$2.xml" >"$WORK/raw/talk"
    python -m fairseq_rope_data.sgm "$WORK/raw/talk"
  done
  rm -- "$WORK/raw/talk"
}

tokens_record() { # of the training text before it is split: what it is of, the archive, is checked when it is read
  printf '[given]\n[prepare]\n'
  values NORMALIZE LOWERCASE MOSES BPE
}

check_given() {
  check_archives IWSLT14_ARCHIVES
}

# fetch_text: the archive to training and validation text, which are split once they are tokenized.
fetch_text() {
  local lang file
  [[ ! -s $WORK/text/all.tok.de ]] || compare_record "$WORK/text" "$WORK/text/all.tok.settings" "$(tokens_record)"
  refuse_changed
  if [[ ! -s $WORK/raw/all.de || ! -s $WORK/raw/all.en || ! -s $WORK/raw/test.de || ! -s $WORK/raw/test.en ]]; then
    file=$(archive "${IWSLT14_URL:-http://dl.fbaipublicfiles.com/fairseq/data/iwslt14/de-en.tgz}" IWSLT14_ARCHIVES)
  fi
  keep_record "$WORK/text/all.tok.settings" "$(tokens_record)"
  for lang in de en; do
    step "$WORK/raw/all.$lang" training_lines "${file:-}" "$lang"
    step "$WORK/raw/test.$lang" test_lines "${file:-}" "$lang"
    step "$WORK/text/all.tok.$lang" tokenize train "$lang" "$WORK/raw/all.$lang"
  done
  same_lines "$WORK/raw/all."{de,en} "$WORK/text/all.tok."{de,en}
  clean_train "$WORK/text/all.tok" "$WORK/text/all.clean" --min-length 1 --max-length 175 --max-ratio 1.5
  for lang in de en; do
    step "$WORK/text/valid.tok.$lang" awk 'NR % 23 == 0' "$WORK/text/all.clean.$lang"
    step "$WORK/text/train.tok.$lang" awk 'NR % 23 != 0' "$WORK/text/all.clean.$lang"
  done
}

STAGES=(fetch prepare)
parse_options iwslt14_deen "$@"
WORK=${WORK:-$ROOT/runs/iwslt14_deen}
run_preparation

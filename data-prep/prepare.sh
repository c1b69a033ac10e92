# Raw parallel text to binarised data, for every recipe: `source` it after scripts/lib.sh and a file of scripts/conf.
# shellcheck shell=bash
#
# In:  $WORK/raw/{train,valid,TEST...}.{SRC,TGT}       raw text, or tokenised text in BPE in $WORK/text
# Out: $WORK/text/SET.tok.LANG, codes, SET.LANG        tokenised; joint BPE; text in BPE
#      $WORK/data-bin                                  what fairseq-train and fairseq-generate read
# Settings: SOURCE_LANG, TARGET_LANG, LOWERCASE, MOSES, BPE_MERGES, TEST_SETS.

# sets: the names of all parts of the corpus, a line each.
sets() {
  printf '%s\n' train valid "${TEST_SETS[@]}"
}

# same_lines FILE FILE...: parallel files are aligned line by line, or they are no corpus.
same_lines() {
  local file first=$1 lines expected
  expected=$(wc -l <"$first")
  ((expected > 0)) || die "$first is empty"
  for file in "${@:2}"; do
    lines=$(wc -l <"$file")
    ((lines == expected)) || die "$file has $lines lines, but $first has $expected: parallel files must be aligned"
  done
}

tokenise() { # LANG FILE
  local options=("${MOSES[@]}")
  [[ $LOWERCASE == 0 ]] || options+=(--lowercase)
  python "$ROOT/data-prep/tokenise.py" --lang "$1" "${options[@]}" <"$2"
}

learn_bpe() { # FILE...: merges of all files together
  cat -- "$@" | subword-nmt learn-bpe -s "$BPE_MERGES" 2> >(grep -v it/s >&2)
}

apply_bpe() { # CODES FILE
  subword-nmt apply-bpe -c "$1" <"$2"
}

# prepare_text: $WORK/raw -> $WORK/text.
prepare_text() {
  local text=$WORK/text set lang
  same_settings "$text/settings" "$(declare -p SOURCE_LANG TARGET_LANG LOWERCASE MOSES BPE_MERGES TEST_SETS)"
  for set in $(sets); do
    for lang in "$SOURCE_LANG" "$TARGET_LANG"; do
      [[ -f $WORK/raw/$set.$lang ]] || die "$WORK/raw/$set.$lang is missing"
      step "$text/$set.tok.$lang" tokenise "$lang" "$WORK/raw/$set.$lang"
    done
    same_lines "$WORK/raw/$set."{"$SOURCE_LANG","$TARGET_LANG"} "$text/$set.tok."{"$SOURCE_LANG","$TARGET_LANG"}
  done
  step "$text/codes" learn_bpe "$text/train.tok."{"$SOURCE_LANG","$TARGET_LANG"}
  for set in $(sets); do
    for lang in "$SOURCE_LANG" "$TARGET_LANG"; do
      step "$text/$set.$lang" apply_bpe "$text/codes" "$text/$set.tok.$lang"
    done
  done
}

# binarise: $WORK/text -> $WORK/data-bin, with one dictionary of every training symbol for both languages.
binarise() {
  local text=$WORK/text bin=$WORK/data-bin set tests
  if [[ -d $bin ]]; then
    log "have $bin"
    return
  fi
  for set in $(sets); do same_lines "$text/$set."{"$SOURCE_LANG","$TARGET_LANG"}; done
  log "make $bin"
  rm -rf -- "$bin.part"
  tests=$(printf ",$text/%s" "${TEST_SETS[@]}")
  fairseq-preprocess --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG" --joined-dictionary \
    --trainpref "$text/train" --validpref "$text/valid" --testpref "${tests:1}" --destdir "$bin.part" \
    --thresholdsrc 0 --thresholdtgt 0 --padding-factor 8 --workers "$(nproc)" >&2
  mv -- "$bin.part" "$bin"
}

# Raw parallel text to text in BPE: sourced by recipe.sh.
# shellcheck shell=bash
#
# In:  $WORK/raw/{train,valid,TEST...}.{SRC,TGT}   raw text; or as $WORK/text/SET.tok.LANG, or in BPE as $WORK/text/SET.LANG
# Out: $WORK/text/SET.tok.LANG                     normalized and tokenized
#      $WORK/text/codes or sentencepiece.model     joint BPE of the training text
#      $WORK/text/train.bpe.LANG, train.clean.json the training text in BPE before cleaning, and what that dropped
#      $WORK/text/SET.LANG                         text in BPE
#      $WORK/text/settings, data-bin.settings      what these were made from: see records.sh
# Settings: SOURCE_LANG, TARGET_LANG, NORMALIZE, LOWERCASE, MOSES, BPE, BPE_MERGES, CLEAN, TEST_SETS, JOBS.

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

# prepared_from SET...: the record of their text.
prepared_from() {
  printf '[given]\n'
  given_text "$@"
  printf '[prepare]\n'
  values SOURCE_LANG TARGET_LANG NORMALIZE LOWERCASE MOSES BPE BPE_MERGES CLEAN
}

text_record() {
  prepared_from train valid "${TEST_SETS[@]}"
  values TEST_SETS
}

data_record() {
  text_record
  printf '[binarize]\nSHARDS=%s\n' "$SHARDS"
}

# compare_prepared: the text and data that are there are made from these settings and this text, and undamaged.
compare_prepared() {
  [[ ! -s $WORK/text/settings ]] || compare_record "$WORK/text" "$WORK/text/settings" "$(text_record)"
  [[ ! -d $WORK/data-bin ]] || compare_record "$WORK/data-bin" "$WORK/data-bin.settings" "$(data_record)"
  # binarized data has no checksum of its own: with a bit changed it is another text
  [[ ! -d $WORK/data-bin || ! -s $WORK/manifest.json ]] || python -m fairseq_rope_data.check_manifest "$WORK" data-bin
}

check_corpus() { # SET PREFIX
  python -m fairseq_rope_data.check_corpus --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG" "$2" >&2
  given_text "$1"
}

tokenize() { # SET LANG FILE
  local options=(--lang "$2" --jobs "$JOBS")
  if [[ $BPE == sentencepiece ]]; then options+=(--tokenizer none); else options+=("${MOSES[@]}"); fi
  # a reference stays as it is: scores on normalized ones are not those of other people
  [[ $NORMALIZE == 0 || ($2 == "$TARGET_LANG" && $1 != train && $1 != valid) ]] || options+=(--normalize)
  [[ $LOWERCASE == 0 ]] || options+=(--lowercase)
  python -m fairseq_rope_data.tokenize "${options[@]}" "$3"
}

learn_bpe() { # FILE...: merges of all files together
  if [[ $BPE == sentencepiece ]]; then
    python -m fairseq_rope_data.sentencepiece_bpe learn --pieces "$BPE_MERGES" --model "$WORK/text/learned.part" "$@"
    cat -- "$WORK/text/learned.part"
    rm -- "$WORK/text/learned.part"
  else
    RAYON_NUM_THREADS=$JOBS python -m fairseq_rope_data.learn_bpe --merges "$BPE_MERGES" "$@"
  fi
}

apply_bpe() { # MODEL FILE
  if [[ $BPE == sentencepiece ]]; then
    python -m fairseq_rope_data.sentencepiece_bpe apply --model "$1" --jobs "$JOBS" "$2"
  else
    python -m fairseq_rope_data.apply_bpe --codes "$1" --jobs "$JOBS" "$2"
  fi
}

text_of() { # SET: where its text begins, raw or tokenized
  if [[ -s $WORK/raw/$1.$SOURCE_LANG ]]; then printf '%s' "$WORK/raw/$1"; else printf '%s' "$WORK/text/$1.tok"; fi
}

# clean_train FROM TO RULE...: drop the pairs that break a rule; both sides are complete or not there.
clean_train() {
  if [[ -s $2.clean.json ]]; then
    log "have $2.$SOURCE_LANG and $2.$TARGET_LANG"
    return
  fi
  log "make $2.$SOURCE_LANG and $2.$TARGET_LANG: clean ${*:3}"
  python -m fairseq_rope_data.clean_corpus --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG" "${@:3}" "$1" "$2" >&2
}

# prepare_text: $WORK/raw -> $WORK/text.
prepare_text() {
  local text=$WORK/text codes=codes set lang name given
  [[ $BPE != sentencepiece ]] || codes=sentencepiece.model
  # all of them, before hours are spent on the first
  for set in train valid "${TEST_SETS[@]}"; do
    given=$text/$set.checked
    [[ ! -f $given || $(<"$given") == "$(given_text "$set")" ]] || rm -- "$given" # it was another text
    step "$given" check_corpus "$set" "$(text_of "$set")"
  done
  keep_record "$text/settings" "$(text_record)"
  for set in train valid "${TEST_SETS[@]}"; do
    given=$(text_of "$set")
    for lang in "$SOURCE_LANG" "$TARGET_LANG"; do
      step "$text/$set.tok.$lang" tokenize "$set" "$lang" "$WORK/raw/$set.$lang"
    done
    same_lines "$given."{"$SOURCE_LANG","$TARGET_LANG"} "$text/$set.tok."{"$SOURCE_LANG","$TARGET_LANG"}
  done
  step "$text/$codes" learn_bpe "$text/train.tok."{"$SOURCE_LANG","$TARGET_LANG"}
  for set in train valid "${TEST_SETS[@]}"; do
    name=$set
    ((${#CLEAN[@]} == 0)) || [[ $set != train ]] || name=train.bpe
    for lang in "$SOURCE_LANG" "$TARGET_LANG"; do
      step "$text/$name.$lang" apply_bpe "$text/$codes" "$text/$set.tok.$lang"
    done
    same_lines "$text/$set.tok.$SOURCE_LANG" "$text/$name."{"$SOURCE_LANG","$TARGET_LANG"}
  done
  ((${#CLEAN[@]} == 0)) || clean_train "$text/train.bpe" "$text/train" "${CLEAN[@]}"
}

# Columns of text to what fairseq's tasks of sentences read, in the vocabulary of a pre-trained model: sourced by
# fine_tuning.sh.
# shellcheck shell=bash
# shellcheck disable=SC2153  # settings of other files
#
# In:  $WORK/raw/SET.inputN, a text a line
# Out: $WORK/text/SET.inputN   texts in pieces of the model's vocabulary
#      $WORK/data-bin/inputN, label
#      $WORK/manifest.json
# Settings: SETS, INPUTS; those that pretrained.sh has read. A recipe defines
#
#   prepare_labels  labels to $WORK/data-bin.part/label

# prepare_columns SETTING COMMAND...: COMMAND writes $WORK/raw; the manifest has SETTING, as KEY=VALUE.
prepare_columns() {
  local set input
  if [[ -d $WORK/data-bin && -s $WORK/manifest.json ]]; then
    log "have $WORK/data-bin"
    return
  fi
  keep_record "$WORK/data-bin.settings" "$(data_record)"
  # the manifest is of what was there before
  rm -rf -- "$WORK/raw" "$WORK/text" "$WORK/data-bin" "$WORK/data-bin.part" "$WORK/manifest.json"
  "${@:2}" >&2
  for set in train "${SETS[@]}"; do
    for input in "${INPUTS[@]}"; do
      step "$WORK/text/$set.$input" pieces "$WORK/raw/$set.$input"
      same_lines "$WORK/raw/$set.$input" "$WORK/text/$set.$input"
    done
  done
  for input in "${INPUTS[@]}"; do binarize_column "$WORK/text" "$input" "$DICTIONARY" train "${SETS[@]}"; done
  prepare_labels
  mv -- "$WORK/data-bin.part" "$WORK/data-bin"
  python -m fairseq_rope_data.manifest "$WORK" "$1" NORMALIZE="$NORMALIZE" LOWERCASE="$LOWERCASE" MOSES="${MOSES[*]}" \
    BPE="$BPE"
}

# copy_labels: labels as text.
copy_labels() {
  local set
  mkdir -p -- "$WORK/data-bin.part/label"
  for set in train "${LABELED[@]}"; do cp -- "$WORK/raw/$set.label" "$WORK/data-bin.part/label/"; done
}

# pieces FILE: raw text as the model's own was split.
pieces() {
  local lowercase=()
  if [[ $BPE == wordpiece ]]; then
    [[ $LOWERCASE == 0 ]] || lowercase=(--lowercase)
    python -m fairseq_rope_data.wordpiece --vocab "$CODES" "${lowercase[@]}" --jobs "$JOBS" "$1"
  else
    tokenize train "$SOURCE_LANG" "$1" | apply_bpe "$CODES" -
  fi
}

# binarize_column FROM COLUMN DICTIONARY train SET...
binarize_column() {
  local from=$1 column=$2 dictionary=$3 set valid="" tests=""
  for set in "${@:5}"; do
    if [[ $set == valid* ]]; then valid+=,$from/$set.$column; else tests+=,$from/$set.$column; fi
  done
  fairseq-preprocess --user-dir "$ROOT/fairseq_rope" --only-source --srcdict "$dictionary" --workers "$JOBS" \
    --trainpref "$from/train.$column" --validpref "${valid:1}" ${tests:+--testpref "${tests:1}"} \
    --destdir "$WORK/data-bin.part/$column" >&2
}

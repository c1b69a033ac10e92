# Raw parallel text to text in BPE: sourced by recipe.sh. What is other for text of one language is in running_text.sh.
# shellcheck shell=bash
#
# In:  $WORK/raw/{train,valid,TEST...}.{SRC,TGT}   raw text; or as $WORK/text/SET.tok.LANG, or in BPE as $WORK/text/SET.LANG
# Out: $WORK/text/SET.tok.LANG                     normalized and tokenized
#      $WORK/text/codes                            joint BPE of the training text; the name is that of pieces.sh
#      $WORK/text/train.bpe.LANG, train.clean.json the training text in BPE before cleaning, and what that dropped
#      $WORK/text/SET.LANG                         text in BPE
#      $WORK/text/{train,valid}.windows.tsv        with WINDOWS, which lines of {train.lines,train.bpe,valid.bpe}.LANG it has
#      $WORK/text/SET-wSIZE.LANG, .windows.tsv     with TEST_WINDOWS, test sets in windows
#      $WORK/text/settings, data-bin.settings      what these were made from: see records.sh
# Settings: SOURCE_LANG, TARGET_LANG, NORMALIZE, LOWERCASE, MOSES, BPE, BPE_MERGES, CLEAN, WINDOWS, TEST_WINDOWS,
# WINDOW_OPTIONS, TEST_SETS, JOBS.

TEXT_SETTINGS=(SOURCE_LANG TARGET_LANG NORMALIZE LOWERCASE MOSES BPE BPE_MERGES CLEAN) # what text depends on

# same_lines FILE FILE...: parallel files are aligned line by line, or they are no corpus.
same_lines() {
  local file first=$1 lines expected
  expected=$(count_lines "$first")
  ((expected > 0)) || die "$first is empty"
  for file in "${@:2}"; do
    lines=$(count_lines "$file")
    ((lines == expected)) || die "$file has $lines lines, but $first has $expected: parallel files must be aligned"
  done
}

# count_lines FILE: the last one may end without a newline.
count_lines() {
  # -a, or a NUL, which all that comes later takes as a character, would end a line
  LC_ALL=C grep -a -c '' -- "$1" || true # its status for no line
}

# side_files FILES PREFIX...: fill the array FILES with PREFIX.LANG of all sides.
side_files() {
  local -n files_=$1
  local prefix lang
  files_=()
  for prefix in "${@:2}"; do
    for lang in $(sides); do files_+=("$prefix.$lang"); done
  done
}

# aligned PREFIX...: all their sides have as many lines.
aligned() {
  local files
  side_files files "$@"
  same_lines "${files[@]}"
}

# prepared_from SET...: the record of their text.
prepared_from() {
  printf '[given]\n'
  given_text "$@"
  printf '[prepare]\n'
  values "${TEXT_SETTINGS[@]}"
  # a record from before there were windows is the same as without them
  ((${#WINDOWS[@]} == 0)) || values WINDOWS WINDOW_OPTIONS
}

text_record() {
  prepared_from train valid "${TEST_SETS[@]}"
  values TEST_SETS
  ((${#TEST_WINDOWS[@]} == 0)) || values TEST_WINDOWS
}

data_record() {
  text_record
  printf '[binarize]\nSHARDS=%s\n' "$SHARDS"
}

# compare_prepared: the text and data that are there are made from these settings and this text, and undamaged.
compare_prepared() {
  [[ ! -s $WORK/text/settings ]] || compare_record "$WORK/text" "$WORK/text/settings" "$(text_record)"
  [[ ! -d $WORK/data-bin ]] || compare_record "$WORK/data-bin" "$WORK/data-bin.settings" "$(data_record)"
  check_data
}

# check_data: binarized data has no checksum of its own, and with a bit changed it is another text; the manifest has one.
check_data() {
  [[ ! -d $WORK/data-bin || ! -s $WORK/manifest.json ]] || python -m fairseq_rope_data.check_manifest "$WORK" data-bin
}

check_corpus() { # SET PREFIX
  local langs=(--source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG") references=()
  [[ $1 == train || $1 == valid || $2 != "$WORK/raw/"* ]] || references=(--references)
  python -m fairseq_rope_data.check_corpus "${langs[@]}" "${references[@]}" "$2" >&2
  [[ $1 == train || $(facts_of "$1") != "$(facts_of train)" ]] || die "$2 is the training text again: $1 must be other text"
  ! is_in_windows "$1" || python -m fairseq_rope_data.windows check "${langs[@]}" "${WINDOW_OPTIONS[@]}" "$2" >&2
  given_text "$1"
}

facts_of() { # SET: its text, whatever its name
  given_text "$1" | sed 's/^[^:]*: //'
}

is_in_windows() { # SET
  if [[ $1 == train || $1 == valid ]]; then ((${#WINDOWS[@]})); else ((${#TEST_WINDOWS[@]})); fi
}

text_of() { # SET: where its text begins, raw or tokenized
  if [[ -s $WORK/raw/$1.$SOURCE_LANG ]]; then printf '%s' "$WORK/raw/$1"; else printf '%s' "$WORK/text/$1.tok"; fi
}

# check_sets: all of them, before hours are spent on the first.
check_sets() {
  local set checked
  for set in train valid "${TEST_SETS[@]}"; do
    checked=$WORK/text/$set.checked
    [[ ! -f $checked || $(<"$checked") == "$(given_text "$set")" ]] || rm -- "$checked" # it was another text
    step "$checked" check_corpus "$set" "$(text_of "$set")"
  done
}

# has_all SIGN PREFIX: the sign that all sides of PREFIX are complete is there, and nobody has removed a side.
has_all() {
  local files file
  side_files files "$2"
  for file in "$1" "${files[@]}"; do [[ -s $file ]] || return 1; done
}

# clean_train FROM TO RULE...: drop the pairs that break a rule; both sides are complete or not there.
clean_train() {
  if has_all "$2.clean.json" "$2"; then
    log "have $2.$SOURCE_LANG and $2.$TARGET_LANG"
    return
  fi
  log "make $2.$SOURCE_LANG and $2.$TARGET_LANG: clean ${*:3}"
  python -m fairseq_rope_data.clean_corpus --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG" "${@:3}" "$1" "$2" >&2
}

# make_windows FROM TO OPTION...: windows of several lines; both sides and their index are complete or not there.
make_windows() {
  if has_all "$2.windows.tsv" "$2"; then
    log "have $2.$SOURCE_LANG and $2.$TARGET_LANG"
    return
  fi
  log "make $2.$SOURCE_LANG and $2.$TARGET_LANG: windows ${*:3}"
  python -m fairseq_rope_data.windows make --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG" \
    "${@:3}" "${WINDOW_OPTIONS[@]}" "$1" "$2" >&2
}

# tested_sets SETS: fill the array SETS with all that is translated, TEST_SETS and these in windows, in fairseq's order.
tested_sets() {
  local -n sets_=$1
  local set_ size_
  sets_=("${TEST_SETS[@]}")
  for size_ in "${TEST_WINDOWS[@]}"; do
    for set_ in "${TEST_SETS[@]}"; do sets_+=("$set_-w$size_"); done
  done
}

# lines_of SET: the test set whose windows these are, or itself.
lines_of() {
  if [[ " ${TEST_SETS[*]} " == *" $1 "* ]]; then printf '%s' "$1"; else printf '%s' "${1%-w*}"; fi
}

# window_text: what the settings have in windows; they are made of BPE, so that sentences are the pieces they always were.
window_text() {
  local text=$WORK/text set size lines=train.bpe
  if ((${#WINDOWS[@]})); then
    if ((${#CLEAN[@]})); then
      lines=train.lines
      clean_train "$text/train.bpe" "$text/$lines" "${CLEAN[@]}" --leave-blank
    fi
    make_windows "$text/$lines" "$text/train" "${WINDOWS[@]}"
    make_windows "$text/valid.bpe" "$text/valid" "${WINDOWS[@]}"
  fi
  for size in "${TEST_WINDOWS[@]}"; do
    for set in "${TEST_SETS[@]}"; do make_windows "$text/$set" "$text/$set-w$size" --size "$size"; done
  done
}

# prepare_text: $WORK/raw -> $WORK/text.
prepare_text() {
  local text=$WORK/text codes set lang name given files
  codes=$(codes_name)
  check_sets
  keep_record "$text/settings" "$(text_record)"
  for set in train valid "${TEST_SETS[@]}"; do
    given=$(text_of "$set")
    for lang in $(sides); do
      step "$text/$set.tok.$lang" tokenize "$set" "$lang" "$WORK/raw/$set.$lang"
    done
    aligned "$given" "$text/$set.tok"
  done
  side_files files "$text/train.tok"
  step "$text/$codes" learn_bpe "${files[@]}"
  for set in train valid "${TEST_SETS[@]}"; do
    name=$set
    ((${#CLEAN[@]} == 0)) || [[ $set != train ]] || name=train.bpe
    ((${#WINDOWS[@]} == 0)) || [[ $set != train && $set != valid ]] || name=$set.bpe
    for lang in $(sides); do
      step "$text/$name.$lang" apply_bpe "$text/$codes" "$text/$set.tok.$lang"
    done
    aligned "$text/$set.tok" "$text/$name"
  done
  ((${#CLEAN[@]} == 0 || ${#WINDOWS[@]})) || clean_train "$text/train.bpe" "$text/train" "${CLEAN[@]}"
  window_text
}

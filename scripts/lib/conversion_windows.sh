# A conversion for several sentences at once, --windows: sourced by convert_to_rope.sh, after conversion.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153  # settings of other files
#
# In:  $WINDOW, the most lines of a window, or nothing; $ORDERED, text in order, or nothing for the training text of $DATA
# Out: $WORK/text/SET.LANG      the text of $DATA, still in BPE
#      $WORK/text/windows.LANG  windows of 1 to $WINDOW lines of the text in order
#      $WORK/text/SET-wN.LANG   each test set in windows
#      $WORK/windows-bin        links to the files of $DATA, and the windows as one training set and test sets more: fairseq
#                               trains on train, train1 ... together
# Settings: WINDOW_OPTIONS.

has_windows() { [[ -n $WINDOW ]]; }

# set_windows: the settings of --windows, which are checked as far as no Python is needed.
set_windows() {
  if ! has_windows; then
    [[ -z $ORDERED ]] || die "--ordered is text for --windows, which is not given"
    return
  fi
  [[ $WINDOW =~ ^[1-9][0-9]{0,3}$ && $WINDOW -gt 1 ]] ||
    die "--windows must be a whole number from 2 to 9999, but is $(quoted "$WINDOW")"
  WINDOWS=(--size "$WINDOW" --random)
  TEST_WINDOWS=("$WINDOW")
  # each line once: with its default of -1 fairseq cannot read several training sets
  TRAIN+=(--upsample-primary 1)
}

# check_separator: the separator is a word of both dictionaries, for the table of embeddings stays as it is; and text that
# is given in order does not hold it, and is in order.
check_separator() {
  local lang separator
  has_windows || return 0
  separator=$(option_value --separator "${WINDOW_OPTIONS[@]}")
  for lang in $(sides); do
    awk -v word="$separator" '$1 == word { found = 1; exit } END { exit !found }' "$DATA/dict.$lang.txt" ||
      die "WINDOW_OPTIONS must have a --separator that is in the dictionaries, but $DATA/dict.$lang.txt has no $(quoted "$separator"): choose a rare word that the text does not have"
  done
  # the text of $DATA is checked when it has been written out
  [[ -z $ORDERED ]] || python -m fairseq_rope_data.windows check --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG" \
    "${WINDOW_OPTIONS[@]}" "$ORDERED" >&2 || exit
}

# prepare_windows: $DATA -> $WORK/text -> $WORK/windows-bin, to which $WORK/data-bin becomes a link.
prepare_windows() {
  local bin=$WORK/windows-bin file
  [[ -d $bin ]] || binarize_windows "$bin"
  # again at each start: $DATA may have been moved
  for file in "$(realpath -- "$DATA")"/*; do ln -sfn -- "$file" "$bin/${file##*/}"; done
  ln -sfn -- windows-bin "$WORK/data-bin"
}

binarize_windows() { # OUT
  local text=$WORK/text set index tests=""
  keep_record "$1.settings" "$(prepared_from)"
  rm -rf -- "$text" "$1.new" "$1.part" # of a run that was killed, and may have had other text
  log "make the text of $DATA, $text"
  python -m fairseq_rope.tools.convert --from "$FROM" --data "$DATA" --text "$text" >&2
  make_windows "${ORDERED:-$text/train}" "$text/windows" "${WINDOWS[@]}"
  for set in "${TEST_SETS[@]}"; do
    make_windows "$text/$set" "$text/$set-w$WINDOW" --size "$WINDOW" --any-order
    tests+=,$text/$set-w$WINDOW
  done
  check_lengths "${TRAIN[@]}"
  DICTIONARY=(--srcdict "$DATA/dict.$SOURCE_LANG.txt" --tgtdict "$DATA/dict.$TARGET_LANG.txt")
  preprocess --trainpref "$text/windows" --testpref "${tests:1}" --destdir "$1.new"
  mkdir -- "$1.part"
  add_set "$1" train "train$(free_number train)"
  for index in "${!TEST_SETS[@]}"; do
    add_set "$1" "test${index/#0/}" "test$((${#TEST_SETS[@]} + index))"
  done
  rm -rf -- "$1.new"
  mv -- "$1.part" "$1"
}

# free_number SET: that of the first of SET1, SET2 ... that $DATA does not have.
free_number() {
  local number=1
  while compgen -G "$DATA/$1$number.*" >/dev/null; do ((++number)); done
  printf '%s' "$number"
}

# add_set OUT SET NAME: files of a set that is new, under the name that it has among the others.
add_set() {
  local file
  for file in "$1.new/$2".*; do mv -- "$file" "$1.part/$3.${file#"$1.new/$2."}"; done
}

# Masked language models of running text, read at several lengths: sourced after recipe.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153  # settings of other files
#
# In:  $WORK/data-bin, $WORK/MODEL/averaged.pt
# Out: $WORK/MODEL/score-valid-LENGTH.json  bits and accuracy of masked tokens in blocks of so many tokens
# Settings: BLOCK, tokens of a block in training; TEST_LENGTHS; GENERATE, options of fairseq_rope.tools.masked, to which a
# DECODED_NAME adds its own.

# shellcheck source=scripts/lib/running_text.sh
source "$ROOT/scripts/lib/running_text.sh"

# check_test_lengths: settings of this file.
check_test_lengths() {
  local length
  check_number BLOCK 2 999999
  ((${#TEST_LENGTHS[@]})) || die "TEST_LENGTHS must have a length"
  for length in "${TEST_LENGTHS[@]}"; do
    [[ $length =~ ^([2-9]|[1-9][0-9]{1,5})$ ]] ||
      die "TEST_LENGTHS must be whole numbers from 2 to 999999, but has $(quoted "$length")"
  done
}

# check_prepared: the validation text fills a block of each length, or the last stage would fail. A block begins with <s>, and
# each line ends with </s>.
check_prepared() {
  local longest tokens
  longest=$(printf '%s\n' "${TEST_LENGTHS[@]}" | sort -n | tail -n 1)
  tokens=$(awk '{ tokens += NF + 1 } END { print tokens + 0 }' "$WORK/text/valid.$SOURCE_LANG")
  ((tokens + 1 >= longest)) ||
    die "the validation text has $tokens tokens, but a block of TEST_LENGTHS $longest: give a longer one with --valid and another folder with WORK, or shorter lengths in a conf of your own"
}

longest_example() {
  printf '%s' "$BLOCK"
}

score_record() { # RECORD LENGTH OPTION..., the record of the checkpoint and the options of the tool
  printf '%s\n[masked]\n' "$1"
  option_lines --length "$2" "${@:3}"
}

# evaluate_checkpoint CHECKPOINT DIR RECORD OPTION...: see evaluate_translation.sh.
evaluate_checkpoint() {
  local length
  for length in "${TEST_LENGTHS[@]}"; do
    keep_record "$2/score-valid-$length.json.settings" "$(score_record "$3" "$length" "${@:4}")"
    step "$2/score-valid-$length.json" score_masked "$1" --length "$length" "${@:4}"
  done
}

# score_masked CHECKPOINT OPTION...: what a learned table cannot read is said in the report.
score_masked() {
  python -m fairseq_rope.tools.masked --path "$1" --data "$WORK/data-bin" --allow beyond-table --json "${@:2}"
}

# compare_evaluation DIR RECORD OPTION...: all lengths that are there, TEST_LENGTHS or not: they end in one table.
compare_evaluation() {
  local file length
  for file in "$1"/score-valid-*.json; do
    [[ -s $file ]] || continue
    length=${file##*-}
    compare_record "$file" "$file.settings" "$(score_record "$2" "${length%.json}" "${@:3}")"
  done
}

# show_stages: the columns of RoFormer's table 4 for the stages of a training, what models read at other lengths, the page.
show_stages() {
  # shellcheck disable=SC2086  # names without spaces
  python -m fairseq_rope_data results "$WORK" --stages --models $MODELS
  # shellcheck disable=SC2086
  write_page $MODELS
}

# draw_masked: pictures of what the models have learned, and how far beyond their blocks they read.
draw_masked() {
  has_stage evaluate || return 0
  # shellcheck disable=SC2086  # names without spaces
  python -m fairseq_rope_data plot "$WORK" --models $MODELS --output "$WORK/learning_curves.png" >&2
  # shellcheck disable=SC2086
  python -m fairseq_rope_data plot "$WORK" --models $MODELS --lengths valid --output "$WORK/lengths-valid.png" >&2
  printf '\nLearning curves: %s\nBits over length: %s\n' "$WORK/learning_curves.png" "$WORK/lengths-valid.png"
  printf 'The pre-trained model: %s, its dictionary: %s\n' "$(model_dir "$(trained_model "${MODELS%% *}")")/averaged.pt" \
    "$WORK/data-bin/dict.txt"
}

# Translate and score the test sets with the models of an experiment: sourced by recipe.sh.
# shellcheck shell=bash
#
# In:  $WORK/MODEL/averaged.pt, $WORK/data-bin, $WORK/raw
# Out: $WORK/MODEL/{generate-SET.log,hyp-SET.LANG,score-SET.json}
# Settings: RESULTS, GENERATE, TEST_SETS, TEST_WINDOWS, SOURCE_LANG, TARGET_LANG, LOWERCASE, NORMALIZE, MOSES, BPE.

generate_record() { # RECORD SET OPTION..., the record of the checkpoint and the options of fairseq-generate
  printf '%s\n[generate]\n' "$1"
  given_text "$(lines_of "$2")"
  option_lines "${@:3}"
}

score_record() { # RECORD SET OPTION...
  local options
  generate_record "$@"
  score_options options
  printf '[score]\n'
  option_lines "${options[@]}"
}

# evaluate_model MODEL SEED DIR: translate and score every test set.
evaluate_model() {
  local options trained
  trained=$(model_dir "$(trained_model "$1")" "$2")
  [[ -s $trained/averaged.pt ]] || die "$trained/averaged.pt is missing: run the stage average of $(trained_model "$1") first"
  is_trained "$1" || link_training "$trained" "$3"
  decode_options options "$1"
  evaluate_checkpoint "$trained/averaged.pt" "$3" "$(average_record "$1" "$2")" "${options[@]}"
}

# evaluate_checkpoint CHECKPOINT DIR RECORD OPTION...: into DIR, with these options of fairseq-generate; RECORD is the
# checkpoint's.
evaluate_checkpoint() {
  local dir=$2 index set sets subset
  tested_sets sets
  for index in "${!sets[@]}"; do
    set=${sets[index]}
    subset=test$index # fairseq's names: test, test1, test2 ...
    keep_record "$dir/generate-$set.log.settings" "$(generate_record "$3" "$set" "${@:4}")"
    step "$dir/generate-$set.log" generate "$1" "${subset/%test0/test}" "${@:4}"
    keep_record "$dir/score-$set.json.settings" "$(score_record "$3" "$set" "${@:4}")"
    step "$dir/score-$set.json" score_set "$set" "$dir"
  done
}

# link_training FROM TO: the table reads the training of a model from its folder, also when it is another one's.
link_training() {
  mkdir -p -- "$2"
  ln -sfn -- "../${1##*/}/train.log" "$2/train.log"
}

generate() { # CHECKPOINT SUBSET OPTION...
  # a multiple of 1: with its default of 8, fairseq's main branch leaves out the sentences that do not fill one
  fairseq-generate "$WORK/data-bin" --user-dir "$ROOT/fairseq_rope" --path "$1" --remove-bpe "$BPE" \
    --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG" --gen-subset "$2" --required-batch-size-multiple 1 "${@:3}"
}

# score_options OPTIONS: fill the array OPTIONS with the scorer's, less the files.
score_options() {
  local -n options_=$1
  local language=${TARGET_LANG%%[_-]*} # pt of pt_BR
  # a model that has learned little translates nothing now and then: the results say so
  options_=(--target-lang "${language,,}" --allow empty)
  [[ $LOWERCASE == 0 ]] || options_+=(--lowercase)
  # sentencepiece gives raw text, not Moses' tokens
  [[ $BPE != sentencepiece ]] || options_+=(--detokenized)
}

score_set() { # SET DIR
  local options windows=() lines
  lines=$(lines_of "$1")
  score_options options
  [[ ! -f $WORK/raw/$lines.$TARGET_LANG ]] || options+=(--ref-raw "$WORK/raw/$lines.$TARGET_LANG")
  [[ $lines == "$1" ]] || windows=(--windows "$WORK/text/$1.windows.tsv")
  python -m fairseq_rope.tools.score "${windows[@]}" --log "$2/generate-$1.log" --save-hyps "$2/hyp-$1.$TARGET_LANG" \
    --json "${options[@]}"
}

# show_results: table and page. Several models are its columns; one alone stands beside what else the work folder has.
show_results() {
  local columns=()
  # shellcheck disable=SC2206  # names without spaces
  [[ $MODELS != *" "* ]] || columns=($MODELS)
  python -m fairseq_rope_data results "$WORK" ${columns[0]:+--models "${columns[@]}"} "${RESULTS[@]}"
  write_page "${columns[@]}"
}

# how_to_translate [REMARK]: tell people what to copy; the environment is named where it is the recipe's own.
how_to_translate() {
  local command
  translator_command command
  printf '\nTranslate your own text, a sentence a line%s:\n\n' "${1:-}"
  [[ -z ${VIRTUAL_ENV:-} ]] || printf '  source %q\n' "$VIRTUAL_ENV/bin/activate"
  printf '  %s<mine.%s >mine.%s\n\n' "$(printf '%q ' "${command[@]}")" "$SOURCE_LANG" "$TARGET_LANG"
}

# translator_command COMMAND: fill the array COMMAND with the words that translate raw text with the first model.
translator_command() {
  local -n command_=$1
  local dir
  dir=$(model_dir)
  command_=(python -m fairseq_rope.tools.translate "$WORK/data-bin" --path "$dir/averaged.pt"
    --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG")
  if [[ $BPE == sentencepiece ]]; then
    command_+=(--bpe sentencepiece --sentencepiece-model "$WORK/text/sentencepiece.model")
  else
    command_+=(--tokenizer moses "${MOSES[@]}" --bpe subword_nmt --bpe-codes "$WORK/text/codes")
  fi
  [[ $NORMALIZE == 0 ]] || command_+=(--normalize)
  [[ $LOWERCASE == 0 ]] || command_+=(--lowercase)
  command_+=("${GENERATE[@]}")
}

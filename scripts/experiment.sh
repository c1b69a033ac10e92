# Train, average, decode and score one model of an experiment: `source` it after lib.sh and a file of scripts/conf.
# shellcheck shell=bash
#
# In:  $WORK/data-bin, $WORK/raw
# Out: $WORK/NAME/{train.log,checkpoint*.pt,averaged.pt,generate-SET.log,score-SET.json}
# Settings: TRAIN, SAVE, AVERAGE, GENERATE, TEST_SETS, SOURCE_LANG, TARGET_LANG, LOWERCASE, MOSES.

# fairseq on today's torch and hydra warns of its own calls at every start, which nobody here can change
export PYTHONWARNINGS=${PYTHONWARNINGS:-ignore::FutureWarning,ignore::UserWarning,ignore::DeprecationWarning}

# run_model NAME ARCHITECTURE...: the whole chain for one model, each step once; run again it continues.
run_model() {
  local dir=$WORK/$1 index set subset
  shift
  same_settings "$dir/settings" "$(printf ' %q' "$@" "${TRAIN[@]}" "${SAVE[@]}")"
  train_model "$dir" "$@"
  average_model "$dir"
  for index in "${!TEST_SETS[@]}"; do
    set=${TEST_SETS[index]}
    subset=test$index # fairseq's names: test, test1, test2 ...
    step "$dir/generate-$set.log" generate "$dir/averaged.pt" "${subset/%test0/test}"
    step "$dir/score-$set.json" score_log "$dir/generate-$set.log" "$WORK/raw/$set.$TARGET_LANG"
  done
}

# train_model DIR ARCHITECTURE...: train, or go on after the last checkpoint that is whole.
train_model() {
  local dir=$1
  shift
  if [[ -f $dir/trained ]]; then
    log "have $dir/trained"
    return
  fi
  log "train $dir: $*"
  # fairseq copies checkpoint_last.pt in place: killed meanwhile, it leaves one that it could not resume from
  python -m fairseq_rope.tools.repair "$dir" >&2
  fairseq-train "$WORK/data-bin" --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG" \
    --user-dir "$(python -m fairseq_rope 2>/dev/null)" "$@" "${TRAIN[@]}" "${SAVE[@]}" \
    --save-dir "$dir" --log-file "$dir/train.log" >&2
  : >"$dir/trained"
}

average_model() { # DIR
  if [[ -s $1/averaged.pt ]]; then
    log "have $1/averaged.pt"
    return
  fi
  python -m fairseq_rope.tools.average --inputs "$1" "${AVERAGE[@]}" --output "$1/averaged.pt" >&2
}

generate() { # CHECKPOINT SUBSET
  # a multiple of 1: with its default of 8, fairseq's main branch leaves out the sentences that do not fill one
  fairseq-generate "$WORK/data-bin" --user-dir "$(python -m fairseq_rope 2>/dev/null)" --path "$1" \
    --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG" --gen-subset "$2" --required-batch-size-multiple 1 "${GENERATE[@]}"
}

score_log() { # LOG REFERENCE
  # a model that has learnt little translates nothing now and then: the results say so
  local options=(--log "$1" --target-lang "$TARGET_LANG" --allow empty --json)
  [[ ! -f $2 ]] || options+=(--ref-raw "$2")
  [[ $LOWERCASE == 0 ]] || options+=(--lowercase)
  python -m fairseq_rope.tools.score "${options[@]}"
}

# translator_command NAME: the command that translates raw text with this model, for people to copy.
translator_command() {
  printf '%s ' python -m fairseq_rope.tools.translate "$WORK/data-bin" --path "$WORK/$1/averaged.pt" \
    --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG" --tokenizer moses "${MOSES[@]}" \
    --bpe subword_nmt --bpe-codes "$WORK/text/codes"
  [[ $LOWERCASE == 0 ]] || printf -- '--lowercase '
  printf '%q ' "${GENERATE[@]}"
}

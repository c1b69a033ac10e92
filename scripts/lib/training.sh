# Train, average and score the models of an experiment: `source` it after base.sh and a file of scripts/conf.
# shellcheck shell=bash
#
# In:  $WORK/data-bin, $WORK/raw
# Out: $WORK/MODEL/{train.log,checkpoint*.pt,averaged.pt,generate-SET.log,hyp-SET.LANG,score-SET.json}
#      MODEL is rope or sinusoidal, and rope-seed2 ... for another seed than 1
# Settings: MODELS, SEEDS, ROPE, SINUSOIDAL, TRAIN, BATCH_TOKENS, MAX_TOKENS, SAVE, AVERAGE, GENERATE, TEST_SETS,
#           SOURCE_LANG, TARGET_LANG, LOWERCASE, NORMALISE, MOSES, BPE, SHARDS.
# Beside each product stands what it was made from: $WORK/MODEL/{settings,averaged.pt.settings,...}, see records.sh.

# shellcheck source=scripts/lib/hardware.sh
source "$ROOT/scripts/lib/hardware.sh"
# shellcheck source=scripts/lib/options.sh
source "$ROOT/scripts/lib/options.sh"
# shellcheck source=scripts/lib/lock.sh
source "$ROOT/scripts/lib/lock.sh"
# shellcheck source=scripts/lib/stages.sh
source "$ROOT/scripts/lib/stages.sh"

# fairseq on today's torch and hydra warns of its own calls at every start, which nobody here can change
export PYTHONWARNINGS=${PYTHONWARNINGS:-ignore::FutureWarning,ignore::UserWarning,ignore::DeprecationWarning}

# on a CPU compiled products of 1,024 shapes would be kept: see fairseq_rope/compat/product_caches.py
export ONEDNN_PRIMITIVE_CACHE_CAPACITY=${ONEDNN_PRIMITIVE_CACHE_CAPACITY:-64} LRU_CACHE_CAPACITY=${LRU_CACHE_CAPACITY:-64}

# on a busy machine threads that wait long for each other get nothing done: see fairseq_rope/compat/openmp.py
[[ -n ${OMP_WAIT_POLICY:-}${GOMP_SPINCOUNT:-} ]] || export GOMP_SPINCOUNT=10000

# each_model FUNCTION: call it with MODEL, SEED and DIR for each of MODELS and SEEDS.
each_model() {
  local seed model
  for seed in ${SEEDS//,/ }; do
    for model in $MODELS; do
      "$1" "$model" "$seed" "$(model_dir "$model" "$seed")"
    done
  done
}

model_dir() { # MODEL SEED
  if [[ $2 == 1 ]]; then printf '%s' "$WORK/$1"; else printf '%s' "$WORK/$1-seed$2"; fi
}

# train_options MODEL SEED: an array OPTIONS of fairseq-train's, less those of place and hardware.
train_options() {
  local -n architecture=${1^^}
  OPTIONS=("${architecture[@]}" "${TRAIN[@]}" --seed "$2" "${SAVE[@]}")
}

train_record() { # MODEL SEED
  local OPTIONS
  prepared_from train valid
  printf '[binarise]\nSHARDS=%s\n[train]\n' "$SHARDS"
  train_options "$1" "$2"
  option_lines "${OPTIONS[@]}"
  printf 'BATCH_TOKENS=%s\n' "$BATCH_TOKENS"
}

# train_model MODEL SEED DIR: train, or go on after the last checkpoint that is whole.
train_model() {
  local dir=$3 batch OPTIONS
  train_options "$1" "$2"
  if [[ -f $dir/trained ]]; then
    log "have $dir/trained"
    return
  fi
  [[ -d $WORK/data-bin ]] || die "$WORK/data-bin is missing: run the stage prepare first"
  find_hardware
  batch=$(batch_options "$BATCH_TOKENS" "$MAX_TOKENS")
  if ((NODE_RANK == 0)); then
    mkdir -p -- "$dir"
    # fairseq copies checkpoint_last.pt in place: killed meanwhile, it leaves one that it could not resume from
    python -m fairseq_rope.tools.repair "$dir" >&2
    begin_training "$dir" "$(train_record "$1" "$2")"
    log "train $dir: ${OPTIONS[*]}"
    OPTIONS+=(--log-file "$dir/train.log" --tensorboard-logdir "$dir/tensorboard")
  fi
  # shellcheck disable=SC2086  # batch is words
  launch_training "$(training_data)" --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG" \
    --user-dir "$ROOT/fairseq_rope" --save-dir "$dir" $batch "${OPTIONS[@]}" >&2
  ((NODE_RANK > 0)) || : >"$dir/trained"
}

# begin_training DIR RECORD: a training that ended before its first checkpoint leaves no log to a training of other settings.
begin_training() {
  if ! has_checkpoint "$1" && [[ -s $1/settings && $(grep -v '^# ' -- "$1/settings") != "$2" ]]; then
    rm -rf -- "$1/train.log" "$1/tensorboard"
  fi
  keep_record "$1/settings" "$2"
}

has_checkpoint() { # DIR
  [[ -f $1/trained || -n $(find "$1" -maxdepth 1 -name 'checkpoint*' -print -quit) ]]
}

# training_data: the folders of all shards, as fairseq wants them.
training_data() {
  local shard
  printf '%s' "$WORK/data-bin"
  for ((shard = 1; shard < SHARDS; shard++)); do printf ':%s' "$WORK/data-bin/shard$shard"; done
}

average_record() { # MODEL SEED
  train_record "$1" "$2"
  printf '[average]\n'
  option_lines "${AVERAGE[@]}"
}

average_model() { # MODEL SEED DIR
  if [[ -s $3/averaged.pt ]]; then
    log "have $3/averaged.pt"
    return
  fi
  [[ -f $3/trained ]] || die "$3 is not trained: run the stage train first"
  keep_record "$3/averaged.pt.settings" "$(average_record "$1" "$2")"
  python -m fairseq_rope.tools.average --inputs "$3" "${AVERAGE[@]}" --output "$3/averaged.pt" >&2
}

generate_record() { # MODEL SEED SET
  average_record "$1" "$2"
  printf '[generate]\n'
  given_text "$3"
  option_lines "${GENERATE[@]}"
}

score_record() { # MODEL SEED SET
  local OPTIONS
  generate_record "$@"
  score_options
  printf '[score]\n'
  option_lines "${OPTIONS[@]}"
}

# evaluate_model MODEL SEED DIR: translate and score every test set.
evaluate_model() {
  local dir=$3 index set subset
  [[ -s $dir/averaged.pt ]] || die "$dir/averaged.pt is missing: run the stage average first"
  for index in "${!TEST_SETS[@]}"; do
    set=${TEST_SETS[index]}
    subset=test$index # fairseq's names: test, test1, test2 ...
    keep_record "$dir/generate-$set.log.settings" "$(generate_record "$1" "$2" "$set")"
    step "$dir/generate-$set.log" generate "$dir/averaged.pt" "${subset/%test0/test}"
    keep_record "$dir/score-$set.json.settings" "$(score_record "$1" "$2" "$set")"
    step "$dir/score-$set.json" score_log "$dir/generate-$set.log" "$WORK/raw/$set.$TARGET_LANG" "$dir/hyp-$set.$TARGET_LANG"
  done
}

generate() { # CHECKPOINT SUBSET
  # a multiple of 1: with its default of 8, fairseq's main branch leaves out the sentences that do not fill one
  fairseq-generate "$WORK/data-bin" --user-dir "$ROOT/fairseq_rope" --path "$1" --remove-bpe "$BPE" \
    --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG" --gen-subset "$2" --required-batch-size-multiple 1 "${GENERATE[@]}"
}

# score_options: an array OPTIONS of the scorer's, less the files.
score_options() {
  # a model that has learnt little translates nothing now and then: the results say so
  OPTIONS=(--target-lang "$TARGET_LANG" --allow empty)
  [[ $LOWERCASE == 0 ]] || OPTIONS+=(--lowercase)
  # sentencepiece gives raw text, not Moses' tokens
  [[ $BPE != sentencepiece ]] || OPTIONS+=(--detokenised)
}

score_log() { # LOG REFERENCE HYPOTHESES
  local OPTIONS
  score_options
  [[ ! -f $2 ]] || OPTIONS+=(--ref-raw "$2")
  python -m fairseq_rope.tools.score --log "$1" --save-hyps "$3" --json "${OPTIONS[@]}"
}

# how_to_translate MODEL [REMARK]: tell people what to copy; the environment is named where it is the recipe's own.
how_to_translate() {
  local TRANSLATOR
  translator_command "$1"
  printf '\nTranslate your own text, a sentence a line%s:\n\n' "${2:-}"
  [[ -z ${VIRTUAL_ENV:-} ]] || printf '  source %q\n' "$VIRTUAL_ENV/bin/activate"
  printf '  %s<mine.%s >mine.%s\n\n' "$(printf '%q ' "${TRANSLATOR[@]}")" "$SOURCE_LANG" "$TARGET_LANG"
}

# translator_command MODEL: an array TRANSLATOR, the command that translates raw text with this model.
translator_command() {
  TRANSLATOR=(python -m fairseq_rope.tools.translate "$WORK/data-bin" --path "$WORK/$1/averaged.pt"
    --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG")
  if [[ $BPE == sentencepiece ]]; then
    TRANSLATOR+=(--bpe sentencepiece --sentencepiece-model "$WORK/text/sentencepiece.model")
  else
    TRANSLATOR+=(--tokenizer moses "${MOSES[@]}" --bpe subword_nmt --bpe-codes "$WORK/text/codes")
  fi
  [[ $NORMALISE == 0 ]] || TRANSLATOR+=(--normalise)
  [[ $LOWERCASE == 0 ]] || TRANSLATOR+=(--lowercase)
  TRANSLATOR+=("${GENERATE[@]}")
}

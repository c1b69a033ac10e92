# Train and average the models of an experiment: sourced by recipe.sh.
# shellcheck shell=bash
#
# In:  $WORK/data-bin
# Out: $WORK/MODEL/{train.log,provenance.jsonl,checkpoint*.pt,averaged.pt}
# Settings: MODEL_NAME, TRAIN, BATCH_TOKENS, MAX_TOKENS, SAVE, AVERAGE, SOURCE_LANG, TARGET_LANG, SHARDS, VALID_BLEU, BPE.
# With AVERAGE=() it is the last checkpoint alone, less its optimizer's state.
# Beside each product stands what it was made from: $WORK/MODEL/{settings,averaged.pt.settings,...}, see records.sh.

# fairseq on today's torch and hydra warns of its own calls at every start, which nobody here can change
export PYTHONWARNINGS=${PYTHONWARNINGS:-ignore::FutureWarning,ignore::UserWarning,ignore::DeprecationWarning}

# on a CPU compiled products of 1,024 shapes would be kept: see fairseq_rope/compat/product_caches.py
export ONEDNN_PRIMITIVE_CACHE_CAPACITY=${ONEDNN_PRIMITIVE_CACHE_CAPACITY:-64} LRU_CACHE_CAPACITY=${LRU_CACHE_CAPACITY:-64}

# on a busy machine threads that wait long for each other get nothing done: see fairseq_rope/compat/openmp.py
[[ -n ${OMP_WAIT_POLICY:-}${GOMP_SPINCOUNT:-} ]] || export GOMP_SPINCOUNT=10000

START=() # options of where a training begins, which are no settings: a checkpoint may be moved

# train_options OPTIONS MODEL SEED: fill the array OPTIONS with fairseq-train's, less those of place and hardware.
train_options() {
  local name
  name=$(trained_model "$2")
  local -n options_=$1 architecture=MODEL_${name^^}
  # shellcheck disable=SC2034  # the caller reads it
  options_=("${architecture[@]}" "${TRAIN[@]}" --seed "$3" "${SAVE[@]}")
}

# bleu_options OPTIONS: fill the array OPTIONS with those by which fairseq-train logs BLEU at each validation. They are in no
# record: the model that is trained is the same with and without them.
bleu_options() {
  local -n chosen_=$1
  # shellcheck disable=SC2034  # the caller reads it
  chosen_=()
  [[ $VALID_BLEU == 1 ]] || return 0
  # greedy: a beam of 4 takes 2.5 times as long, and the curve is to compare models. The limit is for one that never stops
  chosen_=(--eval-bleu --eval-bleu-args '{"beam": 1, "max_len_a": 1.2, "max_len_b": 10}' --eval-bleu-remove-bpe "$BPE")
  # of Moses' tokens as they are; sentencepiece gives raw text, which sacreBLEU tokenizes
  [[ $BPE == sentencepiece ]] || chosen_+=(--eval-tokenized-bleu)
}

train_record() { # MODEL SEED
  local options before
  prepared_from train valid
  printf '[binarize]\nSHARDS=%s\n[train]\n' "$SHARDS"
  train_options options "$1" "$2"
  option_lines "${options[@]}"
  printf 'BATCH_TOKENS=%s\n' "$(batch_tokens "$1")"
  before=$(model_before "$1")
  [[ -z $before ]] || { printf '[after]\n' && train_record "$before" "$2" | sed '1,/^\[train\]$/d'; }
}

# first_stage MODEL SEED: the checkpoint that its training begins with, once it is trained.
first_stage() {
  local dir
  dir=$(model_dir "$1" "$2")
  # where models are trained at once, that one was begun before
  until ((PARALLEL == 1)) || [[ -f $dir/trained || " $MODELS " != *" $1 "* ]]; do
    # of a recipe that was killed nobody would say that this training has failed
    kill -0 "$$" 2>/dev/null || die "the recipe has ended before $dir was trained: run it again"
    sleep 0.5
  done
  [[ -f $dir/trained ]] || die "$dir is not trained: run the stage train of $1 first"
  [[ -f $dir/checkpoint_last.pt ]] || die "$dir/checkpoint_last.pt is missing: the training that begins with it cannot"
  printf '%s' "$dir/checkpoint_last.pt"
}

# train_model MODEL SEED DIR: train, or go on after the last checkpoint that is whole.
train_model() {
  local dir=$3 batch options data bleu before start=("${START[@]}")
  is_trained "$1" || return 0
  train_options options "$1" "$2"
  if [[ -f $dir/trained ]]; then
    log "have $dir/trained"
    return
  fi
  [[ -d $WORK/data-bin ]] || die "$WORK/data-bin is missing: run the stage prepare first"
  check_lengths "${options[@]}"
  before=$(model_before "$1")
  [[ -z $before ]] || start=(--finetune-from-model "$(first_stage "$before" "$2")")
  find_hardware
  model_batch batch "$1" "${options[@]}"
  data_options data
  bleu_options bleu
  if ((NODE_RANK == 0)); then
    mkdir -p -- "$dir"
    # fairseq copies checkpoint_last.pt in place: killed meanwhile, it leaves one that it could not resume from
    python -m fairseq_rope.tools.repair "$dir" >&2
    begin_training "$dir" "$(train_record "$1" "$2")"
    python -m fairseq_rope_data.provenance "$dir/provenance.jsonl" --source "$ROOT" --command "$COMMAND" \
      --precision "$PRECISION"
    log "train $dir: ${options[*]}"
    options+=(--log-file "$dir/train.log" --tensorboard-logdir "$dir/tensorboard")
  fi
  launch_training "$(training_data)" "${data[@]}" --user-dir "$ROOT/fairseq_rope" --save-dir "$dir" \
    "${start[@]}" "${batch[@]}" "${options[@]}" "${bleu[@]}" >&2
  ((NODE_RANK > 0)) || : >"$dir/trained"
}

# check_lengths OPTION...: a model with these options takes the longest lines of the validation set and all test sets, which
# fairseq refuses hours later. Of the training set it leaves such lines out.
check_lengths() {
  local set sets side lang limit found
  [[ -n $TARGET_LANG ]] || return 0 # running text, in blocks
  tested_sets sets
  [[ " $* " == *" --skip-invalid-size-inputs-valid-test "* ]] || sets+=(valid)
  for side in source target; do
    lang=SOURCE_LANG
    [[ $side == source ]] || lang=TARGET_LANG
    limit=$(option_value "--max-$side-positions" "$@")
    for set in "${sets[@]}"; do
      [[ -s $WORK/text/$set.${!lang} ]] || continue # removed to save space
      found=$(awk -v limit="${limit:-1024}" 'NF + 1 > limit { print FNR " has " NF + 1; exit }' "$WORK/text/$set.${!lang}")
      [[ -z $found ]] || die "$WORK/text/$set.${!lang}:$found tokens, but the model takes ${limit:-1024}: give it more with --max-$side-positions in TRAIN, or make that line shorter"
    done
  done
}

# begin_training DIR RECORD: a training that ended before its first checkpoint leaves no log to one of other settings or of
# another precision. With a checkpoint fairseq goes on with the optimizer it has: that of fp32, or that of bf16 and fp16.
begin_training() {
  local begun
  begun=$(recorded_precision "$1")
  if has_checkpoint "$1"; then
    [[ -z $begun || $begun == "$PRECISION" || ($begun != fp32 && $PRECISION != fp32) ]] ||
      die "PRECISION must be $begun, in which $1 was begun, but is $PRECISION"
  elif [[ ${begun:-$PRECISION} != "$PRECISION" || (-s $1/settings && $(grep -v '^# ' -- "$1/settings") != "$2") ]]; then
    rm -rf -- "$1/train.log" "$1/provenance.jsonl" "$1/tensorboard"
  fi
  drop_cut_line "$1/train.log"
  drop_cut_line "$1/provenance.jsonl"
  keep_record "$1/settings" "$2"
}

# drop_cut_line FILE: a full disk may leave the beginning of a line, which the next start would join with its own.
drop_cut_line() {
  [[ ! -s $1 || -z $(tail -c 1 -- "$1") ]] || sed -i --follow-symlinks '$d' -- "$1"
}

# recorded_precision DIR: that of the last start that has a record of it.
recorded_precision() {
  [[ ! -s $1/provenance.jsonl ]] || sed -n 's/.*"precision": "\([a-z0-9]*\)".*/\1/p' "$1/provenance.jsonl" | tail -n 1
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
  local inputs=("$3" "${AVERAGE[@]}")
  is_trained "$1" || return 0
  if [[ -s $3/averaged.pt ]]; then
    log "have $3/averaged.pt"
    return
  fi
  [[ -f $3/trained ]] || die "$3 is not trained: run the stage train first"
  keep_record "$3/averaged.pt.settings" "$(average_record "$1" "$2")"
  ((${#AVERAGE[@]})) || inputs=("$3/checkpoint_last.pt")
  python -m fairseq_rope.tools.average --inputs "${inputs[@]}" --output "$3/averaged.pt" >&2
}

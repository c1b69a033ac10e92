# Train, average and score the models of an experiment: `source` it after lib.sh and a file of scripts/conf.
# shellcheck shell=bash
#
# In:  $WORK/data-bin, $WORK/raw
# Out: $WORK/MODEL/{train.log,checkpoint*.pt,averaged.pt,generate-SET.log,hyp-SET.LANG,score-SET.json}
#      MODEL is rope or sinusoidal, and rope-seed2 ... for another seed than 1
# Settings: MODELS, SEEDS, ROPE, SINUSOIDAL, TRAIN, BATCH_TOKENS, MAX_TOKENS, SAVE, AVERAGE, GENERATE, TEST_SETS,
#           SOURCE_LANG, TARGET_LANG, LOWERCASE, NORMALISE, MOSES, BPE, SHARDS.

# shellcheck source=scripts/hardware.sh
source "$ROOT/scripts/hardware.sh"

# fairseq on today's torch and hydra warns of its own calls at every start, which nobody here can change
export PYTHONWARNINGS=${PYTHONWARNINGS:-ignore::FutureWarning,ignore::UserWarning,ignore::DeprecationWarning}

# on a CPU oneDNN would keep the compiled products of 1,024 shapes, each in the way of larger memory; a step has about 20
export ONEDNN_PRIMITIVE_CACHE_CAPACITY=${ONEDNN_PRIMITIVE_CACHE_CAPACITY:-64}

# take_option ARGUMENT...: the first is an option of every experiment, or a stage; TAKEN arguments belong to it.
# shellcheck disable=SC2034  # CONF and TAKEN are of the script that calls it
take_option() {
  TAKEN=2
  case $1 in
    --help | -h) usage_from_header && exit ;;
    --conf) CONF=${2:?--conf needs a name} ;;
    --seeds) SEEDS=${2:?--seeds needs numbers} ;;
    *) STAGES+=("$1") TAKEN=1 ;;
  esac
}

# each_model FUNCTION: call it with MODEL, SEED and DIR for each of MODELS and SEEDS.
each_model() {
  local seed model
  [[ $SEEDS =~ ^[0-9]+(,[0-9]+)*$ ]] || die "--seeds must be numbers with commas between, as 1,2,3, but is $SEEDS"
  for seed in ${SEEDS//,/ }; do
    for model in $MODELS; do
      [[ $model == rope || $model == sinusoidal ]] || die "MODELS must be of rope and sinusoidal, but is $MODELS"
      "$1" "$model" "$seed" "$(model_dir "$model" "$seed")"
    done
  done
}

model_dir() { # MODEL SEED
  if [[ $2 == 1 ]]; then printf '%s' "$WORK/$1"; else printf '%s' "$WORK/$1-seed$2"; fi
}

# train_model MODEL SEED DIR: train, or go on after the last checkpoint that is whole.
train_model() {
  local model=$1 dir=$3 batch
  local -n architecture=${model^^}
  local options=("${architecture[@]}" "${TRAIN[@]}" --seed "$2" "${SAVE[@]}")
  find_hardware
  if ((NODE_RANK == 0)); then
    same_settings "$dir/settings" "$(printf '%q ' "${options[@]}" BATCH_TOKENS="$BATCH_TOKENS")"
  fi
  if [[ -f $dir/trained ]]; then
    log "have $dir/trained"
    return
  fi
  batch=$(batch_options "$BATCH_TOKENS" "$MAX_TOKENS")
  if ((NODE_RANK == 0)); then
    log "train $dir: ${options[*]}"
    # fairseq copies checkpoint_last.pt in place: killed meanwhile, it leaves one that it could not resume from
    python -m fairseq_rope.tools.repair "$dir" >&2
    options+=(--log-file "$dir/train.log" --tensorboard-logdir "$dir/tensorboard")
  fi
  # shellcheck disable=SC2086  # batch is words
  launch_training "$(training_data)" --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG" \
    --user-dir "$ROOT/fairseq_rope" --save-dir "$dir" $batch "${options[@]}" >&2
  ((NODE_RANK > 0)) || : >"$dir/trained"
}

# training_data: the folders of all shards, as fairseq wants them.
training_data() {
  local shard
  printf '%s' "$WORK/data-bin"
  for ((shard = 1; shard < SHARDS; shard++)); do printf ':%s' "$WORK/data-bin/shard$shard"; done
}

average_model() { # MODEL SEED DIR
  if [[ -s $3/averaged.pt ]]; then
    log "have $3/averaged.pt"
    return
  fi
  [[ -f $3/trained ]] || die "$3 is not trained: run the stage train first"
  rm -f -- "$3"/averaged.pt.part-* # of a run that was killed
  python -m fairseq_rope.tools.average --inputs "$3" "${AVERAGE[@]}" --output "$3/averaged.pt" >&2
}

# evaluate_model MODEL SEED DIR: translate and score every test set.
evaluate_model() {
  local dir=$3 index set subset
  [[ -s $dir/averaged.pt ]] || die "$dir/averaged.pt is missing: run the stage average first"
  for index in "${!TEST_SETS[@]}"; do
    set=${TEST_SETS[index]}
    subset=test$index # fairseq's names: test, test1, test2 ...
    step "$dir/generate-$set.log" generate "$dir/averaged.pt" "${subset/%test0/test}"
    step "$dir/score-$set.json" score_log "$dir/generate-$set.log" "$WORK/raw/$set.$TARGET_LANG" "$dir/hyp-$set.$TARGET_LANG"
  done
}

generate() { # CHECKPOINT SUBSET
  # a multiple of 1: with its default of 8, fairseq's main branch leaves out the sentences that do not fill one
  fairseq-generate "$WORK/data-bin" --user-dir "$ROOT/fairseq_rope" --path "$1" --remove-bpe "$BPE" \
    --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG" --gen-subset "$2" --required-batch-size-multiple 1 "${GENERATE[@]}"
}

score_log() { # LOG REFERENCE HYPOTHESES
  # a model that has learnt little translates nothing now and then: the results say so
  local options=(--log "$1" --target-lang "$TARGET_LANG" --allow empty --save-hyps "$3" --json)
  [[ ! -f $2 ]] || options+=(--ref-raw "$2")
  [[ $LOWERCASE == 0 ]] || options+=(--lowercase)
  # sentencepiece gives raw text, not Moses' tokens
  [[ $BPE != sentencepiece ]] || options+=(--detokenised)
  python -m fairseq_rope.tools.score "${options[@]}"
}

# run_stages FETCH STAGE...: the stages that are named, or all, in their order; FETCH is the function of the first one.
# Each does what is not done yet.
run_stages() {
  local fetch=$1 all=(fetch prepare train average evaluate) stage
  shift
  for stage in "$@"; do
    [[ " ${all[*]} " == *" $stage "* ]] || die "a stage must be of ${all[*]}, but is $stage"
  done
  (($#)) || set -- "${all[@]}"
  each_model true # which refuses seeds and models that are none, before hours are spent
  [[ ${NODES:-${SLURM_NNODES:-1}} == 1 || $* == train ]] || die "on several nodes run the stage train alone, the others on one node"
  for stage in "${all[@]}"; do
    [[ " $* " == *" $stage "* ]] || continue
    case $stage in
      fetch) "$fetch" ;;
      prepare)
        prepare_text
        binarise
        ;;
      train | average) each_model "${stage}_model" ;;
      evaluate)
        each_model evaluate_model
        python -m fairseq_rope.tools.results "$WORK"
        ;;
    esac
  done
}

# how_to_translate MODEL [REMARK]: tell people what to copy; the environment is named where it is the recipe's own.
how_to_translate() {
  printf '\nTranslate your own text, a sentence a line%s:\n\n' "${2:-}"
  [[ -z ${VIRTUAL_ENV:-} ]] || printf '  source %q\n' "$VIRTUAL_ENV/bin/activate"
  printf '  %s<mine.%s >mine.%s\n\n' "$(translator_command "$1")" "$SOURCE_LANG" "$TARGET_LANG"
}

# translator_command MODEL: the command that translates raw text with this model.
translator_command() {
  printf '%s ' python -m fairseq_rope.tools.translate "$WORK/data-bin" --path "$WORK/$1/averaged.pt" \
    --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG"
  if [[ $BPE == sentencepiece ]]; then
    printf '%s ' --bpe sentencepiece --sentencepiece-model "$WORK/text/sentencepiece.model"
  else
    printf '%s ' --tokenizer moses "${MOSES[@]}" --bpe subword_nmt --bpe-codes "$WORK/text/codes"
  fi
  [[ $NORMALISE == 0 ]] || printf -- '--normalise '
  [[ $LOWERCASE == 0 ]] || printf -- '--lowercase '
  printf '%q ' "${GENERATE[@]}"
}

# Pre-trained models fine-tuned on a task, each with several rates of which the validation set chooses one: sourced after
# recipe.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153  # settings of this file and of others
#
# In:  $WORK/data-bin; the folders of --from, each a work folder of run_mlm.sh, or one with model.pt, dict.txt and vocab.txt
# Out: $WORK/MODEL/lr-RATE    a training: checkpoint_best.pt, its log, its predictions and scores on valid
#      $WORK/MODEL            those of the best rate, and of the other sets
#      $WORK/majority, bag_of_words  what is reached without a network
# Settings: RATES, LENGTH, BATCH, MAX_BATCH, MAX_EPOCH, WARMUP, TRAIN, SAVE. A model may have a LENGTH_OF its own. A recipe
# defines
#
#   check_task   what is given is right; sets TASK_OPTIONS, of fairseq-train, EXAMPLES, SETS, LABELED and GIVEN_FILES
#   task_record  its own settings
#   classify     classify OPTION...: predictions and scores
#   prepare_task $WORK/data-bin and manifest.json, by columns.sh
#   PREPARE      options of its preparation

ALL_STAGES=(prepare train evaluate)
STAGES=("${ALL_STAGES[@]}")
declare -A FACTS=() # checkpoint -> size and SHA-256
GIVEN_FACTS=""
PREPARE=()
declare -A LENGTH_OF=() # model -> tokens of an example

# shellcheck source=scripts/lib/pretrained.sh
source "$ROOT/scripts/lib/pretrained.sh"
# shellcheck source=scripts/lib/columns.sh
source "$ROOT/scripts/lib/columns.sh"
# shellcheck source=scripts/lib/text_baselines.sh
source "$ROOT/scripts/lib/text_baselines.sh"

# run_fine_tuning PREPARATION: all stages that are named; the first is data-prep/PREPARATION.sh, called with PREPARE.
run_fine_tuning() {
  check_fine_tuning
  setup_env "" data,plot,classify
  read_vocabulary
  check_task
  read_all_pretrained
  ((CHECK == 0)) || exit 0
  lock_work
  read_facts
  compare_fine_tuned
  export WORK
  ! has_stage prepare || RECIPE_PROCESS=$$ bash "$ROOT/data-prep/$1.sh" "${PREPARE[@]}" --conf "$CONF" --models "$MODELS" \
    --seeds "$SEEDS" prepare
  share_work
  # shellcheck disable=SC2086  # names without spaces
  ! has_stage train evaluate || follow_page $MODELS "${BASELINES[@]}"
  ! has_stage evaluate || with_baselines true
  ! has_stage train || each_model_runs train_model
  has_stage evaluate || return 0
  has_stage train || each_model_runs evaluate_model
  with_baselines show_tuned
}

# show_tuned: the table and the page.
show_tuned() {
  # shellcheck disable=SC2086  # names without spaces
  python -m fairseq_rope_data results "$WORK" --models $MODELS "${BASELINES[@]}"
  # shellcheck disable=SC2086
  write_page $MODELS "${BASELINES[@]}"
}

# prepare_fine_tuning: the stage prepare alone, which a recipe calls as a program too. prepare_task is the recipe's own.
prepare_fine_tuning() {
  check_fine_tuning
  part_of_a_run || setup_env "" data
  read_vocabulary
  check_task
  ((CHECK == 0)) || exit 0
  part_of_a_run || lock_work
  read_facts
  compare_data
  prepare_task
}

check_fine_tuning() {
  local name rate
  for name in LENGTH BATCH MAX_BATCH MAX_EPOCH PARALLEL JOBS; do check_number "$name" 1; done
  check_number WARMUP 0 100
  ((${#RATES[@]})) || die "RATES must have a rate"
  for rate in "${RATES[@]}"; do
    [[ $rate =~ ^[0-9]{1,3}(\.[0-9]{1,9})?(e-?[0-9]{1,2})?$ && ${rate%e*} =~ [1-9] ]] || die "RATES must be numbers above 0, such as 2e-5, but has $(quoted "$rate")"
  done
  check_hardware
  check_work
  check_own_folders
  for name in "${FROM[@]}"; do check_path --from "$name"; done
}

# check_own_folders: text and data in WORK are of such a recipe, which removes them before it makes others.
check_own_folders() {
  local name
  ! grep -qs '^TASK=' -- "$WORK/data-bin.settings" || return 0
  for name in raw text data-bin; do
    [[ ! -e $WORK/$name ]] || die "WORK must be a folder of its own, but $WORK has a $name that is not of this recipe"
  done
}

# read_facts: size and SHA-256 of what is given.
read_facts() {
  local file
  VERSIONS=$(python -m fairseq_rope_data.fingerprint --versions)
  GIVEN_FACTS=$(python -m fairseq_rope_data.fingerprint -- "${GIVEN_FILES[@]}" "$CODES" "$DICTIONARY")
  for file in "${!WORDS[@]}"; do FACTS[$file]=$(python -m fairseq_rope_data.fingerprint -- "$file"); done
}

data_record() {
  printf '[given]\n%s\n[prepare]\n' "$GIVEN_FACTS"
  task_record
  values NORMALIZE LOWERCASE MOSES BPE
}

train_record() { # MODEL SEED RATE
  local options
  data_record
  printf '[pretrained]\n%s\n[train]\n' "${FACTS[$(pretrained_checkpoint "$1" "$2")]}"
  tuning_options options "$@"
  option_lines "${options[@]}"
  printf 'BATCH=%s\n' "$BATCH"
}

score_record() { # MODEL SEED
  local rate
  for rate in "${RATES[@]}"; do train_record "$1" "$2" "$rate"; done
}

# compare_data: the data that is there is made from what is given and these settings, and undamaged.
compare_data() {
  [[ ! -d $WORK/data-bin ]] || compare_record "$WORK/data-bin" "$WORK/data-bin.settings" "$(data_record)"
  refuse_changed
  check_data
}

# compare_fine_tuned: what there is of this work folder is made from what is given and these settings.
compare_fine_tuned() {
  compare_data # or each model would be named
  each_found compare_tuned
  refuse_changed
}

compare_tuned() { # MODEL SEED DIR
  local rate file
  for rate in "${RATES[@]}"; do
    [[ ! -d $3/lr-$rate ]] || ! has_checkpoint "$3/lr-$rate" ||
      compare_record "$3/lr-$rate" "$3/lr-$rate/settings" "$(train_record "$1" "$2" "$rate")"
  done
  for file in "$3"/score-*.json; do # of SETS or not: they end in one table
    [[ ! -s $file ]] || compare_record "$file" "$file.settings" "$(score_record "$1" "$2")"
  done
}

# tuning_options OPTIONS MODEL SEED RATE: fill the array OPTIONS with fairseq-train's, less those of place and hardware.
tuning_options() {
  local -n options_=$1
  local updates=$((MAX_EPOCH * ((EXAMPLES + BATCH - 1) / BATCH))) words cut
  eval "words=(${WORDS[$(pretrained_checkpoint "$2" "$3")]})"
  read -ra cut <<<"$(cut_options "$(length_of "$2")")"
  options_=("${words[@]}" "${TASK_OPTIONS[@]}" "${cut[@]}" "${TRAIN[@]}" --lr "$4"
    --total-num-update "$updates" --warmup-updates "$((updates * WARMUP / 100))" --max-epoch "$MAX_EPOCH" --seed "$3"
    --required-batch-size-multiple 1 "${SAVE[@]}")
}

length_of() { # MODEL
  printf '%s' "${LENGTH_OF[$1]:-$LENGTH}"
}

# cut_options LENGTH: by which examples are cut; a recipe may define it again.
cut_options() {
  printf -- '--max-positions %s --shorten-method truncate' "$1"
}

# example_batches OPTIONS: fill the array OPTIONS with those by which all GPUs together take BATCH examples an update.
example_batches() {
  local -n batches_=$1
  local workers frequency
  workers=$(workers)
  frequency=$(((BATCH + workers * MAX_BATCH - 1) / (workers * MAX_BATCH)))
  ((BATCH % (workers * frequency) == 0)) || die "BATCH must be shared evenly by $workers GPUs in $frequency part(s), but is $BATCH"
  batches_=(--batch-size "$((BATCH / (workers * frequency)))" --update-freq "$frequency")
  ((workers == 1)) || batches_+=(--find-unused-parameters) # the head of the pre-training
}

# train_model MODEL SEED DIR: with all rates, and its scores at once, which the page has while others are trained.
train_model() {
  local rate
  for rate in "${RATES[@]}"; do fine_tune "$1" "$2" "$3/lr-$rate" "$rate"; done
  ! has_stage evaluate || evaluate_model "$@"
}

# fine_tune MODEL SEED DIR RATE: train, or go on after the last checkpoint that is whole.
fine_tune() {
  local dir=$3 batch options
  if [[ -f $dir/trained ]]; then
    log "have $dir/trained"
    return
  fi
  [[ -d $WORK/data-bin ]] || die "$WORK/data-bin is missing: run the stage prepare first"
  find_hardware
  example_batches batch
  tuning_options options "$1" "$2" "$4"
  mkdir -p -- "$dir"
  python -m fairseq_rope.tools.repair "$dir" >&2
  begin_training "$dir" "$(train_record "$1" "$2" "$4")"
  python -m fairseq_rope_data.provenance "$dir/provenance.jsonl" --source "$ROOT" --command "$COMMAND" \
    --precision "$PRECISION"
  log "fine-tune $dir: ${options[*]}"
  launch_training "$WORK/data-bin" --user-dir "$ROOT/fairseq_rope" --save-dir "$dir" --log-file "$dir/train.log" \
    --finetune-from-model "$(pretrained_checkpoint "$1" "$2")" "${batch[@]}" "${options[@]}" >&2
  : >"$dir/trained"
}

# evaluate_model MODEL SEED DIR: predictions and scores of each rate on valid, then of the best one on all sets.
evaluate_model() {
  local rate best set name
  for rate in "${RATES[@]}"; do
    [[ -f $3/lr-$rate/trained ]] || die "$3/lr-$rate is not trained: run the stage train first"
    step "$3/lr-$rate/score-valid.json" score_set "$3/lr-$rate" valid "$3/lr-$rate"
  done
  best=$(best_rate "$3")
  log "the best rate of $3 is $best"
  for name in train.log provenance.jsonl settings; do ln -sfn -- "lr-$best/$name" "$3/$name"; done
  printf '%s\n' "$best" >"$3/rate"
  printf '%s\n' "${FACTS[$(pretrained_checkpoint "$1" "$2")]}" >"$3/pretrained"
  for set in "${SETS[@]}"; do
    keep_record "$3/score-$set.json.settings" "$(score_record "$1" "$2")"
    step "$3/score-$set.json" score_set "$3/lr-$best" "$set" "$3"
  done
}

score_set() { # TRAINING SET DIR
  local submission=()
  if [[ -s $1/score-$2.json && $1 != "$3" ]]; then # it was, to choose it
    cp -- "$1/predictions-$2.tsv" "$3/"
    cat -- "$1/score-$2.json"
    return
  fi
  [[ " ${LABELED[*]} " == *" $2 "* ]] || submission=(--submission "$3/submission")
  classify --path "$1/checkpoint_best.pt" --data "$WORK/data-bin" --subset "$2" --output "$3/predictions-$2.tsv" \
    "${submission[@]}" --json
}

# best_rate DIR: that of the highest score on valid, the first one of the report; of equal ones the first.
best_rate() {
  local rate
  for rate in "${RATES[@]}"; do
    printf '%s %s\n' "$rate" "$(sed -E 's/.*"scores": \[\{"name": "[^"]*", "value": ([-0-9.e]+).*/\1/' "$1/lr-$rate/score-valid.json")"
  done | sort --stable --key 2,2gr | awk 'NR == 1 { print $1 }'
}

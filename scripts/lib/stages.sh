# The stages of a recipe in their order, after a look at what is there: sourced by recipe.sh.
# shellcheck shell=bash
#
# A recipe calls run_recipe CORPUS. It checks everything, takes the locks and calls data-prep/prepare_CORPUS.sh as a
# process, which compares all records with what is given and fetches and prepares text; then it trains, averages and
# evaluates. The preparation calls run_preparation, and works alone as well. It defines
#
#   fetch_text      what is given or fetched becomes raw text in $WORK
#   check_given     what is given is all there; what is to be copied goes into OFFERED (see records.sh)
#   check_prepared  the text that is prepared is enough for the stages to come

check_given() { :; }
check_prepared() { :; }

# part_of_a_run: a recipe has called this script, and has done what comes before the stages.
part_of_a_run() {
  [[ ${RECIPE_PROCESS:-} == "$PPID" ]]
}

# run_preparation: the stages fetch and prepare, those of them that are named; before, what there is for all named stages
# is compared.
run_preparation() {
  check_preparation
  check_given
  ((CHECK == 0)) || exit 0
  if ! part_of_a_run; then
    setup_env "" data
    lock_work
  fi
  # what is offered is taken before it is prepared
  ! has_stage prepare || ((${#OFFERED[@]} == 0)) || STAGES+=(fetch)
  compare_all
  if has_stage fetch; then
    forget_changed
    fetch_text
    compare_all # text that was not there yet
  fi
  if has_stage prepare; then
    prepare_text
    check_prepared
    binarize
  fi
}

# run_recipe CORPUS: all stages that are named.
run_recipe() {
  local prepare=(bash "$ROOT/data-prep/prepare_$1.sh" --conf "$CONF" --models "$MODELS" --seeds "$SEEDS") stage
  prepare+=("${FILES[@]}" "${STAGES[@]}")
  check_settings
  export WORK
  "${prepare[@]}" --check || exit
  ((CHECK == 0)) || exit 0
  setup_env "" data,plot
  if [[ -z $TARGET_LANG ]] && has_stage train; then
    find_hardware
    check_batches # on this machine
  fi
  if ((NODE_RANK == 0)); then
    lock_work
    RECIPE_PROCESS=$$ "${prepare[@]}" || exit
    ! has_stage train average evaluate || read_given
  fi
  # shellcheck disable=SC2086  # names without spaces
  ! has_stage train evaluate || follow_page $MODELS
  for stage in train average evaluate; do
    has_stage "$stage" || continue
    share_work
    each_model_runs "${stage}_model"
  done
  ! has_stage evaluate || show_results
}

# last_stage: the last one that is named, in their order.
last_stage() {
  local stage last=""
  for stage in "${ALL_STAGES[@]}"; do
    ! has_stage "$stage" || last=$stage
  done
  printf '%s' "$last"
}

# compare_all: what is there and what is given, as far as the stages go.
compare_all() {
  read_given
  compare_prepared
  ! has_stage train average evaluate || compare_models
  refuse_changed
}

# compare_models: what there is of all models of the conf, up to the last stage that is named, is made from these settings
# and this text.
compare_models() {
  local known
  conf_models known
  each_found compare_model "${known[*]}"
}

compare_model() { # MODEL SEED DIR
  local last options
  last=$(last_stage)
  ! has_checkpoint "$3" || compare_record "$3" "$3/settings" "$(train_record "$1" "$2")"
  [[ $last != train ]] || return 0
  [[ ! -s $3/averaged.pt ]] || compare_record "$3/averaged.pt" "$3/averaged.pt.settings" "$(average_record "$1" "$2")"
  [[ $last != average ]] || return 0
  decode_options options "$1"
  compare_evaluation "$3" "$(average_record "$1" "$2")" "${options[@]}"
}

# compare_evaluation DIR RECORD OPTION...: translations, with these options, and scores of a checkpoint with this record, of
# all sets that are there, tested today or not: they end in one table.
compare_evaluation() {
  local file set
  for file in "$1"/generate-*.log; do
    set=${file##*/generate-}
    [[ ! -s $file ]] || compare_record "$file" "$file.settings" "$(generate_record "$2" "${set%.log}" "${@:3}")"
  done
  for file in "$1"/score-*.json; do
    set=${file##*/score-}
    [[ ! -s $file ]] || compare_record "$file" "$file.settings" "$(score_record "$2" "${set%.json}" "${@:3}")"
  done
}

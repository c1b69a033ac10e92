# A checkpoint becomes rotary, is trained on and compared with itself: sourced by convert_to_rope.sh, after recipe.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153  # settings of this file and of others
#
# In:  $FROM, $DATA, $UPDATES; with windows what conversion_windows.sh says
# Out: $WORK/data-bin         a link to $DATA, or with windows to what is made of it
#      $WORK/original.pt      the original, less its optimizer's state
#      $WORK/converted.pt     it with rotation in the place of its positions, not trained on yet
#      $WORK/converted        the training of that one: checkpoints, averaged.pt, its log and scores
#      $WORK/continued        the same of the original as it is
#      $WORK/original, converted-N, continued-N  scores of checkpoints, N updates after the switch
# Settings: RATE, WARMUP, TRAIN, SHARES, AVERAGED, GENERATE, those of hardware.sh; the others are read from the checkpoint.

ALL_STAGES=(prepare train average evaluate)
STAGES=("${ALL_STAGES[@]}")
POINTS=() # updates after the switch at which there is a checkpoint that is compared; AVERAGE: those of which one is averaged
GIVEN_FACTS=""

# prepared_from: all is made from this checkpoint and this data.
prepared_from() {
  printf '[given]\n%s\n' "$GIVEN_FACTS"
  has_windows || return 0
  printf '[prepare]\n'
  values WINDOWS TEST_WINDOWS WINDOW_OPTIONS
}

given_text() { :; }

# run_conversion: all stages that are named.
run_conversion() {
  local stage
  check_given_files
  setup_env "" data,plot
  read_checkpoint
  ((CHECK == 0)) || exit 0
  lock_work
  read_facts
  compare_places
  ! has_stage prepare || prepare_conversion
  ! has_stage train evaluate || follow_page
  for stage in train average evaluate; do
    ! has_stage "$stage" || each_model_runs "${stage}_conversion"
  done
  has_stage evaluate || return 0
  printf 'The original had %s updates.\n\n' "$ORIGINAL_UPDATES"
  python -m fairseq_rope_data results "$WORK"
  write_page
}

# check_given_files: what needs no Python to be known.
check_given_files() {
  [[ -n $FROM ]] || die "--from must name the checkpoint to convert"
  [[ -n $DATA ]] || die "--data must name the folder of fairseq-preprocess that it was trained on"
  [[ -z $UPDATES || $UPDATES =~ ^[1-9][0-9]{0,8}$ ]] || die "--updates must be a whole number from 1, but is $(quoted "$UPDATES")"
  [[ $SEEDS == 1 ]] || die "--seeds cannot be used here, but is $SEEDS"
  check_shares
  set_windows
  check_flag VALID_BLEU
  check_number WARMUP 0
  check_number AVERAGED 1
  check_number PARALLEL 1 999
  check_number MAX_TOKENS 1
  check_number SHARDS 1 9999
  check_hardware
  check_work
  check_path --from "$FROM"
  [[ ! -e $WORK/data-bin || -L $WORK/data-bin ]] || die "WORK must be a folder of its own, but $WORK has a data-bin of another recipe"
  ! has_windows || [[ ! -e $WORK/text || -s $WORK/windows-bin.settings ]] ||
    die "WORK must be a folder of its own, but $WORK has a text that is not of this recipe"
}

check_shares() {
  local share
  [[ $RATE =~ ^[0-9]{0,3}(\.[0-9]{1,6})?$ && $RATE =~ [1-9] ]] || die "RATE must be a number above 0, such as 0.2, but is $(quoted "$RATE")"
  for share in "${SHARES[@]}"; do
    [[ $share =~ ^[1-9][0-9]{0,2}$ ]] || die "SHARES must be whole percents from 1, but has $(quoted "$share")"
  done
}

# read_checkpoint: set what is to be as in the original, its rate, and after how many updates there is what.
read_checkpoint() {
  local settings train=("${TRAIN[@]}") percent interval share rate warmup update
  settings=$(python -m fairseq_rope.tools.convert --from "$FROM" --data "$DATA" --settings ${ORDERED:+--ordered "$ORDERED"}) || exit
  eval "$settings"
  check_number ORIGINAL_UPDATES 1
  check_number BATCH_TOKENS 1 # also where it is a product of what the checkpoint has
  check_separator
  percent=$((ORIGINAL_UPDATES < 100 ? 1 : ORIGINAL_UPDATES / 100))
  UPDATES=${UPDATES:-$((10 * percent))}
  POINTS=()
  for share in "${SHARES[@]}"; do
    ((share * percent >= UPDATES)) || POINTS+=($((share * percent)))
  done
  POINTS+=("$UPDATES")
  interval=$((percent * $(percents_between "$percent")))
  rate=$(awk -v peak="$PEAK_RATE" -v share="$RATE" 'BEGIN { printf "%.6g", peak * share }')
  warmup=$((WARMUP < percent ? WARMUP : percent))
  TRAIN+=("${train[@]}" --lr "$rate" --warmup-updates "$warmup" --max-update "$UPDATES")
  SAVE=(--save-interval-updates "$interval" --validate-interval-updates "$interval")
  AVERAGE=("$UPDATES") # only of the second half: the first ones are not through with the switch
  for ((update = (UPDATES - 1) / interval * interval; 2 * update > UPDATES && ${#AVERAGE[@]} < AVERAGED; update -= interval)); do
    AVERAGE+=("$update")
  done
}

# percents_between UPDATES_OF_A_PERCENT: print the percents of the original's updates from one checkpoint to the next. fairseq
# validates each, so they are as far apart as SHARES, which need theirs, and ten checkpoints in all allow.
percents_between() {
  local percents share
  for ((percents = UPDATES / $1 / 10; percents > 1; percents--)); do
    for share in "${SHARES[@]}"; do ((share % percents == 0)) || continue 2; done
    break
  done
  printf '%s' "$((percents > 1 ? percents : 1))"
}

# read_facts: size and SHA-256 of the checkpoint, the data and the text in order.
read_facts() {
  local ordered
  side_files ordered ${ORDERED:+"$ORDERED"}
  VERSIONS=$(python -m fairseq_rope_data.fingerprint --versions)
  GIVEN_FACTS=$(python -m fairseq_rope_data.fingerprint -- "$FROM" "$DATA"/dict.*.txt "$DATA"/*.{bin,idx} "${ordered[@]}")
}

# compare_places: what there is of this work folder is made from this checkpoint, this data and these settings.
compare_places() {
  local model point
  [[ ! -s $WORK/converted.pt ]] || compare_record "$WORK" "$WORK/converted.pt.settings" "$(prepared_from)"
  [[ ! -d $WORK/windows-bin ]] || compare_record "$WORK/windows-bin" "$WORK/windows-bin.settings" "$(prepared_from)"
  refuse_changed # or each file of the folder would be named
  compare_place "$WORK/original" "$(prepared_from)" "${GENERATE[@]}"
  compare_place "$WORK/converted-0" "$(prepared_from)" "${GENERATE[@]}"
  for model in converted continued; do
    [[ ! -d $WORK/$model ]] || ! has_checkpoint "$WORK/$model" ||
      compare_record "$WORK/$model" "$WORK/$model/settings" "$(train_record "$model" 1)"
    [[ ! -s $WORK/$model/averaged.pt ]] ||
      compare_record "$WORK/$model/averaged.pt" "$WORK/$model/averaged.pt.settings" "$(average_record "$model" 1)"
    [[ ! -s $WORK/$model/validate.log ]] ||
      compare_record "$WORK/$model/validate.log" "$WORK/$model/validate.log.settings" "$(average_record "$model" 1)"
    compare_evaluation "$WORK/$model" "$(average_record "$model" 1)" "${GENERATE[@]}"
    for point in "$WORK/$model"-[1-9]*; do compare_place "$point" "$(train_record "$model" 1)" "${GENERATE[@]}"; done
  done
  refuse_changed
}

# compare_place DIR RECORD OPTION...: a folder of nothing but translations and scores is named as a whole.
compare_place() {
  local changed=("${CHANGED[@]}")
  compare_evaluation "$@"
  ((${#CHANGED[@]} == ${#changed[@]})) || CHANGED=("${changed[@]}" "$1")
}

# prepare_conversion: the rotary checkpoint; it and the original are scored before anything is trained.
prepare_conversion() {
  if has_windows; then prepare_windows; else ln -sfn -- "$(realpath -- "$DATA")" "$WORK/data-bin"; fi
  if [[ -s $WORK/converted.pt ]]; then
    log "have $WORK/converted.pt"
  else
    keep_record "$WORK/converted.pt.settings" "$(prepared_from)"
    # not $FROM itself: another fairseq's may not load here
    python -m fairseq_rope.tools.convert --from "$FROM" --data "$DATA" --stock "$WORK/original.pt" >&2
    python -m fairseq_rope.tools.convert --from "$FROM" --data "$DATA" --output "$WORK/converted.pt" >&2
  fi
  evaluate_with_loss "$WORK/original.pt" "$WORK/original" "$(prepared_from)" "${GENERATE[@]}"
  evaluate_with_loss "$WORK/converted.pt" "$WORK/converted-0" "$(prepared_from)" "${GENERATE[@]}"
}

# train_conversion MODEL SEED DIR: as any model, but from what there is. Optimizer, rate and data begin anew.
train_conversion() {
  [[ -s $WORK/converted.pt && -e $WORK/data-bin ]] || die "$WORK/converted.pt is missing: run the stage prepare first"
  START=(--finetune-from-model "$WORK/original.pt")
  [[ $1 != converted ]] || START=(--finetune-from-model "$WORK/converted.pt")
  train_model "$@"
}

# average_conversion MODEL SEED DIR
average_conversion() {
  local update inputs=()
  if [[ -s $3/averaged.pt ]]; then
    log "have $3/averaged.pt"
    return
  fi
  [[ -f $3/trained ]] || die "$3 is not trained: run the stage train first"
  for update in "${AVERAGE[@]}"; do inputs+=("$(checkpoint_at "$3" "$update")"); done
  keep_record "$3/averaged.pt.settings" "$(average_record "$1" "$2")"
  python -m fairseq_rope.tools.average --inputs "${inputs[@]}" --output "$3/averaged.pt" >&2
}

# evaluate_conversion MODEL SEED DIR: the average, and each point's checkpoint, whose loss the training has logged.
evaluate_conversion() {
  local point
  [[ -s $3/averaged.pt ]] || die "$3/averaged.pt is missing: run the stage average first"
  for point in "${POINTS[@]}"; do
    evaluate_checkpoint "$(checkpoint_at "$3" "$point")" "$WORK/$1-$point" "$(train_record "$1" "$2")" "${GENERATE[@]}"
  done
  evaluate_with_loss "$3/averaged.pt" "$3" "$(average_record "$1" "$2")" "${GENERATE[@]}"
}

# checkpoint_at DIR UPDATES: print the file. At the end of an epoch fairseq names it by the epoch alone, which the log tells.
checkpoint_at() {
  local file epoch
  file=$(find "$1" -maxdepth 1 -name "checkpoint_*_$2.pt" -print -quit)
  epoch=$(sed -nE "s/^epoch 0*([0-9]+) \\| loss .*\\| num_updates $2 \\|.*/\1/p" "$1/train.log" | tail -n 1)
  [[ -n $file || ! -s $1/checkpoint$epoch.pt ]] || file=$1/checkpoint$epoch.pt
  [[ -n $file || $2 != "$UPDATES" ]] || file=$1/checkpoint_last.pt # in the middle of an epoch and of an interval
  [[ -s $file ]] || die "$1 has no checkpoint of $2 updates any more: remove it to train again"
  printf '%s' "$file"
}

evaluate_with_loss() { # CHECKPOINT DIR RECORD OPTION...
  keep_record "$2/validate.log.settings" "$3"
  step "$2/validate.log" validate "$1"
  evaluate_checkpoint "$@"
}

validate() { # CHECKPOINT
  # fairseq logs what it finds, and a log that the disk has no room for is cut off without a failure: cat fails
  fairseq-validate "$WORK/data-bin" --task translation --user-dir "$ROOT/fairseq_rope" --path "$1" --max-tokens "$MAX_TOKENS" \
    --required-batch-size-multiple 1 --skip-invalid-size-inputs-valid-test | cat
}

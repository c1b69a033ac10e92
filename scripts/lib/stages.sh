# The stages of an experiment in their order, after a look at what is there: sourced by experiment.sh, whose functions it uses.
# shellcheck shell=bash

# compare_models LAST: what there is of all models of this folder, up to the stage LAST, is made from these settings and
# this text: they end in one table.
compare_models() {
  local dir set model seed
  for dir in "$WORK"/{rope,sinusoidal}{,-seed*}; do
    [[ ${dir##*/} =~ ^(rope|sinusoidal)(-seed([0-9]+))?$ && -d $dir ]] || continue
    model=${BASH_REMATCH[1]} seed=${BASH_REMATCH[3]:-1}
    ! has_checkpoint "$dir" || compare_record "$dir" "$dir/settings" "$(train_record "$model" "$seed")"
    [[ $1 != train ]] || continue
    [[ ! -s $dir/averaged.pt ]] || compare_record "$dir/averaged.pt" "$dir/averaged.pt.settings" "$(average_record "$model" "$seed")"
    [[ $1 != average ]] || continue
    for set in "${TEST_SETS[@]}"; do
      [[ ! -s $dir/generate-$set.log ]] ||
        compare_record "$dir/generate-$set.log" "$dir/generate-$set.log.settings" "$(generate_record "$model" "$seed" "$set")"
      [[ ! -s $dir/score-$set.json ]] ||
        compare_record "$dir/score-$set.json" "$dir/score-$set.json.settings" "$(score_record "$model" "$seed" "$set")"
    done
  done
}

# compare_all STAGE...: what is there and what is given, as far as these stages go.
compare_all() {
  read_given
  compare_prepared
  [[ ${*: -1} == fetch || ${*: -1} == prepare ]] || compare_models "${*: -1}"
  refuse_changed
}

# run_stages FETCH STAGE...: the stages that are named, or all, in their order; FETCH is the function of the first one.
# Each does what is not done yet. To be called after check_options and setup_env.
run_stages() {
  local fetch=$1 stage stages=()
  shift
  (($#)) || set -- "${ALL_STAGES[@]}"
  # what is offered is taken before it is prepared
  [[ " $* " != *" prepare "* ]] || ((${#OFFERED[@]} == 0)) || set -- fetch "$@"
  for stage in "${ALL_STAGES[@]}"; do
    [[ " $* " != *" $stage "* ]] || stages+=("$stage")
  done
  if ((NODE_RANK == 0)); then
    lock_work "${stages[@]}"
    compare_all "${stages[@]}"
  fi
  for stage in "${stages[@]}"; do
    case $stage in
      fetch)
        forget_changed
        "$fetch"
        compare_all "${stages[@]}" # text that was not there yet
        ;;
      prepare)
        prepare_text
        binarise
        ;;
      train | average)
        share_work
        each_model "${stage}_model"
        ;;
      evaluate)
        share_work
        each_model evaluate_model
        python -m fairseq_rope.tools.results "$WORK"
        ;;
    esac
  done
}

# Several models of an experiment at once on this machine: sourced by recipe.sh.
# shellcheck shell=bash
#
# Set:  PARALLEL  how many models are trained, averaged or translated at once (1, which small models leave a core idle with)
# Out:  $WORK/MODEL/STAGE.out, what a stage says of a model, where several are at once; one alone says it on stderr
# Each model is a process group of its own: when one fails, or the recipe is stopped, the others are ended with all that they
# have started. Run again, the recipe continues them.

declare -A AT_WORK=() # process group -> stage and folder

# each_model_runs FUNCTION: that, such as train_model, for each model and seed, PARALLEL at a time. It begins with its stage.
each_model_runs() {
  if ((PARALLEL == 1)); then
    each_model "$1"
    return
  fi
  local cores
  cores=$(OMP_NUM_THREADS='' nproc)
  export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$((cores > PARALLEL ? cores / PARALLEL : 1))}
  [[ $1 != train_* ]] || find_hardware # once, and not in each of them
  ((${GPUS:-0} <= 1)) || die "PARALLEL must be 1 where a model is trained on several GPUs, but is $PARALLEL with $GPUS GPUs"
  trap 'end_all; end_started' EXIT
  FUNCTION=$1
  each_model start_model
  wait_until_below 1
  trap end_started EXIT
}

# start_model MODEL SEED DIR: begin FUNCTION of a model when fewer than PARALLEL are at work.
start_model() {
  local stage=${FUNCTION%%_*}
  [[ $stage == evaluate ]] || is_trained "$1" || return 0
  wait_until_below "$PARALLEL"
  mkdir -p -- "$3"
  log "$stage $3, see $3/$stage.out"
  set -m # a group of its own
  (
    trap - EXIT
    "$FUNCTION" "$@"
  ) </dev/null >>"$3/$stage.out" 2>&1 &
  set +m
  AT_WORK[$!]="$stage $3"
}

# wait_until_below NUMBER: wait until fewer than NUMBER are at work; exit with the status of one that failed.
wait_until_below() {
  local group
  while ((${#AT_WORK[@]} >= $1)); do
    for group in "${!AT_WORK[@]}"; do
      kill -0 "$group" 2>/dev/null || take_status "$group"
    done
    ((${#AT_WORK[@]} < $1)) || sleep 0.2
  done
}

take_status() { # GROUP
  local work=${AT_WORK[$1]} status=0 out
  out=${work#* }/${work%% *}.out
  unset "AT_WORK[$1]"
  wait "$1" || status=$?
  if ((status)); then
    tail -n 20 -- "$out" >&2
    echo | tee -a -- "$out" >&2 || true # where the disk is full it has no reason above, and tee says so
    log "$work failed with status $status: above the end of $out"
    exit "$status"
  fi
  log "$work is done"
}

end_all() {
  local group
  for group in "${!AT_WORK[@]}"; do kill -TERM -- "-$group" 2>/dev/null || true; done
}

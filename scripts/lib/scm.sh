# Similar-case matching, from JSON lines to what fairseq's sentence_ranking reads, at several lengths: sourced after
# recipe.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153  # settings of this file and of others
#
# In:  the files of --train, --valid and perhaps --test, or that of --sample
# Out: $WORK/raw       texts and labels, a line each, see fairseq_rope_data.scm
#      $WORK/text, data-bin, manifest.json, see columns.sh
# Settings: LENGTHS, tokens of an example: A and one of B and C, a half each at most. A model at a length is one of its own,
# as roformer_at_512.

# shellcheck source=scripts/lib/fine_tuning.sh
source "$ROOT/scripts/lib/fine_tuning.sh"

BASELINES=(majority tf_idf)
SCM=() # options of fairseq_rope_data.scm
GIVEN_FILES=()

# scm_option ARGUMENT...: own_option for these options.
scm_option() {
  case $1 in
    --train | --valid | --test | --sample) need_value "a file" "$@" && SCM+=("$1" "$2") && GIVEN_FILES+=("$2") ;;
    --from) need_value "a folder" "$@" && FROM+=("${2%/}") ;;
    *) die "there is no option $1, see --help" ;;
  esac
  PREPARE+=("${@:1:TAKEN}")
}

# own_models: each pre-trained model at each length.
own_models() {
  local length name names=() at chosen=$MODELS
  MODELS=all
  pretrained_models
  ((${#LENGTHS[@]})) || die "LENGTHS must have a length"
  for name in $MODELS; do
    unset "MODEL_${name^^}"
    for length in "${LENGTHS[@]}"; do
      [[ $length =~ ^([89]|[1-9][0-9]{1,5})$ ]] || die "LENGTHS must be whole numbers from 8 to 999999, but has $(quoted "$length")"
      at=${name}_at_$length
      declare -ga "MODEL_${at^^}=()"
      TUNED_FROM[$at]=$name LENGTH_OF[$at]=$length
      names+=("$at")
    done
  done
  LENGTH=${LENGTHS[0]} MODELS=$chosen
  take_all "${names[@]}"
}

# name_scm: what all programs of this task set.
name_scm() {
  ((${#SCM[@]})) || die "--train and --valid must name the files of the task, or --sample a file without labels"
  WORK=${WORK:-$ROOT/runs/scm}
}

# check_task: every line of the files.
check_task() {
  local settings
  settings=$(python -m fairseq_rope_data.scm "${SCM[@]}" - --settings) || exit
  eval "$settings"
  # 0 is <s>, 2 is </s>: <s> B </s> </s> A </s>, and with a B that is cut <s> B </s> A </s>
  TASK_OPTIONS=(--task sentence_ranking --criterion sentence_ranking --num-classes 2 --init-token 0 --separator-token 2
    --best-checkpoint-metric accuracy --maximize-best-checkpoint-metric)
}

cut_options() { # LENGTH
  printf -- '--max-positions %s --max-option-length %s --shorten-method truncate' "$1" "$(($1 / 2))"
}

task_record() {
  printf 'TASK=CAIL2019-SCM\n'
  [[ " ${SCM[*]} " != *" --sample "* ]] || printf -- '--sample\n'
}

classify() { # OPTION...
  python -m fairseq_rope.tools.classify --metrics accuracy "$@"
}

prepare_task() {
  prepare_columns TASK=CAIL2019-SCM python -m fairseq_rope_data.scm "${SCM[@]}" "$WORK/raw"
}

prepare_labels() { copy_labels; }

# show_sample: what the numbers of a sample are.
show_sample() {
  ! has_stage evaluate || [[ " ${SCM[*]} " != *" --sample "* ]] || printf '\n%s\n' \
    "A smoke test: its labels are inferred, its triples are of few documents, and an interval as wide as this tells no models apart."
}

# One task of GLUE, from its own files to what fairseq's sentence_prediction reads: sourced after recipe.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153  # settings of this file and of others
#
# In:  the folder of --data with the task's files
# Out: $WORK/raw       sentences and labels, a line each, see fairseq_rope_data.glue
#      $WORK/text      sentences in pieces of the pre-trained model's vocabulary
#      $WORK/data-bin  input0, input1 and label: what fairseq-train reads
#      $WORK/manifest.json

# shellcheck source=scripts/lib/fine_tuning.sh
source "$ROOT/scripts/lib/fine_tuning.sh"

TASK="" DATA=""
GLUE=() # options of fairseq_rope_data.glue

# glue_option ARGUMENT...: own_option for these options.
glue_option() {
  case $1 in
    --task) need_value "a task" "$@" && TASK=$2 ;;
    --data) need_value "a folder" "$@" && DATA=$2 ;;
    --from) need_value "a folder" "$@" && FROM+=("${2%/}") ;;
    --dev-last) need_value "a number" "$@" && GLUE+=("$1" "$2") ;;
    --sample) TAKEN=1 GLUE+=("$1") ;;
    *) die "there is no option $1, see --help" ;;
  esac
  PREPARE+=("${@:1:TAKEN}")
}

# name_work: a work folder for each task.
name_work() {
  [[ -n $TASK ]] || die "--task must name a task of GLUE"
  [[ $TASK =~ ^[A-Za-z0-9-]+$ ]] || die "--task must be of CoLA SST-2 MRPC STS-B QQP MNLI QNLI RTE WNLI, but is $(quoted "$TASK")"
  [[ -n $DATA ]] || die "--data must name the folder of $TASK's files"
  WORK=${WORK:-$ROOT/runs/glue-$TASK}
}

# check_task: every line of the files.
check_task() {
  local settings metric=(--best-checkpoint-metric accuracy --maximize-best-checkpoint-metric)
  settings=$(python -m fairseq_rope_data.glue "$TASK" "$DATA" - "${GLUE[@]}" --settings) || exit
  eval "$settings"
  shopt -s nullglob
  GIVEN_FILES=("$DATA"/*.{tsv,txt,csv}{,.gz})
  shopt -u nullglob
  # numbers have no accuracy, and fairseq 0.12.2 no correlation
  ((CLASSES)) || metric=(--regression-target --best-checkpoint-metric loss)
  # 0 is <s>: <s> A </s> B </s>, as BERT has it
  TASK_OPTIONS=(--task sentence_prediction --criterion sentence_prediction --init-token 0
    --num-classes "$((CLASSES ? CLASSES : 1))" "${metric[@]}")
}

task_record() {
  printf 'TASK=%s\n' "$TASK"
  option_lines "${GLUE[@]}"
}

classify() { # OPTION...
  python -m fairseq_rope.tools.classify --glue "$TASK" "$@"
}

# prepare_task: the files to data-bin and the manifest.
prepare_task() {
  prepare_columns TASK="$TASK" python -m fairseq_rope_data.glue "$TASK" "$DATA" "$WORK/raw" "${GLUE[@]}"
}

prepare_labels() {
  if ((CLASSES)); then
    binarize_column "$WORK/raw" label "$WORK/raw/labels.txt" train "${LABELED[@]}"
  else
    copy_labels
  fi
}

# Options of all recipes and preparations:
#
#   --conf NAME     settings: NAME.env of scripts/conf, or the path of a file of your own
#   --models "A B"  models to train, each a MODEL_NAME=(...) of the conf. The table has them in this order and compares the
#                   first with each other one; a single model stands beside those that the work folder has already
#   --seeds 1,2,3   train each model with each of these seeds; the table gives mean and deviation
#   --check         only check options, settings and given files
#   --help          print this text
#   STAGE...        fetch, prepare, train, average, evaluate: those to run. A recipe runs all of them without it, a
#                   preparation the first two
#
# Variables: WORK, the work folder; MODELS and SEEDS, as the options; BPE=sentencepiece; SHARDS, folders to split training
# data into; JOBS, processes of the preparation; PARALLEL, models that are trained at once; VALID_BLEU=1, BLEU of the
# validation set while a model trains; MAX_TOKENS, at once on a GPU: the batch stays that of the conf, of running
# text in whole blocks, of which MAX_TOKENS must hold one and GPUs must have equal shares; GPUS, PRECISION, NODES,
# NODE_RANK, MASTER_ADDR, MASTER_PORT: found by themselves, see scripts/lib/hardware.sh.

# shellcheck shell=bash
# shellcheck disable=SC2034  # what is set here is used by the other files

ALL_STAGES=(fetch prepare train average evaluate)
STAGES=("${ALL_STAGES[@]}")
CHECK=0

# parse_options CONF ARGUMENT...: read the arguments and the conf, CONF where none is named. What is no option of all
# recipes goes to own_option.
parse_options() {
  local models="" seeds="" stages=()
  CONF=$1
  shift
  while (($#)); do
    TAKEN=2 # arguments that belong to the first one
    case $1 in
      --help | -h) usage_from_header && printf '\n' && usage_from_header "$ROOT/scripts/lib/options.sh" && exit ;;
      --check) CHECK=1 TAKEN=1 ;;
      --conf) need_value "a name" "$@" && CONF=$2 ;;
      --models) need_value "names" "$@" && models=$2 ;;
      --seeds) need_value "numbers" "$@" && seeds=$2 ;;
      -*) own_option "$@" ;;
      *)
        [[ " ${ALL_STAGES[*]} " == *" $1 "* ]] || die "a stage must be of ${ALL_STAGES[*]}, but is $(quoted "$1")"
        stages+=("$1") TAKEN=1
        ;;
    esac
    shift "$TAKEN"
  done
  source_conf "$CONF"
  own_models
  MODELS=${models:-$MODELS} SEEDS=${seeds:-$SEEDS}
  check_models
  # 01 would be another folder than 1, and numpy takes no seed of more than 32 bits
  [[ $SEEDS =~ ^(0|[1-9][0-9]{0,8})(,(0|[1-9][0-9]{0,8}))*$ ]] ||
    die "--seeds must be numbers with commas between, as 1,2,3, but is $(quoted "$SEEDS")"
  [[ -z $(tr , '\n' <<<"$SEEDS" | sort | uniq -d) ]] || die "--seeds must each be named once, but are $SEEDS"
  ((${#stages[@]} == 0)) || STAGES=("${stages[@]}")
}

# own_option ARGUMENT...: a recipe with options of its own defines this again.
own_option() {
  die "there is no option $1, see --help"
}

# own_models: a recipe whose models are not those of the conf defines this again.
own_models() { :; }

# need_value WHAT OPTION [VALUE...]: die when OPTION stands without its value.
need_value() {
  [[ -n ${3:-} ]] || die "$2 needs $1"
  [[ $3 != -* ]] || die "$2 needs $1, but is followed by $3 (a path may begin with ./)"
}

has_stage() { # STAGE...: whether one of them is to be run
  local stage
  for stage in "$@"; do
    [[ " ${STAGES[*]} " != *" $stage "* ]] || return 0
  done
  return 1
}

# source_conf NAME: settings, of scripts/conf/NAME.env or of a file with a path of its own.
source_conf() {
  local file=$1
  [[ $file == */* ]] || file=$ROOT/scripts/conf/$file.env
  [[ -f $file || ! -f $1 ]] || die "--conf $1 is no name of scripts/conf: a file of your own needs a path with /, as ./$1"
  [[ -f $file ]] || die "--conf $1: there is no $file; scripts/conf has $(cd "$ROOT/scripts/conf" && printf '%s ' *.env)"
  unset NORMALISE
  # shellcheck source=scripts/conf/tiny.env
  source "$file"
  NORMALIZE=${NORMALISE:-$NORMALIZE} # as a conf of version 0.1.0 writes it
}

# Options and settings, checked before anything is done: `source` it after base.sh and hardware.sh.
# shellcheck shell=bash

ALL_STAGES=(fetch prepare train average evaluate)

# need_value WHAT OPTION [VALUE...]: die when OPTION stands without its value.
need_value() {
  [[ -n ${3:-} ]] || die "$2 needs $1"
  [[ $3 != -* ]] || die "$2 needs $1, but is followed by $3 (a path may begin with ./)"
}

# take_option ARGUMENT...: the first is an option of every experiment, or a stage; TAKEN arguments belong to it.
# shellcheck disable=SC2034  # CONF and TAKEN are of the script that calls it
take_option() {
  TAKEN=2
  case $1 in
    --help | -h) usage_from_header && exit ;;
    --conf) need_value "a name" "$@" && CONF=$2 ;;
    --seeds) need_value "numbers" "$@" && SEEDS=$2 ;;
    -*) die "there is no option $1, see --help" ;;
    *) STAGES+=("$1") TAKEN=1 ;;
  esac
}

# check_number NAME LEAST [MOST]: a setting is a whole number, as Python and fairseq read it.
check_number() {
  local value=${!1-} most=${3:-999999999}
  [[ $value =~ ^(0|[1-9][0-9]{0,8})$ && $value -ge $2 && $value -le $most ]] ||
    die "$1 must be a whole number from $2${3:+ to $3}, but is $(quoted "$value")"
}

check_flag() { # NAME
  [[ ${!1-} == [01] ]] || die "$1 must be 0 or 1, but is $(quoted "${!1-}")"
}

check_dir() { # NAME
  [[ -z ${!1:-} || (-d ${!1} && -r ${!1} && -x ${!1}) ]] || die "$1 must be a folder that can be read, but is $(quoted "${!1}")"
}

# check_path NAME PATH: one that fairseq takes whole. It splits at : and , and reads \ and $ in its own way.
check_path() {
  [[ $2 != *[:,\\\$[:cntrl:]]* ]] ||
    die "$1 must be a path without : , \\ \$ and control characters, which fairseq does not take as they are, but is $(quoted "$2")"
}

quoted() {
  printf '%q' "$1"
}

# check_preparation: all settings of scripts/lib/pipeline.sh; WORK becomes absolute, and is made if it is not there.
check_preparation() {
  local name set seen=" train valid "
  for name in SOURCE_LANG TARGET_LANG; do
    [[ ${!name} =~ ^[A-Za-z][A-Za-z0-9_-]*$ ]] || die "$name must be of letters, digits, _ and -, but is $(quoted "${!name}")"
  done
  [[ $SOURCE_LANG != "$TARGET_LANG" ]] || die "source and target language must differ, but are both $SOURCE_LANG"
  for set in "${TEST_SETS[@]}"; do
    [[ $set =~ ^[A-Za-z0-9_-]+$ && $seen != *" $set "* ]] ||
      die "a test set's name must be of letters, digits, _ and -, each another one, not train or valid, but is $(quoted "$set")"
    seen+="$set "
  done
  [[ $BPE == subword_nmt || $BPE == sentencepiece ]] || die "BPE must be subword_nmt or sentencepiece, but is $(quoted "$BPE")"
  check_number BPE_MERGES 1
  check_number SHARDS 1 9999
  check_number JOBS 1 4096
  for name in NORMALISE LOWERCASE; do check_flag "$name"; done
  for name in DASH_SPLITS WMT14_SUBSET BASELINE; do
    [[ -z ${!name:-} ]] || check_flag "$name"
  done
  for name in PREPARED MULTI30K_DIR WMT14_ARCHIVES IWSLT14_ARCHIVES; do check_dir "$name"; done
  [[ $WORK == /* ]] || WORK=$PWD/$WORK # or the printed command would hold in this folder only
  check_path WORK "$WORK"
  check_path "the folder of this clone" "$ROOT"
  mkdir -p -- "$WORK" 2>/dev/null && [[ -w $WORK ]] || die "WORK must be a folder that can be written, but is $(quoted "$WORK")"
}

# check_options [STAGE...]: all of them.
check_options() {
  local stage name
  for stage in "$@"; do
    [[ " ${ALL_STAGES[*]} " == *" $stage "* ]] || die "a stage must be of ${ALL_STAGES[*]}, but is $(quoted "$stage")"
  done
  # 01 would be another folder than 1, and numpy takes no seed of more than 32 bits
  [[ $SEEDS =~ ^(0|[1-9][0-9]{0,8})(,(0|[1-9][0-9]{0,8}))*$ ]] ||
    die "--seeds must be numbers with commas between, as 1,2,3, but is $(quoted "$SEEDS")"
  [[ $MODELS =~ ^\ *(rope|sinusoidal)(\ +(rope|sinusoidal))*\ *$ ]] ||
    die "MODELS must be of rope and sinusoidal, but is $(quoted "$MODELS")"
  for name in $MODELS; do
    declare -p "${name^^}" >/dev/null 2>&1 || die "--conf $(quoted "$CONF") must set ${name^^}=(...), the options of the model $name"
  done
  check_number MAX_TOKENS 1
  check_number BATCH_TOKENS 1
  for name in MAX_EPOCH MAX_UPDATE; do
    [[ -z ${!name:-} ]] || check_number "$name" 1
  done
  check_hardware
  ((NODES == 1)) || [[ $* == train ]] || die "on several nodes run the stage train alone, the others on one node"
  check_preparation
}

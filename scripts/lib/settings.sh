# Settings, checked before anything is done: sourced by recipe.sh.
# shellcheck shell=bash

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

# check_windows: training has windows where tests have them, and their sizes are numbers.
check_windows() {
  local sets size
  ((${#WINDOWS[@]} == 0)) || [[ $(option_value --size "${WINDOWS[@]}") =~ ^[1-9][0-9]{0,3}$ ]] ||
    die "WINDOWS must have --size N, but is $(quoted "${WINDOWS[*]}")"
  ((${#WINDOWS[@]} || ${#TEST_WINDOWS[@]} == 0)) ||
    die "TEST_WINDOWS needs WINDOWS: a model that was not trained on windows does not know their separator"
  for size in "${TEST_WINDOWS[@]}"; do
    [[ $size =~ ^[1-9][0-9]{0,3}$ ]] || die "TEST_WINDOWS must be whole numbers from 1 to 9999, but has $(quoted "$size")"
  done
  tested_sets sets
  [[ $(printf '%s\n' "${sets[@]}" | sort | uniq -d) == "" ]] || die "TEST_SETS and TEST_WINDOWS make a name twice: ${sets[*]}"
}

check_language() { # NAME
  [[ ${!1} =~ ^[A-Za-z][A-Za-z0-9_-]*$ ]] || die "$1 must be of letters, digits, _ and -, but is $(quoted "${!1}")"
}

# check_sides: of how many languages the text is, and of which.
check_sides() {
  check_language SOURCE_LANG
  check_language TARGET_LANG
  [[ ${TARGET_LANG%%[_-]*} =~ ^[A-Za-z]{2,3}$ ]] ||
    die "TARGET_LANG must begin with the two or three letters of a language, which scores ask for, but is $(quoted "$TARGET_LANG")"
  [[ $SOURCE_LANG != "$TARGET_LANG" ]] || die "source and target language must differ, but are both $SOURCE_LANG"
}

check_bpe() {
  [[ $BPE == subword_nmt || $BPE == sentencepiece ]] || die "BPE must be subword_nmt or sentencepiece, but is $(quoted "$BPE")"
}

# check_work: WORK becomes absolute, or the printed command would hold in this folder only, and is made if it is not there.
check_work() {
  [[ $WORK == /* ]] || WORK=$PWD/$WORK
  check_path WORK "$WORK"
  check_path "the folder of this clone" "$ROOT"
  mkdir -p -- "$WORK" 2>/dev/null && [[ -w $WORK ]] || die "WORK must be a folder that can be written, but is $(quoted "$WORK")"
}

# check_preparation: all settings of pipeline.sh.
check_preparation() {
  local set name seen=" train valid "
  check_sides
  for set in "${TEST_SETS[@]}"; do
    [[ $set =~ ^[A-Za-z0-9_-]+$ && $seen != *" $set "* ]] ||
      die "a test set's name must be of letters, digits, _ and -, each another one, not train or valid, but is $(quoted "$set")"
    seen+="$set "
  done
  check_windows
  check_bpe
  check_number BPE_MERGES 1
  check_number SHARDS 1 9999
  check_number JOBS 1 4096
  check_flag NORMALIZE
  check_flag LOWERCASE
  [[ -z ${DASH_SPLITS:-} ]] || check_flag DASH_SPLITS
  check_work
  for name in raw text data-bin; do
    [[ ! -e $WORK/$name || -d $WORK/$name ]] || die "$WORK/$name must be a folder, but is a file: move it, or choose another folder with WORK"
  done
}

# option_value OPTION WORD...: the value that the last of these options has, or nothing.
option_value() {
  local option=$1 value=""
  while (($# > 1)); do
    shift
    [[ $1 != "$option" ]] || value=${2:-}
  done
  printf '%s' "$value"
}

# check_epochs: a training leaves as many checkpoints as are averaged.
check_epochs() {
  local averaged epochs
  averaged=$(option_value --num-epoch-checkpoints "${AVERAGE[@]}")
  epochs=$(option_value --max-epoch "${TRAIN[@]}")
  [[ -z $averaged || ${epochs:-0} == 0 || $epochs -ge $averaged ]] ||
    die "--max-epoch (MAX_EPOCH) must be at least $averaged, for so many checkpoints are averaged (AVERAGE), but is $epochs"
}

# check_option MODEL OPTION LEAST WORD...: the value that OPTION has among the options of MODEL, if any, is a whole number.
check_option() {
  local value
  [[ " ${*:4} " == *" $2 "* ]] || return 0
  value=$(option_value "$2" "${@:4}")
  [[ $value =~ ^(0|[1-9][0-9]{0,8})$ && $value -ge $3 ]] ||
    die "$2 of the model $1 must be a whole number from $3, but is $(quoted "$value"): see MODEL_${1^^} and TRAIN of --conf $CONF"
}

# check_updates: how long the models are trained.
check_updates() {
  local model options
  for model in $MODELS; do
    is_trained "$model" || continue
    train_options options "$model" 1
    check_option "$model" --total-num-update 1 "${options[@]}"
    check_option "$model" --max-update 0 "${options[@]}" # 0 has no end of its own
    check_option "$model" --warmup-updates 0 "${options[@]}"
  done
}

# check_factor: that of --rope-scaling-factor, in confs that have it.
check_factor() {
  [[ -z ${FACTOR:-} || $FACTOR =~ ^[1-9][0-9]{0,5}(\.[0-9]{1,6})?$ ]] ||
    die "FACTOR must be a number of at least 1, such as 4 or 1.5, but is $(quoted "$FACTOR")"
}

# check_settings: all of a recipe's.
check_settings() {
  local name
  check_number MAX_TOKENS 1
  check_number BATCH_TOKENS 1
  check_number PARALLEL 1 999
  for name in MAX_EPOCH MAX_UPDATE; do
    [[ -z ${!name:-} ]] || check_number "$name" 1
  done
  check_flag VALID_BLEU
  check_epochs
  check_updates
  check_factor
  check_hardware
  ((NODES == 1 || PARALLEL == 1)) || die "PARALLEL must be 1 on several nodes, but is $PARALLEL"
  ((NODES == 1)) || [[ ${STAGES[*]} == train ]] || die "on several nodes run the stage train alone, the others on one node"
  check_batches
  check_preparation
}

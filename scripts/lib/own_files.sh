# Files of one's own, their options and names: sourced by recipe.sh, used by run_bitext.sh and prepare_bitext.sh.
# shellcheck shell=bash

declare -A PREFIX=() # train, valid or the name of a test set -> what is given for it
TESTS=()             # what is given with --test
FILES=()             # these options, as they were given
OWN_SOURCE="" OWN_TARGET=""

# file_option ARGUMENT...: own_option for these options.
file_option() {
  case $1 in
    --train | --valid) need_value "a prefix" "$@" && PREFIX[${1#--}]=$2 ;;
    --test) need_value "a prefix" "$@" && TESTS+=("$2") ;;
    -s | --source-lang) need_value "a language" "$@" && OWN_SOURCE=$2 ;;
    -t | --target-lang) need_value "a language" "$@" && OWN_TARGET=$2 ;;
    *) die "there is no option $1, see --help" ;;
  esac
  FILES+=("$1" "$2")
}

# name_files: set the languages to those given, and TEST_SETS to the names of the files given with --test; without --test,
# to the names of an earlier run, in $WORK/test-sets.
# shellcheck disable=SC2034
name_files() {
  local given name
  SOURCE_LANG=${OWN_SOURCE:-$SOURCE_LANG} TARGET_LANG=${OWN_TARGET:-$TARGET_LANG}
  if ((${#TESTS[@]} == 0)); then
    if [[ -s $WORK/test-sets ]]; then mapfile -t TEST_SETS <"$WORK/test-sets"; fi
    return
  fi
  TEST_SETS=()
  for given in "${TESTS[@]}"; do
    name=${given##*/}
    [[ $name =~ ^[A-Za-z0-9_-]+$ && ! $name =~ ^(train|valid)$ && -z ${PREFIX[$name]:-} ]] ||
      die "--test $given: test sets are named by their files, each by another one, of letters, digits, _ and -, but not train or valid"
    PREFIX[$name]=$given
    TEST_SETS+=("$name")
  done
}

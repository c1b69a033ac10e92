# The command that a recipe was called with, for people who repeat it: sourced by recipe.sh, before anything is set.
# shellcheck shell=bash

# shellcheck disable=SC2034  # training.sh reads it
COMMAND="" # as it can be typed: variables that scripts read and the environment had, script, arguments

# remember_command ARGUMENT...: fill COMMAND.
remember_command() {
  local name names words=()
  # ${NAME:-...} and the like is how scripts and confs take a setting from the environment
  names=$(grep -rohE '\$\{[A-Z][A-Z0-9_]*:?[-+]' "$ROOT"/{scripts,data-prep} --include=*.sh --include=*.env |
    tr -cd 'A-Z0-9_\n' | sort -u)
  for name in $names; do
    case $name in VIRTUAL_ENV | PIP_CONSTRAINT | PYENV_ROOT | PYTHON*) continue ;; esac # of this machine
    [[ ! -v $name || ${!name@a} != *x* ]] || words+=("$name=$(quoted "${!name}")")
  done
  words+=(bash "scripts/${0##*/}")
  for name in "$@"; do words+=("$(quoted "$name")"); done
  # shellcheck disable=SC2034
  COMMAND=${words[*]}
}

# bash reads this file, BASH_ENV, before a watched recipe: each of its commands is recorded with the time, and one may kill.
# shellcheck shell=bash
#
# Before command FAULTS_AT, FAULTS_SIGNAL goes to the process group. FAULTS_SNAPSHOTS has lines of a pattern, a tab and a
# folder: before the first command that fits, the work folder is copied there.
# The recipe and the preparation that it calls are numbered together: one of them waits for the other.

faults_watch() {
  ((BASH_SUBSHELL == 0)) || return 0
  local pattern folder recorded
  printf '%s\t%s\n' "$EPOCHREALTIME" "${BASH_COMMAND%%$'\n'*}" >>"$FAULTS_COMMANDS"
  while IFS=$'\t' read -r pattern folder; do
    # shellcheck disable=SC2053  # it is a pattern
    if [[ -n $pattern && $BASH_COMMAND == $pattern && ! -e $folder ]]; then cp -a -- "$WORK" "$folder"; fi
  done <<<"${FAULTS_SNAPSHOTS:-}"
  mapfile -t recorded <"$FAULTS_COMMANDS"
  if [[ ${FAULTS_KIND:-} == command ]] && ((${#recorded[@]} == FAULTS_AT)); then kill -s "$FAULTS_SIGNAL" 0; fi
}

if [[ $0 == *_wmt14_ende.sh ]]; then
  set -o functrace
  trap faults_watch DEBUG
fi

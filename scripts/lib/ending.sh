# A script that is told to end ends what it has started, at every stage: sourced by base.sh.
# shellcheck shell=bash
#
# On TERM and HUP bash ends at once, but what it waits for lives on. A trap on these signals would wait for it too, for
# hours; the one on EXIT is run at once. Of kill -9 no shell is told.

# end_started: TERM to all that this shell has started, and what that has, in its process group. Those in another, as models
# at once and the page's follower, are for who made the group.
end_started() {
  local started=() before
  trap '' HUP INT TERM # told twice, it does not leave them stopped
  # what is stopped starts no more: once that finds no others, there are none
  while before="${started[*]}" && find_started started && [[ ${started[*]} != "$before" ]]; do
    kill -STOP "${started[@]}" 2>/dev/null || true
  done
  ((${#started[@]})) || return 0
  kill -TERM "${started[@]}" 2>/dev/null || true
  kill -CONT "${started[@]}" 2>/dev/null || true
}
trap end_started EXIT

# find_started PROCESSES: fill the array PROCESSES with them, each parent before its children.
find_started() {
  local -n processes_=$1
  local file stat group="" i
  local -A children=() # parent and group -> processes
  for file in /proc/[0-9]*/stat; do
    stat=""
    { IFS= read -r -d '' stat <"$file" || true; } 2>/dev/null # one that has ended meanwhile has none
    [[ $stat =~ ^([0-9]+)\ .*\)\ .\ ([0-9]+)\ ([0-9]+)\  ]] || continue
    children["${BASH_REMATCH[2]} ${BASH_REMATCH[3]}"]+=" ${BASH_REMATCH[1]}"
    [[ ${BASH_REMATCH[1]} != "$$" ]] || group=${BASH_REMATCH[3]}
  done
  processes_=("$$")
  for ((i = 0; i < ${#processes_[@]}; i++)); do
    # shellcheck disable=SC2206  # numbers
    processes_+=(${children["${processes_[i]} $group"]:-})
  done
  processes_=("${processes_[@]:1}")
}

# Shared by all scripts, sourced by env.sh: messages, help, and steps that can be run again.
# shellcheck shell=bash

# shellcheck disable=SC2034  # used by all others
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# log WORDS...: a line with the time, on stderr.
log() {
  printf '[%(%F %T)T] %s\n' -1 "$*" >&2
}

# die WORDS...: an error in one line, exit status 1.
die() {
  printf '%s: error: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# on_error PLACE COMMAND: `set -e` ends a script in silence; say where. Not from subshells, which would say it twice.
on_error() {
  ((BASH_SUBSHELL)) || log "stopped at $1: ${2%%$'\n'*}"
}
set -E
shopt -s inherit_errexit # or bash turns `set -e` off in $( ... )
trap 'on_error "${BASH_SOURCE[0]##*/}, line $LINENO" "$BASH_COMMAND"' ERR
# shellcheck source=scripts/lib/ending.sh
source "$ROOT/scripts/lib/ending.sh"

# usage_from_header [FILE]: print the comment at the top of the script, its only help text.
usage_from_header() {
  awk 'NR == 1 && /^#!/ { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "${1:-$0}"
}

quoted() { # WORD: as a shell reads it
  printf '%q' "$1"
}

# step OUT CMD...: skip when OUT is complete, else write CMD's stdout under another name and rename it.
# Never call it in a condition (`if step`, `step ||`, `step &&`): bash turns `set -e` off there.
step() {
  local out=$1 start=$SECONDS
  shift
  if [[ -s $out ]]; then
    log "have $out"
    return
  fi
  log "make $out: $*"
  mkdir -p -- "$(dirname -- "$out")"
  "$@" >"$out.part" # a line of its own: in `cmd && mv`, set -e is off inside cmd
  [[ -s $out.part ]] || die "$out: the command printed nothing: $*"
  mv -- "$out.part" "$out"
  log "made $out in $((SECONDS - start)) s"
}

# plain FILE: print FILE, or FILE.gz unpacked.
plain() {
  if [[ -f $1 ]]; then cat -- "$1"; else python -m fairseq_rope_data.gunzip "$1.gz"; fi
}

# One run at a time in a work folder: sourced by recipe.sh.
# shellcheck shell=bash
#
# The kernel gives a lock back when its last holder has ended, however that ends. What a run starts holds it too: a
# training whose shell was killed still writes, and keeps others out until it is through. So does the preparation that a
# recipe calls: it takes no lock of its own.

# lock_file FILE KIND FOLDER: take a lock of KIND, -x for one holder or -s for several, or die; kept until the end.
lock_file() {
  local file=$1 kind=$2 folder=$3 fd tries status=1
  [[ ! -d $file ]] || die "$file must be a file, but is a folder: move it, or choose another folder with WORK"
  exec {fd}>>"$file"
  LOCK=$fd
  for ((tries = 0; tries < 10 && status == 1; tries++)); do
    ((tries == 0)) || sleep 0.3 # the processes of a run that was killed a moment ago are still ending
    status=0
    flock -n "$kind" "$fd" || status=$?
  done
  ((status != 1)) || die "another run works in $folder: $(holder "$file")"
  ((status == 0)) || log "note: there are no locks on the disk of $folder: nothing keeps a second run out"
}

# holder FILE: of the processes on this machine that have FILE open, but for this one, the one that was started first; the
# numbers of processes do not tell, for they begin anew.
holder() {
  local fd process started first="" earliest=""
  for fd in /proc/[0-9]*/fd/*; do
    process=${fd#/proc/} process=${process%%/*}
    [[ $fd -ef $1 && $process != "$$" && $process != "$BASHPID" ]] || continue
    started=$(sed 's/.*) //' "/proc/$process/stat" 2>/dev/null | cut -d ' ' -f 20) # clock ticks since the machine's start
    if [[ -n $started ]] && ((started < ${earliest:-started + 1})); then
      first=$process earliest=$started
    fi
  done
  if [[ -n $first ]]; then
    printf 'process %s, %s' "$first" "$(tr '\0\n' '  ' 2>/dev/null <"/proc/$first/cmdline" | head -c 200)"
  else
    printf 'on another machine, or of another user'
  fi
}

# lock_work: fetch and prepare have the work folder for themselves; the other stages only their models, so that
# another run may train another model beside this one.
lock_work() {
  if ! command -v flock >/dev/null; then
    log "note: there is no flock on the PATH: nothing keeps a second run out of $WORK"
    return
  fi
  local kind=-s
  ! has_stage fetch prepare || kind=-x
  lock_file "$WORK/lock" "$kind" "$WORK"
  WORK_LOCK=$LOCK
  ! has_stage train average evaluate || each_model lock_model
}

lock_model() { # MODEL SEED DIR
  lock_file "$3.lock" -x "$3"
}

# share_work: the work folder is prepared, let other runs in.
share_work() {
  local status=0
  [[ -z ${WORK_LOCK:-} ]] || flock -n -s "$WORK_LOCK" || status=$?
  ((status != 1)) || die "another run works in $WORK: $(holder "$WORK/lock")"
}

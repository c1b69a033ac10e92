# Fetch archives that are whole and the right ones, or not there: `source` it after scripts/lib/base.sh.
# shellcheck shell=bash

# require_space DIR GIB WHAT: die before a download that cannot fit.
require_space() {
  local free
  mkdir -p -- "$1"
  free=$(($(df --output=avail -k -- "$1" | tail -n 1) / 1024 / 1024))
  ((free >= $2)) || die "$3 needs $2 GiB in $1, but $free GiB are free there"
}

require_tools() { # NAME...
  local name
  for name in "$@"; do
    command -v "$name" >/dev/null || die "$name is needed, but is not on the PATH"
  done
}

# archive URL OPTION: print the path of URL's archive, which is whole and the one of its first use.
# OPTION is the variable that may name a folder where it is already; else it is fetched to $WORK/download, going on
# where an earlier run was stopped.
archive() {
  local url=$1 option=$2 name=${1##*/} file problem
  if [[ -n ${!option:-} ]]; then
    file=${!option}/$name
    [[ -f $file ]] || die "$option must hold $name, but is ${!option}"
    problem=$(archive_problem "$file")
    [[ -z $problem ]] || die "$file $problem; put the right one there"
  else
    file=$WORK/download/$name
    if [[ ! -f $file ]]; then download "$url" "$file.part" "$option"; fi
    [[ -f $file ]] || mv -- "$file.part" "$file"
    problem=$(archive_problem "$file")
    if [[ -n $problem ]]; then
      mv -- "$file" "$file.broken"
      die "$url $problem; it is kept as $file.broken, run again to fetch it anew"
    fi
  fi
  printf '%s' "$file"
}

# download URL FILE OPTION: all of it, continued where FILE ends.
download() {
  local url=$1 file=$2 option=$3 status=0 meter=(--silent --show-error)
  [[ ! -t 2 ]] || meter=(--progress-bar)
  mkdir -p -- "$(dirname -- "$file")"
  if [[ -s $file && -z $(tar_archive "$file") ]]; then return; fi # it was complete when the run was stopped
  log "fetch $url"
  curl --fail --location --retry 3 "${meter[@]}" --continue-at - --output "$file" "$url" >&2 || status=$?
  if ((status == 33 || status == 22)) && [[ -s $file ]]; then
    log "the server cannot continue: fetch $url from its start"
    rm -- "$file"
    status=0
    curl --fail --location --retry 3 "${meter[@]}" --output "$file" "$url" >&2 || status=$?
  fi
  ((status == 0)) || die "cannot fetch $url (curl's status $status): run again to go on," \
    "or put ${url##*/} into a folder and name that with $option"
}

# archive_problem FILE: print what is wrong with it, or nothing; without a known checksum the first one is recorded.
archive_problem() {
  local file=$1 name=${1##*/} problem actual expected record=$WORK/archives.sha256
  log "verify $file"
  mkdir -p -- "$WORK"
  problem=$(tar_archive "$file")
  if [[ -n $problem ]]; then
    printf '%s' "$problem"
    return
  fi
  actual=$(sha256sum <"$file" | cut -d ' ' -f 1)
  [[ -f $record ]] || : >"$record"
  expected=$(awk -v name="$name" '$2 == name { print $1; exit }' "$ROOT/data-prep/checksums/multi30k.sha256" "$record")
  if [[ -z $expected ]]; then
    log "no checksum of $name is published; that of its first use, $actual, is recorded in $record"
    printf '%s  %s\n' "$actual" "$name" >>"$record"
  elif [[ $actual != "$expected" ]]; then
    printf 'has the SHA-256 %s, but must have %s' "$actual" "$expected"
  fi
}

# unpack ARCHIVE MEMBER...: print the first of the members that it holds.
unpack() {
  tar_archive "$@" | cat # which says of a full disk that it is full, in the system's words
}

# tar_archive ARCHIVE [MEMBER...]: print a member, or what is wrong with the archive.
tar_archive() {
  python -m fairseq_rope_data.tar_archive "$@"
}

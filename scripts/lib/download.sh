# Fetch files that are whole and the right ones, or not there: sourced by recipe.sh.
# shellcheck shell=bash
#
# The right ones have a SHA-256 of $CHECKSUMS, a file of data-prep/checksums that a preparation names: Multi30k's does. Of
# WMT14's and IWSLT14's archives none is published: they are trusted on first use. Their SHA-256 is recorded in
# $WORK/archives.sha256 then, and later uses must have the same.

CHECKSUMS=""

# require_space DIR GIB WHAT: die before a download that cannot fit.
require_space() {
  local free
  mkdir -p -- "$1"
  free=$(($(df --output=avail -k -- "$1" | tail -n 1) / 1024 / 1024))
  ((free >= $2)) || die "$3 needs $2 GiB in $1, but $free GiB are free there"
}

# fetched URL OPTION FORMAT_PROBLEM: print the path of URL's file, which is whole and the right one.
# OPTION is the variable that may name a folder where it is already, perhaps without .gz; else it is fetched to
# $WORK/download, going on where an earlier run was stopped. FORMAT_PROBLEM FILE prints what is wrong with its format.
fetched() {
  local url=$1 option=$2 format_problem=$3 name=${1##*/} file problem
  if [[ -n ${!option:-} ]]; then
    file=${!option}/${name%.gz}
    [[ -f $file ]] || file=${!option}/$name
    [[ -f $file ]] || die "$option must hold $name, but is ${!option}"
    problem=$(file_problem "$file" "$format_problem")
    [[ -z $problem ]] || die "$file $problem; put the right one there"
  else
    file=$WORK/download/$name
    if [[ ! -f $file ]]; then download "$url" "$file.part" "$option" "$format_problem"; fi
    [[ -f $file ]] || mv -- "$file.part" "$file"
    problem=$(file_problem "$file" "$format_problem")
    if [[ -n $problem ]]; then
      mv -- "$file" "$file.broken"
      die "$url $problem; it is kept as $file.broken, run again to fetch it anew"
    fi
  fi
  printf '%s' "$file"
}

# download URL FILE OPTION FORMAT_PROBLEM: all of it, continued where FILE ends.
download() {
  local url=$1 file=$2 option=$3 status=0 meter=(--silent --show-error)
  command -v curl >/dev/null || die "curl is needed, but is not on the PATH"
  [[ ! -t 2 ]] || meter=(--progress-bar)
  mkdir -p -- "$(dirname -- "$file")"
  if [[ -s $file && -z $("$4" "$file") ]]; then return; fi # it was complete when the run was stopped
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

# file_problem FILE FORMAT_PROBLEM: print what is wrong with it, or nothing; without a known checksum the first one is
# recorded.
file_problem() {
  local file=$1 name=${1##*/} problem actual expected record=$WORK/archives.sha256
  log "verify $file"
  problem=$("$2" "$file")
  if [[ -n $problem ]]; then
    printf '%s' "$problem"
    return
  fi
  actual=$(plain "${file%.gz}" | sha256sum | cut -d ' ' -f 1) # of a text that is packed, that of the text
  [[ -f $record || -n $CHECKSUMS ]] || : >"$record"
  expected=$(awk -v name="${name%.gz}" '$2 == name { print $1; exit }' "${CHECKSUMS:-$record}")
  if [[ -z $expected ]]; then
    log "no checksum of $name is published; that of its first use, $actual, is recorded in $record"
    printf '%s  %s\n' "$actual" "$name" >>"$record"
  elif [[ $actual != "$expected" ]]; then
    printf 'has the SHA-256 %s, but must have %s' "$actual" "$expected"
  fi
}

# gzip_problem FILE: print what is wrong with a packed text, or nothing.
gzip_problem() {
  local said
  [[ $1 == *.gz || $1 == *.gz.part ]] || return 0
  said=$(python -m fairseq_rope_data.gunzip "$1" 2>&1 >/dev/null) || printf '%s' "${said##*"$1" }"
}

# archive URL OPTION: print the path of an archive, as fetched does.
archive() {
  fetched "$1" "$2" tar_archive
}

# check_archives OPTION: the archives of the folder that OPTION names are those that the work folder's text was taken from.
check_archives() {
  local name expected file actual
  check_dir "$1"
  ! part_of_a_run || return 0 # the recipe has asked already
  [[ -n ${!1:-} && -s $WORK/archives.sha256 && -d $WORK/raw ]] || return 0
  while read -r expected name; do
    file=${!1}/$name
    [[ -f $file ]] || continue
    log "verify $file"
    actual=$(plain "${file%.gz}" | sha256sum | cut -d ' ' -f 1)
    [[ $actual == "$expected" ]] ||
      die "$file has the SHA-256 $actual, but $WORK was made from one with $expected; choose another folder with WORK"
  done <"$WORK/archives.sha256"
}

# unpack ARCHIVE MEMBER...: print the first of the members that it holds.
unpack() {
  tar_archive "$@" | cat # which says of a full disk that it is full, in the system's words
}

# tar_archive ARCHIVE [MEMBER...]: print a member, or what is wrong with the archive.
tar_archive() {
  python -m fairseq_rope_data.tar_archive "$@"
}

# Multi30k English-German, raw, of a pinned commit: `source` it after scripts/lib/base.sh.
# shellcheck shell=bash
#
# In:  MULTI30K_DIR, a folder with {train,val,test_2016_flickr}.{en,de}.gz (or without .gz); else the public repository
# Out: $WORK/raw/{train,valid,test}.{en,de}, each with the checksum of checksums.sha256
# The data is for research use; cite Elliott et al., 2016.

# the last commit at which these files changed; MULTI30K_URL is another place with the same files
MULTI30K_COMMIT=c9be912dc05a3ebf9ae5bb5f7f58c1791cda43ab
MULTI30K_URL=${MULTI30K_URL:-https://raw.githubusercontent.com/multi30k/dataset/$MULTI30K_COMMIT/data/task1/raw}

# offer_multi30k: the files of MULTI30K_DIR, for scripts/lib/records.sh.
# shellcheck disable=SC2034
offer_multi30k() {
  local lang pair file
  [[ -n ${MULTI30K_DIR:-} ]] || return 0
  for pair in train:train val:valid test_2016_flickr:test; do
    for lang in en de; do
      file=$MULTI30K_DIR/${pair%:*}.$lang
      [[ -f $file || -f $file.gz ]] || die "MULTI30K_DIR must hold ${file##*/} or ${file##*/}.gz, but is $MULTI30K_DIR"
      OFFERED["raw/${pair#*:}.$lang"]=$file
    done
  done
}

fetch_multi30k() {
  local lang pair name
  for pair in train:train val:valid test_2016_flickr:test; do
    for lang in en de; do
      name=${pair%:*}.$lang
      step "$WORK/raw/${pair#*:}.$lang" checked_text "$name" "$WORK/download/$name.gz"
    done
  done
}

# checked_text NAME DOWNLOAD: print the text when it is the one of checksums.sha256.
checked_text() {
  local name=$1 file=$2 text=$2.text expected actual
  mkdir -p -- "$(dirname -- "$file")"
  if [[ -n ${MULTI30K_DIR:-} ]]; then
    file=$MULTI30K_DIR/$name
    [[ -f $file ]] || file+=.gz
    [[ -f $file ]] || die "MULTI30K_DIR must hold $name or $name.gz, but is $MULTI30K_DIR"
  else
    curl --fail --location --retry 3 --silent --show-error --output "$file" "$MULTI30K_URL/$name.gz" >&2 ||
      die "cannot fetch $MULTI30K_URL/$name.gz; with no network, put the files into a folder and name it with MULTI30K_DIR"
  fi
  if [[ $file == *.gz ]]; then
    python -m fairseq_rope_data.gunzip "$file" >"$text"
  else
    cp -- "$file" "$text"
  fi
  expected=$(awk -v name="$name" '$2 == name { print $1 }' "$ROOT/data-prep/checksums/multi30k.sha256")
  actual=$(sha256sum <"$text" | cut -d ' ' -f 1)
  [[ $actual == "$expected" ]] || die "$file has the SHA-256 $actual once unpacked, but must have $expected"
  cat -- "$text"
  rm -- "$text"
}

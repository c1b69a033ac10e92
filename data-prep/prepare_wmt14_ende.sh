#!/usr/bin/env bash
# WMT14 English-German: public archives to binarized data. 4,520,620 pairs, newstest2013 and newstest2014.
#
# Usage: bash data-prep/prepare_wmt14_ende.sh [OPTIONS]
#
# In:   the network; or WMT14_ARCHIVES, a folder with the archives; or WMT14_MIRROR, another server with their paths.
#       No checksums are published: those of the first use are recorded in $WORK/archives.sha256 and compared from then on
#       WMT14_SUBSET=1  they are samples: line counts are not compared with those of the full corpora
# Set:  BPE=sentencepiece  DASH_SPLITS=0 (no -a)
# Out:  $WORK/raw, text, data-bin and manifest.json; WORK is runs/NAME of --conf
# Time: about half an hour on two cores (extrapolated).
# News Commentary is v9; v12, which some recipes take, is of WMT17.
set -euo pipefail
# shellcheck source=scripts/lib/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/recipe.sh"

fetch_text() {
  local lang
  if [[ ! -s $WORK/raw/train.de && ${WMT14_SUBSET:-0} == 0 ]]; then
    # 2 GiB of archives, 3 of raw text, 10 of its stages, 2 binarized
    require_space "$WORK" 17 "preparing WMT14"
  fi
  take_corpus 1920209 wmt13/training-parallel-europarl-v7.tgz training/europarl-v7.de-en
  take_corpus 2399123 wmt13/training-parallel-commoncrawl.tgz commoncrawl.de-en
  take_corpus 201288 wmt14/training-parallel-nc-v9.tgz training/news-commentary-v9.de-en
  for lang in en de; do
    # not cat, which makes one line of two where a corpus lacks its last line end
    step "$WORK/raw/train.$lang" python -m fairseq_rope_data.join_text \
      "$WORK/raw/corpora/"{europarl-v7,commoncrawl,news-commentary-v9}".de-en.$lang"
  done
  take_set valid 3000 wmt17/translation-task/dev.tgz dev/newstest2013 dev/newstest2013
  take_set test 3003 wmt14/test-full.tgz test-full/newstest2014 test-full/newstest2014-deen
}

check_given() {
  [[ -z ${WMT14_SUBSET:-} ]] || check_flag WMT14_SUBSET
  check_archives WMT14_ARCHIVES
}

wmt14_archive() { # PATH
  local server=http://statmt.org
  [[ $1 != wmt17/* ]] || server=http://data.statmt.org
  archive "${WMT14_MIRROR:-$server}/$1" WMT14_ARCHIVES
}

# take_corpus LINES PATH MEMBER: $WORK/raw/corpora/MEMBER.{en,de}.
take_corpus() {
  local lines=$1 path=$2 member=$3 lang out file
  out=$WORK/raw/corpora/${member##*/}
  [[ -s $out.en && -s $out.de ]] || file=$(wmt14_archive "$path")
  for lang in en de; do
    step "$out.$lang" unpack "${file:-}" "$member.$lang"
    known_lines "$out.$lang" "$lines" "${path##*/}"
  done
  same_lines "$out."{en,de} # of all corpora together the numbers may be equal, where these are not
}

# take_set SET LINES PATH PLAIN SGM: a dev or test set, which is plain text or SGM in its archive.
take_set() {
  local out=$WORK/raw/$1 lines=$2 path=$3 plain=$4 sgm=$5 lang side=src file
  [[ -s $out.en && -s $out.de ]] || file=$(wmt14_archive "$path")
  for lang in en de; do
    step "$out.$lang.member" unpack "${file:-}" "$plain.$lang" "$sgm-$side.$lang.sgm"
    step "$out.$lang" python -m fairseq_rope_data.sgm "$out.$lang.member"
    known_lines "$out.$lang" "$lines" "${path##*/}"
    side=ref
  done
}

known_lines() { # FILE LINES ARCHIVE
  local lines
  lines=$(wc -l <"$1")
  [[ ${WMT14_SUBSET:-0} == 1 || $lines == "$2" ]] ||
    die "$1 has $lines lines, but must have $2: $3 does not hold the full corpus (WMT14_SUBSET=1 takes it all the same)"
}

STAGES=(fetch prepare)
parse_options wmt14_ende_base "$@"
WORK=${WORK:-$ROOT/runs/$(basename "$CONF" .env)}
run_preparation

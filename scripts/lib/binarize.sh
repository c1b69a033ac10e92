# Text in BPE to what fairseq reads, and the manifest: sourced by recipe.sh.
# shellcheck shell=bash
#
# In:  $WORK/text/SET.LANG
# Out: $WORK/data-bin       what fairseq-train and fairseq-generate read; data-bin/shardN more of it
#      $WORK/manifest.json  versions, settings, counts and checksums
# Settings: SOURCE_LANG, TARGET_LANG, TEST_SETS, TEST_WINDOWS, SHARDS, JOBS.

DICTIONARY=(--joined-dictionary) # one for both languages

# data_options OPTIONS: fill the array OPTIONS with what fairseq's commands must know of the data.
data_options() {
  local -n options_=$1
  # shellcheck disable=SC2034  # the caller reads it
  options_=(--source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG")
}

# text_prefix SET: its files, as fairseq-preprocess wants them.
text_prefix() {
  printf '%s' "$WORK/text/$1"
}

preprocess() { # OPTION...
  local data
  data_options data
  # with the plugin, data above 2 GiB is right: see fairseq_rope/compat/large_binarized_data.py
  fairseq-preprocess --user-dir "$ROOT/fairseq_rope" "${data[@]}" "${DICTIONARY[@]}" --thresholdsrc 0 --thresholdtgt 0 \
    --padding-factor 8 --workers "$JOBS" "$@" >&2
}

# check_lines PREFIX...: lines end where fairseq ends them, at a lone carriage return too, and its words have no mark of
# a file's beginning.
check_lines() {
  local files file number
  side_files files "$@"
  for file in "${files[@]}"; do
    number=$(LC_ALL=C awk '/\r./ { print NR; exit }' <"$file")
    [[ -z $number ]] || die "$file:$number: must have no carriage return but at its end, for fairseq ends a line there"
    ! head -n 1 -- "$file" | LC_ALL=C grep -a $'^\xef\xbb\xbf' >/dev/null ||
      die "$file:1: must begin with a word, but has a byte order mark before it"
  done
}

# binarize: $WORK/text -> $WORK/data-bin, with a dictionary of every training symbol, and the manifest.
binarize() {
  local text=$WORK/text bin=$WORK/data-bin set sets tests=""
  tested_sets sets
  for set in train valid "${sets[@]}"; do
    aligned "$text/$set"
    [[ -d $bin ]] || check_lines "$text/$set"
  done
  # a dictionary belongs to its text: with another it gives <unk> in silence
  keep_record "$WORK/data-bin.settings" "$(data_record)"
  [[ -d $bin ]] || rm -f -- "$WORK/manifest.json" # which is of what was there before
  for set in "${sets[@]}"; do tests+=,$text/$set; done
  if [[ -d $bin ]]; then
    log "have $bin"
  else
    log "make $bin in $SHARDS shard(s)"
    rm -rf -- "$bin.part"
    binarize_sets "$bin.part" "${tests:1}"
    mv -- "$bin.part" "$bin"
  fi
  manifest
}

binarize_sets() { # OUT TESTS
  if ((SHARDS == 1)); then
    preprocess --trainpref "$(text_prefix train)" --validpref "$(text_prefix valid)" --testpref "$2" --destdir "$1"
  else
    binarize_shards "$@"
  fi
}

# binarize_shards OUT TESTS: line N of the training text goes to shard N modulo SHARDS, on both sides alike.
binarize_shards() {
  local out=$1 tests=$2 lang shard dictionary=$1/dict.$SOURCE_LANG.txt split=$1/split lines
  lines=$(count_lines "$WORK/text/train.$SOURCE_LANG")
  ((SHARDS <= lines)) || die "SHARDS must be at most $lines, the lines of $WORK/text/train.$SOURCE_LANG, but is $SHARDS"
  mkdir -p -- "$split"
  preprocess --trainpref "$WORK/text/train" --dict-only --destdir "$out"
  for lang in "$SOURCE_LANG" "$TARGET_LANG"; do
    split --number "r/$SHARDS" --numeric-suffixes --suffix-length 4 --additional-suffix ".$lang" "$WORK/text/train.$lang" "$split/"
  done
  for ((shard = 1; shard < SHARDS; shard++)); do
    preprocess --srcdict "$dictionary" --trainpref "$split/$(printf %04d "$shard")" --destdir "$out/shard$shard"
  done
  mv -- "$dictionary" "$split/dict.txt" # or it would be overwritten while it is read
  rm -f -- "$out/dict.$TARGET_LANG.txt"
  preprocess --srcdict "$split/dict.txt" --trainpref "$split/0000" --validpref "$WORK/text/valid" --testpref "$tests" --destdir "$out"
  rm -rf -- "$split"
}

manifest() {
  local name names=("${TEXT_SETTINGS[@]}" TEST_SETS SHARDS) settings=()
  [[ ! -s $WORK/manifest.json ]] || return 0
  ((${#WINDOWS[@]} == 0)) || names+=(WINDOWS TEST_WINDOWS WINDOW_OPTIONS)
  for name in "${names[@]}"; do
    local -n value=$name
    settings+=("$name=${value[*]}")
  done
  log "make $WORK/manifest.json"
  python -m fairseq_rope_data.manifest "$WORK" "${settings[@]}"
}

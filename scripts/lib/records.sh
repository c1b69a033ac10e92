# What every product of a work folder was made from: sourced by recipe.sh.
# shellcheck shell=bash
#
# A record stands beside its product: size and SHA-256 of the text that was given, then the settings of each stage up to the
# product's own. There is no path and no time in it, so a work folder can be moved. Lines with # are versions; others than
# today's are noted, not refused. A run compares all records before it works, and writes one before its product is there:
# a record without its product says nothing.

declare -A GIVEN=()   # train.en -> where its text begins in $WORK, with size and SHA-256
declare -A OFFERED=() # raw/train.en -> the file to take it from, or that file's name without .gz
CHANGED=()            # products that were made from something else
declare -A OLD=()     # record of version 0.1.0 -> what is compared from now on
declare -A NOTED=()   # products whose versions have been noted
VERSIONS=""

# sides: the languages of the text, of which each file is named.
sides() {
  printf '%s %s' "$SOURCE_LANG" "$TARGET_LANG"
}

# offered NAME: print what it is taken from.
offered() {
  plain "${OFFERED[$1]}"
}

# fingerprints NAME...: those of what is offered, or else lies in $WORK, a line each.
fingerprints() {
  local name files=()
  for name in "$@"; do files+=("${OFFERED[$name]:-$WORK/$name}"); done
  python -m fairseq_rope_data.fingerprint -- "${files[@]}"
}

# read_given: fill GIVEN with what is offered, or else lies in $WORK.
read_given() {
  local set lang name key names=() facts i
  VERSIONS=$(python -m fairseq_rope_data.fingerprint --versions)
  for set in train valid "${TEST_SETS[@]}"; do
    for lang in $(sides); do
      key=$set.$lang
      [[ -z ${GIVEN[$key]:-} ]] || continue
      for name in "raw/$set.$lang" "text/$set.tok.$lang" "text/$set.$lang"; do
        if [[ -n ${OFFERED[$name]:-} || -s $WORK/$name ]]; then
          names+=("$name")
          GIVEN[$key]=$((${#names[@]} - 1))
          break
        fi
        [[ -z $(recorded_text "$name") ]] || break # it was removed to save space: what was made of it is no source
      done
    done
  done
  ((${#names[@]})) || return 0
  facts=$(fingerprints "${names[@]}")
  mapfile -t facts <<<"$facts"
  for key in "${!GIVEN[@]}"; do
    i=${GIVEN[$key]}
    [[ ! $i =~ ^[0-9]+$ ]] || GIVEN[$key]="${names[i]}: ${facts[i]}"
  done
}

# recorded_text PATTERN [RECORD...]: the first line of a record on a text whose name in $WORK fits, or nothing. RECORD are more
# than those of text, data and trainings.
recorded_text() {
  grep -hsE "^$1: " "$WORK/text/settings" "$WORK/data-bin.settings" "$WORK"/*/settings "${@:2}" | sed 1q || true
}

# given_text SET...: what is given of these sets, a line for each language; what is not there any more is as recorded, of a
# set that is tested no more beside its scores.
given_text() {
  local set lang key
  for set in "$@"; do
    for lang in $(sides); do
      key=$set.$lang
      printf '%s\n' "${GIVEN[$key]:-$(recorded_text "(raw|text)/$set(\.tok)?\.$lang" "$WORK"/*/*.settings)}"
    done
  done
}

# take_offered: copy what is offered to where it belongs in $WORK.
take_offered() {
  local name
  for name in "${!OFFERED[@]}"; do
    step "$WORK/$name" offered "$name"
  done
}

# forget_changed: remove copies that are not what is offered. Nothing was made of them, or the records had differed.
forget_changed() {
  local name
  for name in "${!OFFERED[@]}"; do
    if [[ -f $WORK/$name ]] && ! offered "$name" | cmp --silent - "$WORK/$name"; then
      log "${OFFERED[$name]} is not what was taken of it: take it again"
      rm -f -- "$WORK/$name"
    fi
  done
}

# values NAME...: settings for a record, whether or not they are exported.
values() {
  declare -p "$@" | without_declare
}

without_declare() {
  sed -E 's/^declare -[-a-zA-Z]+ //'
}

# option_lines WORD...: options for a record, each with its values on a line of its own.
option_lines() {
  local word line=""
  for word in "$@"; do
    if [[ $word == --* && -n $line ]]; then
      printf '%s\n' "$line"
      line=""
    fi
    printf -v word %q "$word"
    line+="${line:+ }$word"
  done
  [[ -z $line ]] || printf '%s\n' "$line"
}

# recorded RECORD: what it says, less versions, in today's spelling.
recorded() {
  [[ ! -s $1 ]] || sed -E '/^# /d; s/\bNORMALISE=/NORMALIZE=/; s/^\[binarise\]$/[binarize]/; s/^--detokenised$/--detokenized/' "$1"
}

# compare_record PRODUCT RECORD TEXT: note a PRODUCT, which is there, when its RECORD is not TEXT; show the first difference.
compare_record() {
  local product=$1 record=$2 text=$3 there older
  there=$(recorded "$record")
  if [[ $there != "[given]"* ]]; then
    # of version 0.1.0: the same words without the given text, or none at all
    [[ $there != SHARDS=* ]] || there=${there%% *}
    if [[ $(words <<<"$text") == *"$(without_declare <<<"$there" | words)"* ]]; then
      OLD[$record]=$text
      return
    fi
  elif [[ $there == "$text" ]]; then
    older=$(sed -n 's/^# //p' "$record" | grep -vxF -- "$VERSIONS" | paste -s -d ,) || true
    [[ -z $older || -n ${NOTED[$product]:-} ]] || log "note: $product was made with $older; today's versions may make another one"
    NOTED[$product]=1
    return
  fi
  ((${#CHANGED[@]})) || diff --unified=1 --label "$record" --label "now" - <(printf '%s\n' "$text") <<<"$there" >&2 || true
  # what is named already, itself or its folder, is not named again
  [[ " ${CHANGED[*]} " == *" $product "* || " ${CHANGED[*]} " == *" ${product%/*} "* ]] || CHANGED+=("$product")
}

words() { # of stdin, on one line
  tr -s '[:space:]' ' '
}

# refuse_changed: die where compare_record has found something; else old records become today's.
refuse_changed() {
  local record products
  if ((${#CHANGED[@]})); then
    products=$(printf '%q ' "${CHANGED[@]}")
    die "made from other text or settings (above, - then, + now): ${products% }; remove this, or choose another folder with WORK"
  fi
  for record in "${!OLD[@]}"; do
    log "note: $record does not say which text it is of (version 0.1.0): it is taken as of today's text"
    write_record "$record" "${OLD[$record]}"
  done
  OLD=()
}

# keep_record RECORD TEXT: before its product is made.
keep_record() {
  [[ -s $1 && $(recorded "$1") == "$2" ]] || write_record "$1" "$2"$'\n'"# ${VERSIONS//$'\n'/$'\n'# }"
}

write_record() { # RECORD TEXT
  mkdir -p -- "$(dirname -- "$1")"
  printf '%s\n' "$2" >"$1.part"
  mv -- "$1.part" "$1"
}

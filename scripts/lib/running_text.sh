# Running text of one language in the place of parallel text: sourced after recipe.sh, whose stages and records stay.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153  # settings of this file and of others
#
# In:  the files of --train and --valid, plain UTF-8 or gzipped, joined in their order; neighboring lines belong together;
#      those of --without, whose documents are left out of the training text
# Out: $WORK/raw/{train,valid}.LANG, text, data-bin (train, valid, dict.txt) and manifest.json, see pipeline.sh
#      $WORK/raw/train.LANG.without  what was left out: counts, and size and SHA-256 of the files of --without; the records
#      have it, too
# Settings: SOURCE_LANG, the language; those of pieces.sh.

TEXT_SETTINGS=(SOURCE_LANG NORMALIZE LOWERCASE MOSES BPE BPE_MERGES)
DICTIONARY=(--only-source)
TEXT_train=() TEXT_valid=() # the files of each set
TEXT_without=()             # and those of the documents to leave out
FILES=()                    # these options, as they were given
OWN_LANG=""

# text_option ARGUMENT...: own_option for these options. The files of a set end before the next option or stage.
text_option() {
  case $1 in
    --train | --valid | --without) need_value "a file" "$@" && take_files "$@" ;;
    --lang) need_value "a language" "$@" && OWN_LANG=$2 ;;
    *) die "there is no option $1, see --help" ;;
  esac
  FILES+=("${@:1:TAKEN}")
}

take_files() { # OPTION FILE ARGUMENT...
  local -n files_=TEXT_${1#--}
  local word
  TAKEN=1
  for word in "${@:2}"; do
    [[ $word != -* && " ${ALL_STAGES[*]} " != *" $word "* ]] || break
    [[ -n $word ]] || die "$1 must name files, but has an empty name"
    files_+=("$word")
    TAKEN=$((TAKEN + 1))
  done
  ((TAKEN > 1)) || die "$1 needs a file, but is followed by the stage $2 (a path may begin with ./)"
}

# one_language: what all recipes set for two.
one_language() {
  SOURCE_LANG=${OWN_LANG:-$SOURCE_LANG} TARGET_LANG="" TEST_SETS=()
}

sides() {
  printf '%s' "$SOURCE_LANG"
}

check_sides() {
  check_language SOURCE_LANG
  ((SHARDS == 1)) || die "SHARDS must be 1 with running text, whose lines belong together, but is $(quoted "$SHARDS")"
  [[ $VALID_BLEU == 0 ]] || die "VALID_BLEU must be 0 with running text, which is not translated, but is $(quoted "$VALID_BLEU")"
  ((${#CLEAN[@]} + ${#WINDOWS[@]} == 0)) || die "CLEAN and WINDOWS are for parallel text, but are ${CLEAN[*]} ${WINDOWS[*]}"
}

# check_bpe: one language may be Chinese, which Moses' rules are not for.
check_bpe() {
  [[ $BPE =~ ^(subword_nmt|sentencepiece|characters|words)$ ]] ||
    die "BPE must be subword_nmt, sentencepiece, characters or words, but is $(quoted "$BPE")"
  ! is_chinese || [[ $NORMALIZE == 0 && ${#MOSES[@]} == 0 ]] ||
    die "NORMALIZE must be 0 and MOSES empty with BPE=$BPE, but are $(quoted "$NORMALIZE") and ${MOSES[*]}"
}

# check_given: what is given is there, and what must be is given.
check_given() {
  local set file
  for set in train valid; do
    local -n given=TEXT_$set
    for file in "${given[@]}"; do
      check_file "--$set" "$file"
      OFFERED["raw/$set.$SOURCE_LANG"]=$file
    done
    ((${#given[@]})) || ! has_stage fetch || [[ -s $WORK/raw/$set.$SOURCE_LANG || -s $WORK/text/$set.tok.$SOURCE_LANG ]] ||
      die "--$set FILE is needed: no $set text is in $WORK yet"
  done
  for file in "${TEXT_without[@]}"; do check_file --without "$file"; done
  ((${#TEXT_without[@]} == 0 || ${#TEXT_train[@]})) || die "--without needs --train: text that is taken already stays as it is"
}

check_file() { # OPTION FILE
  [[ ! -f $2 && ! -f $2.gz ]] || return 0
  [[ ! -d $2 ]] || die "$1 $2 is a folder: name the files in it"
  die "$1 $2: there is no such file"
}

# fetch_text: the record of what is left out stands there before the text that lacks it.
fetch_text() {
  local name=train.$SOURCE_LANG lacks
  if ((${#TEXT_without[@]})); then
    lacks=${GIVEN[$name]#*sha256 *, } # after the text's own SHA-256
    log "$name is $lacks"
    write_record "$WORK/raw/$name.without" "$lacks"
  elif ((${#TEXT_train[@]})); then
    rm -f -- "$WORK/raw/$name.without"
  fi
  take_offered
}

offered() { # NAME
  local set=${1#raw/}
  local -n given=TEXT_${set%%.*}
  if loses_documents "$1"; then
    python -m fairseq_rope_data.without "${given[@]}" --documents "${TEXT_without[@]}"
  else
    python -m fairseq_rope_data.join_text -- "${given[@]}"
  fi
}

loses_documents() { # NAME
  [[ $1 == raw/train.* ]] && ((${#TEXT_without[@]}))
}

fingerprints() { # NAME...
  local name facts
  for name in "$@"; do
    if loses_documents "$name"; then
      python -m fairseq_rope_data.without "${TEXT_train[@]}" --documents "${TEXT_without[@]}" --facts
    elif [[ -n ${OFFERED[$name]:-} ]]; then
      offered "$name" | python -m fairseq_rope_data.fingerprint -- /dev/stdin
    else
      facts=$(python -m fairseq_rope_data.fingerprint -- "$WORK/$name")
      printf '%s%s\n' "$facts" "$(left_out "$name")"
    fi
  done
}

left_out() { # NAME: what the text that was taken lacks, as its record says it
  [[ ! -s $WORK/$1.without ]] || printf ', %s' "$(<"$WORK/$1.without")"
}

check_corpus() { # SET PREFIX
  local files=("$2.$SOURCE_LANG")
  [[ $1 == train ]] || files+=("$(text_of train).$SOURCE_LANG")
  python -m fairseq_rope_data.check_text "${files[@]}" >&2
  given_text "$1"
}

data_options() { # OPTIONS
  local -n options_=$1
  options_=()
}

text_prefix() { # SET
  printf '%s' "$WORK/text/$1.$SOURCE_LANG"
}

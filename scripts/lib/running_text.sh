# Running text of one language in the place of parallel text: sourced after recipe.sh, whose stages and records stay.
# shellcheck shell=bash
# shellcheck disable=SC2034  # settings of other files
#
# In:  the files of --train and --valid, plain UTF-8 or gzipped, joined in their order; neighboring lines belong together
# Out: $WORK/raw/{train,valid}.LANG, text, data-bin (train, valid, dict.txt) and manifest.json, see pipeline.sh
# Settings: SOURCE_LANG, the language; those of pieces.sh.

TEXT_SETTINGS=(SOURCE_LANG NORMALIZE LOWERCASE MOSES BPE BPE_MERGES)
DICTIONARY=(--only-source)
TEXT_train=() TEXT_valid=() # the files of each set
FILES=()                    # these options, as they were given
OWN_LANG=""

# text_option ARGUMENT...: own_option for these options. The files of a set end before the next option or stage.
text_option() {
  case $1 in
    --train | --valid) need_value "a file" "$@" && take_files "$@" ;;
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
      [[ -f $file || -f $file.gz ]] || die "--$set $file: there is no such file"
      OFFERED["raw/$set.$SOURCE_LANG"]=$file
    done
    ((${#given[@]})) || ! has_stage fetch || [[ -s $WORK/raw/$set.$SOURCE_LANG || -s $WORK/text/$set.tok.$SOURCE_LANG ]] ||
      die "--$set FILE is needed: no $set text is in $WORK yet"
  done
}

fetch_text() {
  take_offered
}

offered() { # NAME
  local set=${1#raw/}
  local -n given=TEXT_${set%%.*}
  python -m fairseq_rope_data.join_text -- "${given[@]}"
}

fingerprints() { # NAME...
  local name
  for name in "$@"; do
    if [[ -n ${OFFERED[$name]:-} ]]; then
      offered "$name" | python -m fairseq_rope_data.fingerprint -- /dev/stdin
    else
      python -m fairseq_rope_data.fingerprint -- "$WORK/$name"
    fi
  done
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

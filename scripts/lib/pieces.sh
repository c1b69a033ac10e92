# Text to the pieces that models read: sourced by recipe.sh.
# shellcheck shell=bash
#
# Set:  BPE  subword_nmt, after Moses' tokenizer; sentencepiece, on raw text; of one language also characters or words of
#            Chinese, see fairseq_rope_data.segment
# Settings: NORMALIZE, LOWERCASE, MOSES, BPE_MERGES, which is how many merges, pieces or tokens, JOBS.

is_chinese() {
  [[ $BPE == characters || $BPE == words ]]
}

# codes_name: the file in $WORK/text of what is learned from training text.
codes_name() {
  case $BPE in
    sentencepiece) printf 'sentencepiece.model' ;;
    characters | words) printf 'vocabulary' ;;
    *) printf 'codes' ;;
  esac
}

tokenize() { # SET LANG FILE
  local options=(--jobs "$JOBS")
  [[ $LOWERCASE == 0 ]] || options+=(--lowercase)
  if is_chinese; then
    python -m fairseq_rope_data.segment split --unit "$BPE" "${options[@]}" "$3"
    return
  fi
  if [[ $BPE == sentencepiece ]]; then options+=(--tokenizer none); else options+=("${MOSES[@]}"); fi
  # a reference stays as it is: scores on normalized ones are not those of other people
  [[ $NORMALIZE == 0 || ($2 == "$TARGET_LANG" && $1 != train && $1 != valid) ]] || options+=(--normalize)
  python -m fairseq_rope_data.tokenize --lang "$2" "${options[@]}" "$3"
}

learn_bpe() { # FILE...: merges of all files together
  if is_chinese; then
    python -m fairseq_rope_data.segment learn --size "$BPE_MERGES" "$@"
  elif [[ $BPE == sentencepiece ]]; then
    python -m fairseq_rope_data.sentencepiece_bpe learn --pieces "$BPE_MERGES" --model "$WORK/text/learned.part" "$@"
    cat -- "$WORK/text/learned.part"
    rm -- "$WORK/text/learned.part"
  else
    RAYON_NUM_THREADS=$JOBS python -m fairseq_rope_data.learn_bpe --merges "$BPE_MERGES" "$@"
  fi
}

apply_bpe() { # MODEL FILE
  if is_chinese; then
    python -m fairseq_rope_data.segment apply --vocab "$1" --jobs "$JOBS" "$2"
  elif [[ $BPE == sentencepiece ]]; then
    python -m fairseq_rope_data.sentencepiece_bpe apply --model "$1" --jobs "$JOBS" "$2"
  else
    python -m fairseq_rope_data.apply_bpe --codes "$1" --jobs "$JOBS" "$2"
  fi
}

# Pre-trained models and their vocabulary, from the folders of --from: sourced by fine_tuning.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153  # settings of this file and of others
#
# In:  the folders FROM: each a work folder of run_mlm.sh, whose models keep their names, or one with model.pt, dict.txt and
#      vocab.txt, as `fairseq-rope huggingface import` makes it, a model with the folder's name; lower-cased unless its
#      tokenizer_config.json says otherwise
# Set: TUNED_FROM, model -> the pre-trained one that it begins with, where that has another name
# Out: SOURCE_LANG, NORMALIZE, LOWERCASE, MOSES, BPE, CODES, DICTIONARY; MODELS, of which those that learned a table of
#      positions of another length are left out, unless they were asked for by name

FROM=()
declare -A PRETRAINED=() # model -> folder it is from
declare -A WORDS=()      # checkpoint -> options of fairseq-train that make its model
declare -A FITS=()       # checkpoint and length that have been checked
declare -A TUNED_FROM=()
declare -A LEFT_OUT=()
ALL_MODELS=""

own_models() { pretrained_models; }

# pretrained_models: what --from has are models by their names.
pretrained_models() {
  local folder file name names=()
  for folder in "${FROM[@]}"; do
    name=""
    for file in "$folder/model.pt" "$folder"/*/averaged.pt; do
      [[ -s $file ]] || continue
      name=${file%/*} name=${name##*/} name=${name%-seed*}
      name=$(tr -c 'a-z0-9_\n' _ <<<"${name,,}")
      [[ " ${BASELINES[*]} raw text download lock " != *" $name "* ]] || die "--from $folder: a model must not have the name $name"
      [[ ${PRETRAINED[$name]:-$folder} == "$folder" ]] || die "--from ${PRETRAINED[$name]} and $folder both have a model $name: rename one"
      [[ -n ${PRETRAINED[$name]:-} ]] || names+=("$name")
      PRETRAINED[$name]=$folder
      declare -ga "MODEL_${name^^}=()"
    done
    [[ -n $name ]] || die "--from must name folders with MODEL/averaged.pt or model.pt, but $folder has neither"
  done
  ((${#FROM[@]})) || die "--from must name a folder with pre-trained models"
  take_all "${names[@]}"
}

take_all() { # MODEL..., those that there are
  ALL_MODELS=$*
  [[ $MODELS != all ]] || MODELS=$*
}

# read_vocabulary: how text becomes pieces, as in the pre-training; all models of a work folder read the same ones.
read_vocabulary() {
  local settings folder first
  for folder in "${FROM[@]}"; do
    settings=$(python -m fairseq_rope_data.pretrained "$folder") || exit
    eval "$settings"
    first=${first:-$CODES:$DICTIONARY}
    if ! cmp --silent -- "${first%:*}" "$CODES" || ! cmp --silent -- "${first#*:}" "$DICTIONARY"; then
      die "--from ${FROM[0]} and $folder have other vocabularies: fine-tune them in work folders of their own"
    fi
  done
}

# pretrained_checkpoint MODEL SEED: that of the same seed; where there is none, the seeds that there are take turns.
pretrained_checkpoint() {
  local name=${TUNED_FROM[$1]:-$1} found files=() file folder
  folder=${PRETRAINED[$name]}
  if [[ ! -s $folder/model.pt ]]; then
    file=$folder/$name-seed$2/averaged.pt
    [[ $2 != 1 ]] || file=$folder/$name/averaged.pt
    if [[ ! -s $file ]]; then
      mapfile -t found < <(printf '%s\n' "$folder/$name"{,-seed*}/averaged.pt | sort --version-sort)
      for file in "${found[@]}"; do [[ ! -s $file ]] || files+=("$file"); done
      file=${files[($2 + ${#files[@]} - 1) % ${#files[@]}]}
    fi
  else
    file=$folder/model.pt
  fi
  printf '%s' "$file"
}

# read_all_pretrained: of all models the options that make them, once they fit vocabulary and length.
read_all_pretrained() {
  local name kept=()
  each_model read_pretrained
  each_found read_pretrained
  for name in $MODELS; do
    [[ -n ${LEFT_OUT[$name]:-} ]] || kept+=("$name")
  done
  ((${#kept[@]})) || die "no model of --from can read examples of other lengths than it has learned: give LENGTH that of its table"
  MODELS=${kept[*]}
}

read_pretrained() { # MODEL SEED
  local file length words allow=()
  [[ $MODELS != "$ALL_MODELS" ]] || allow=(--allow other-length)
  file=$(pretrained_checkpoint "$1" "$2") length=$(length_of "$1")
  [[ -z ${FITS["$length $file"]:-} ]] || return 0
  words=$(python -m fairseq_rope.tools.classify --pretrained "$file" --dictionary "$DICTIONARY" --length "$length" \
    "${allow[@]}") || exit
  if [[ -n $words ]]; then
    WORDS[$file]=$words FITS["$length $file"]=1
  elif [[ -z ${LEFT_OUT[$1]:-} ]]; then
    LEFT_OUT[$1]=1
    log "note: $1 is left out: its positions are a table of another length than $length"
  fi
}

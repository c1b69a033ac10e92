# Models by the names that the conf gives them: sourced by recipe.sh.
# shellcheck shell=bash
#
# MODEL_NAME=(...) are the options of fairseq-train that make a model of its own; --models calls it by its name in lower
# case, and its folder is $WORK/name, or $WORK/name-seed2 for another seed than 1.
# DECODED_NAME=(MODEL ...) is a model that is not trained: it translates with the checkpoint of MODEL, of the same seed, and
# with these options of fairseq-generate beside those of GENERATE. LONGEST in one of them becomes the tokens of the longest
# training example.
# AFTER_NAME=model lets the training of MODEL_NAME begin with the last checkpoint of that one, of the same seed, and
# BATCH_NAME=tokens gives it a batch of its own: stages of a training.

# conf_models NAMES: fill the array NAMES with all models of the conf, in the order of their names, the trained ones first.
conf_models() {
  local -n names_=$1
  local variable
  names_=()
  for variable in "${!MODEL_@}" "${!DECODED_@}"; do
    if [[ $variable == "${variable^^}" ]] && is_array "$variable"; then
      variable=${variable#MODEL_} variable=${variable#DECODED_}
      names_+=("${variable,,}")
    fi
  done
}

is_array() { # NAME
  [[ $(declare -p "$1" 2>/dev/null || true) == "declare -a"* ]]
}

# check_models: MODELS are names of models that the conf has.
check_models() {
  local known name base chosen seen=" "
  conf_models known
  for name in "${known[@]}"; do
    [[ ! $name =~ ^(raw|text|download|lock)$ ]] || die "a model's name must not be that of another file in WORK, but is $name"
    # of version 0.1.0, where MODEL_ was not there: its options would be left out in silence
    ! is_array "${name^^}" || die "--conf $CONF must set MODEL_${name^^}=(...), not ${name^^}=(...)"
    if ! is_trained "$name"; then
      ! is_array "MODEL_${name^^}" || die "--conf $CONF must set MODEL_${name^^} or DECODED_${name^^}, not both"
      base=$(trained_model "$name")
      is_array "MODEL_${base^^}" || die "DECODED_${name^^} must begin with a model that is trained, but begins with $(quoted "$base")"
    fi
  done
  read -r -d '' -a chosen <<<"$MODELS" || true
  ((${#chosen[@]})) || chosen=("")
  for name in "${chosen[@]}"; do
    [[ " ${known[*]} " == *" $name "* ]] ||
      die "--models must be of ${known[*]:-no name}, but is $(quoted "$MODELS"); a model is a MODEL_NAME=(...) of --conf $CONF"
    [[ $seen != *" $name "* ]] || die "--models must name each model once, but is $(quoted "$MODELS")"
    check_order "$name" "$seen" "${chosen[*]}"
    seen+="$name "
  done
  MODELS=${chosen[*]}
}

# check_order MODEL BEFORE ALL: a model that begins with another one stands after it, where both are trained.
check_order() {
  local first
  first=$(model_before "$(trained_model "$1")")
  [[ -n $first ]] || return 0
  is_array "MODEL_${first^^}" || die "AFTER_${1^^} must be a model that is trained, but is $(quoted "$first")"
  [[ " $3 " != *" $first "* || $2 == *" $first "* ]] ||
    die "--models must name $first before $1, which begins with it, but is $(quoted "$3")"
}

model_before() { # MODEL: the one whose checkpoint its training begins with, or nothing
  local name=AFTER_${1^^}
  printf '%s' "${!name:-}"
}

batch_tokens() { # MODEL
  local name=BATCH_${1^^}
  printf '%s' "${!name:-$BATCH_TOKENS}"
}

# trained_model MODEL: the one whose checkpoint it has.
trained_model() {
  local -n decoded=DECODED_${1^^}
  if is_array "DECODED_${1^^}"; then printf '%s' "${decoded[0]:-}"; else printf '%s' "$1"; fi
}

is_trained() { # MODEL
  ! is_array "DECODED_${1^^}"
}

# decode_options OPTIONS MODEL: fill the array OPTIONS with fairseq-generate's of this model.
decode_options() {
  local -n options_=$1 decoded=DECODED_${2^^}
  local longest
  options_=("${GENERATE[@]}")
  is_array "DECODED_${2^^}" || return 0
  options_+=("${decoded[@]:1}")
  [[ ${options_[*]} == *LONGEST* ]] || return 0
  longest=$(longest_example)
  options_=("${options_[@]//LONGEST/$longest}")
}

# longest_example: tokens of the longest line of training text of both languages, with the end of the sentence.
longest_example() {
  local file=$WORK/text/longest part=$WORK/text/longest.$BASHPID.part longest # models at once ask at once
  if [[ ! -s $file ]]; then
    # first all of it: a later run has another number, and leaves what is half-written
    longest=$(awk 'NF > most { most = NF } END { print most + 1 }' "$WORK/text/train."{"$SOURCE_LANG","$TARGET_LANG"})
    printf '%s\n' "$longest" >"$part" || { rm -f -- "$part" && die "cannot write $file"; }
    mv -- "$part" "$file"
  fi
  cat -- "$file"
}

all_models() { # MODELS are all of the conf
  local known
  conf_models known
  MODELS=${known[*]}
}

# each_model FUNCTION: call it with MODEL, SEED and DIR for each of MODELS and SEEDS, by stages, so that of models that are
# trained at once none waits for the one that it begins with while others could be trained.
each_model() {
  local seed model number stage=0 left=1
  while ((left)); do
    left=0
    for seed in ${SEEDS//,/ }; do
      for model in $MODELS; do
        number=$(stage_number "$model")
        ((number <= stage)) || left=1
        ((number != stage)) || "$1" "$model" "$seed" "$(model_dir "$model" "$seed")"
      done
    done
    ((++stage))
  done
}

# each_found FUNCTION [MODELS]: call it with MODEL, SEED and DIR for each of MODELS and all seeds that are there, SEEDS or not:
# they end in one table.
each_found() {
  local dir
  for dir in "$WORK"/*; do
    [[ ${dir##*/} =~ ^([a-z0-9_]+)(-seed([0-9]+))?$ && -d $dir && " ${2-$MODELS} " == *" ${BASH_REMATCH[1]} "* ]] || continue
    "$1" "${BASH_REMATCH[1]}" "${BASH_REMATCH[3]:-1}" "$dir"
  done
}

stage_number() { # MODEL: how many trainings there are before its own
  local before number=0
  before=$(model_before "$(trained_model "$1")")
  [[ -z $before ]] || number=$(($(stage_number "$before") + 1))
  printf '%s' "$number"
}

model_dir() { # [MODEL SEED], the first ones without them
  local model=${1:-${MODELS%% *}} seed=${2:-${SEEDS%%,*}}
  if [[ $seed == 1 ]]; then printf '%s' "$WORK/$model"; else printf '%s' "$WORK/$model-seed$seed"; fi
}

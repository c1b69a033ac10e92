# Models by the names that the conf gives them: sourced by recipe.sh.
# shellcheck shell=bash
#
# MODEL_NAME=(...) are the options of fairseq-train that make a model of its own; --models calls it by its name in lower
# case, and its folder is $WORK/name, or $WORK/name-seed2 for another seed than 1.

# conf_models NAMES: fill the array NAMES with all models of the conf, in the order of their names.
conf_models() {
  local -n names_=$1
  local variable
  names_=()
  for variable in "${!MODEL_@}"; do
    if [[ $variable == "${variable^^}" ]] && is_array "$variable"; then
      variable=${variable#MODEL_}
      names_+=("${variable,,}")
    fi
  done
}

is_array() { # NAME
  [[ $(declare -p "$1" 2>/dev/null || true) == "declare -a"* ]]
}

# check_models: MODELS are names of models that the conf has.
check_models() {
  local known name chosen seen=" "
  conf_models known
  for name in "${known[@]}"; do
    [[ ! $name =~ ^(raw|text|download|lock)$ ]] || die "a model's name must not be that of another file in WORK, but is $name"
    # of version 0.1.0, where MODEL_ was not there: its options would be left out in silence
    ! is_array "${name^^}" || die "--conf $CONF must set MODEL_${name^^}=(...), not ${name^^}=(...)"
  done
  read -r -d '' -a chosen <<<"$MODELS" || true
  ((${#chosen[@]})) || chosen=("")
  for name in "${chosen[@]}"; do
    [[ " ${known[*]} " == *" $name "* ]] ||
      die "--models must be of ${known[*]:-no name}, but is $(quoted "$MODELS"); a model is a MODEL_NAME=(...) of --conf $CONF"
    [[ $seen != *" $name "* ]] || die "--models must name each model once, but is $(quoted "$MODELS")"
    seen+="$name "
  done
  MODELS=${chosen[*]}
}

all_models() { # MODELS are all of the conf
  local known
  conf_models known
  MODELS=${known[*]}
}

# each_model FUNCTION: call it with MODEL, SEED and DIR for each of MODELS and SEEDS.
each_model() {
  local seed model
  for seed in ${SEEDS//,/ }; do
    for model in $MODELS; do
      "$1" "$model" "$seed" "$(model_dir "$model" "$seed")"
    done
  done
}

model_dir() { # [MODEL SEED], the first ones without them
  local model=${1:-${MODELS%% *}} seed=${2:-${SEEDS%%,*}}
  if [[ $seed == 1 ]]; then printf '%s' "$WORK/$model"; else printf '%s' "$WORK/$model-seed$seed"; fi
}

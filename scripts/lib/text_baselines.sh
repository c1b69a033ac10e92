# What is reached without a network, beside fine-tuned models: sourced by fine_tuning.sh.
# shellcheck shell=bash
#
# In:  $WORK/raw
# Out: $WORK/BASELINE with predictions and scores of the sets LABELED; for further seeds links to it

BASELINES=(majority bag_of_words)

# with_baselines COMMAND...: COMMAND, once they are there for all seeds. Runs of other models or seeds in this folder, which
# write and link them too, wait meanwhile.
with_baselines() {
  local fd
  exec {fd}>>"$WORK/${BASELINES[0]}.lock"
  ! command -v flock >/dev/null || flock "$fd" || true # where there are no locks, lock_work has said so
  write_baselines
  "$@"
  exec {fd}>&-
}

# write_baselines: their scores, the same for each seed, so that differences are paired by seed. They take seconds, so that
# those of other data are made anew.
write_baselines() {
  local name first dir file set record
  record=$(data_record)
  for name in "${BASELINES[@]}"; do
    first=$(model_dir "$name" "${SEEDS%%,*}")
    for dir in "$WORK/$name"{,-seed*}; do
      [[ $dir == "$first" && ! -L $dir ]] || rm -rf -- "$dir"
    done
    mkdir -p -- "$first"
    for file in "$first"/score-*.json; do
      [[ $(recorded "$file.settings") == "$record" ]] || rm -f -- "$file"
    done
    for set in "${LABELED[@]}"; do
      keep_record "$first/score-$set.json.settings" "$record"
      step "$first/score-$set.json" classify --baseline "${name//_/-}" --text "$WORK/raw" --subset "$set" \
        --output "$first/predictions-$set.tsv" --json
    done
    printf 'not trained: see fairseq-rope classify --help\n' >"$first/baseline.txt"
  done
  each_model link_baselines
  each_found link_baselines
}

link_baselines() { # MODEL SEED
  local name first dir
  for name in "${BASELINES[@]}"; do
    first=$(model_dir "$name" "${SEEDS%%,*}")
    dir=$(model_dir "$name" "$2")
    [[ $dir == "$first" ]] || ln -sfn -- "${first##*/}" "$dir"
  done
}

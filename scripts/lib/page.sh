# The page of an experiment, while it runs and at its end: sourced by recipe.sh.
# shellcheck shell=bash
#
# Out: $WORK/report.html  written again after each validation, and when the recipe ends or is stopped

FOLLOWER="" # the process group that writes it meanwhile

# follow_page MODEL...: begin to write it, the first model is the baseline; one alone stands beside what else there is.
follow_page() {
  (($# > 1)) || set --
  ((${NODE_RANK:-0} == 0)) || return 0
  set -m # a group of its own
  (
    trap - EXIT
    # it holds no lock, or a recipe that is called again would wait for it
    for fd in /proc/"$BASHPID"/fd/*; do
      fd=${fd##*/}
      ((fd <= 2)) || exec {fd}>&-
    done
    exec nice -n 19 python -m fairseq_rope_data.follow $$ "$WORK" \
      python -m fairseq_rope_data report "$WORK" --output "$WORK/report.html" ${1:+--so-far --models "$@"}
  ) </dev/null &>/dev/null & # who waits for the end of the recipe's output does not wait for it
  set +m
  FOLLOWER=$!
}

# write_page MODEL...: the last time; without models all that there are.
write_page() {
  if [[ -n $FOLLOWER ]]; then
    kill -TERM -- "-$FOLLOWER" 2>/dev/null || true
    wait "$FOLLOWER" 2>/dev/null || true
    FOLLOWER=""
  fi
  python -m fairseq_rope_data report "$WORK" --output "$WORK/report.html" ${1:+--models "$@"} >&2
  printf '\nThe page of this experiment: %s\n' "$WORK/report.html"
}

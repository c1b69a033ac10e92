# The page of an experiment, while it runs and at its end: sourced by recipe.sh.
# shellcheck shell=bash
#
# Out: $WORK/report.html  written again after each validation, and when the recipe ends or is stopped

FOLLOWER="" # the process that writes it meanwhile

# follow_page: begin to write it.
follow_page() {
  ((${NODE_RANK:-0} == 0)) || return 0
  (
    # it holds no lock, or a recipe that is called again would wait for it
    for fd in /proc/"$BASHPID"/fd/*; do
      fd=${fd##*/}
      ((fd <= 2)) || exec {fd}>&-
    done
    exec nice -n 19 python -m fairseq_rope.tools.report "$WORK" --output "$WORK/report.html" --follow $$
  ) </dev/null >&2 &
  FOLLOWER=$!
}

# write_page MODEL...: the last time; without models all that there are.
write_page() {
  kill "$FOLLOWER" 2>/dev/null || true
  wait "$FOLLOWER" 2>/dev/null || true
  python -m fairseq_rope.tools.report "$WORK" --output "$WORK/report.html" ${1:+--models "$@"} >&2
  printf '\nThe page of this experiment: %s\n' "$WORK/report.html"
}

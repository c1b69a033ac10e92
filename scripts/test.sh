#!/usr/bin/env bash
# Run every check of the project: ruff, mypy, shellcheck, shfmt, pytest and a part of the fault harness. All are run; the
# status is 1 when one fails.
#
# Usage: bash scripts/test.sh [--quick | --fairseq-0.12.2] [-- PYTEST-ARGUMENTS]
#        bash scripts/test.sh --faults [N] [--seed S]
#
#   --quick            ruff, mypy, shellcheck, shfmt and the tests of the level `unit`; the levels `process` (starts
#                      programs) and `system` (trains, builds, runs recipes) are left out: -- -m process runs one of them
#   --faults           only the fault harness, all of it, with N kills (50); docs/faults.md says what it does
#   --seed S           its random numbers: those of an earlier run, which has printed S
#   --fairseq-0.12.2   only the core tests, with fairseq's release, on a Python 3.10 in an environment of its own
#                      (.venv-fairseq-0.12.2); status 3 where no Python 3.10 is installed
#   --help             print this text
#   --                 what follows goes to pytest; the fault harness is left out
#
# Makes its environment (.venv, or $FAIRSEQ_ROPE_ENV; `none` keeps the current python) the first time.
# Expected time on two AMD Zen 4 cores: installation 1 to 5 minutes, once; the checks 21 minutes, of them 4 the fault
# harness; --quick 2 minutes; --faults about 20.
#
# Example: bash scripts/test.sh -- tests/modules -k cache
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"

failed=()

# check NAME CMD...: run one check, log its time, remember its failure.
check() {
  local name=$1 start=$SECONDS verdict=passed
  shift
  log "$name: $*"
  "$@" || verdict="FAILED with status $?"
  [[ $verdict == passed ]] || failed+=("$name")
  log "$name $verdict after $((SECONDS - start)) s"
}

# lint: the checks that need no data and no torch.
lint() {
  local files=()
  shopt -s globstar nullglob
  files=(scripts/**/*.sh data-prep/**/*.sh tests/**/*.sh .ci/run)
  check "ruff check" python -m ruff check .
  check "ruff format" python -m ruff format --check .
  check mypy python -m mypy fairseq_rope data-prep/fairseq_rope_data scripts
  # each file is read with all that it sources, which takes a second: as many at once as there are cores
  check shellcheck xargs -0 -n 4 -P "$(nproc)" shellcheck --external-sources < <(printf '%s\0' "${files[@]}")
  check shfmt shfmt -i 2 -ci -d "${files[@]}"
}

core="" quick="" kills="" seed=()
pytest_args=()
while (($#)); do
  case $1 in
    --help | -h) usage_from_header && exit ;;
    --fairseq-0.12.2) core=1 ;;
    --quick) quick=1 ;;
    --faults)
      kills=50
      if [[ ${2:-} =~ ^[1-9][0-9]*$ ]]; then kills=$2 && shift; fi
      ;;
    --seed)
      [[ -n $kills && ${2:-} =~ ^[0-9]+$ ]] || die "--seed must follow --faults and be a number, but is ${2:-missing}"
      seed=(--seed "$2") && shift
      ;;
    --) pytest_args=("${@:2}") && break ;;
    *) die "an argument must be --quick, --fairseq-0.12.2, --help or -- and pytest's own, or --faults, but is $1" ;;
  esac
  shift
done

if [[ -n $kills ]]; then
  setup_env "" dev
  cd "$ROOT"
  exec python -m tests.faults --kills "$kills" "${seed[@]}"
fi

if [[ -n $core ]]; then
  if ! find_python 3.10 >/dev/null; then
    log "skip the tests with fairseq 0.12.2: it imports only on Python 3.10"
    exit 3
  fi
  setup_env "$ROOT/.venv-fairseq-0.12.2" dev 3.10
  cd "$ROOT"
  # left out: what the version of fairseq has no part in, and minutes of training that test_learns.py stands for
  pytest_args=(--ignore=tests/recipes --ignore=tests/data_prep --ignore=tests/benchmarks --ignore=tests/page
    --ignore=tests/models/test_methods_learn.py --ignore=tests/test_docs.py --ignore=tests/test_readme.py
    --ignore=tests/test_rules.py --ignore=tests/test_kept_results.py
    --ignore=tests/compat/test_heap.py --ignore=tests/compat/test_openmp.py --ignore=tests/compat/test_product_caches.py
    --ignore=tests/checkpoints/test_repair_killed.py "${pytest_args[@]}")
else
  setup_env "" dev
  cd "$ROOT"
  lint
fi
[[ -z $quick ]] || pytest_args=(-m unit "${pytest_args[@]}")
log "versions: $(python -V), $(python -m pip list --format=freeze | grep -E -i '^(fairseq(-fixed)?|torch|numpy)==' | paste -s -d ' ')"
# three processes for two cores, as recipes wait a third of their time; each of one thread, as more would wait for each
# other, and with whole files in the order of conftest.py
check pytest env OMP_NUM_THREADS=1 python -m pytest --numprocesses $((($(nproc) * 3 + 1) / 2)) --dist loadfile --no-loadscope-reorder "${pytest_args[@]}"
# with another seed each time, which it prints
[[ -n $core ]] || ((${#pytest_args[@]})) || check faults python -m tests.faults --quick

((${#failed[@]} == 0)) || die "failed: ${failed[*]}"

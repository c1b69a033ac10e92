#!/usr/bin/env bash
# On a machine with an NVIDIA GPU and PyTorch, and nothing else: install what is needed beside that PyTorch, check the rotary
# model against the float64 reference in fp32, bf16 and fp16, and run the benchmark, all in under 10 minutes.
#
# Usage: bash scripts/benchmark_gpu.sh [--smoke]
#        bash scripts/benchmark_gpu.sh --wheels DIR
#
#   --smoke        every step once on a tiny model, also without a GPU
#   --wheels DIR   only build the wheels, for a machine without internet or compiler. To be run with the same version of
#                  Python and kind of processor as that machine's; its PyTorch may be another, for a CPU too. What that
#                  machine has already, NumPy say, may be deleted from DIR
#
# Set:  PYTHON  a Python 3.11 to 3.13 that has PyTorch and pip (python3)
#       WHEELS  folder made with --wheels, whose files are installed without internet; without it they are built first, which
#               takes minutes, internet, a C++ compiler and Python's headers
#       WORK    folder for packages and synthetic data (runs/benchmark_gpu)
#       OUT     folder for the results ($WORK)
# Out:  $OUT/check.txt, $OUT/table.md, and $OUT/NAME.json for each line of scripts/conf/benchmark_gpu.env
# Nothing is installed outside $WORK, and nothing of the GPU's settings is changed.
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"
# shellcheck source=scripts/conf/benchmark_gpu.env
source "$ROOT/scripts/conf/benchmark_gpu.env"

# what fairseq-fixed requires, less torch, and torchaudio, which translation never imports
REQUIREMENTS=(bitarray cffi hydra-core numpy omegaconf packaging regex sacrebleu scikit-learn tqdm)

# torch without NumPy, fairseq on today's torch: they warn at every start
export PYTHONWARNINGS=ignore PIP_DISABLE_PIP_VERSION_CHECK=1
PYTHON=${PYTHON:-python3}
WORK=${WORK:-$ROOT/runs/benchmark_gpu}
OUT=${OUT:-$WORK}

# require_python: PYTHON has torch and pip and is one that fairseq-fixed runs on; print its version and processor.
require_python() {
  local kind
  kind=$("$PYTHON" -c 'import platform, sys; print("%d.%d" % sys.version_info[:2], platform.machine())') ||
    die "PYTHON must be a Python 3.11 to 3.13, but $PYTHON does not run"
  [[ $kind == 3.1[1-3]" "* ]] || die "PYTHON must be a Python 3.11 to 3.13, but $PYTHON is $kind"
  "$PYTHON" -c 'import torch' || die "PYTHON must have PyTorch, but $PYTHON has not"
  "$PYTHON" -m pip --version >/dev/null || die "PYTHON must have pip, but $PYTHON has not"
  printf '%s\n' "$kind"
}

# make_wheels DIR KIND: build or fetch everything but PyTorch; the file `made-for`, written last, says it is complete.
make_wheels() {
  local dir=$1 kind=$2 tools
  if [[ -s $dir/made-for && $(<"$dir/made-for") == "$kind" ]]; then
    log "have $dir"
    return
  fi
  require_compiler
  "$PYTHON" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ||
    die "fairseq needs Python's headers (Python.h), but $PYTHON has none (Debian: python3-dev)"
  mkdir -p -- "$dir"
  rm -f -- "$dir/made-for"
  log "make wheels in $dir, about three minutes"
  pip_pinned "$PYTHON" wheel --quiet --wheel-dir "$dir" "${REQUIREMENTS[@]}"
  tools=$(mktemp -d)
  pip_pinned "$PYTHON" install --quiet --no-deps --target "$tools" cython numpy setuptools wheel
  # not isolated: its isolated build would download a second torch
  PYTHONPATH=$tools pip_pinned "$PYTHON" wheel --quiet --no-deps --no-build-isolation --wheel-dir "$dir" fairseq-fixed
  rm -rf -- "$tools"
  printf '%s\n' "$kind" >"$dir/made-for"
}

# install_wheels DIR KIND: into $WORK/site, which stands beside what PYTHON has.
install_wheels() {
  local dir=$1 kind=$2 site=$WORK/site
  [[ -s $dir/made-for ]] || die "WHEELS must be a folder made by benchmark_gpu.sh --wheels, but $dir is none, or incomplete"
  [[ $(<"$dir/made-for") == "$kind" ]] || die "WHEELS must be for the Python of this machine, $kind, but $dir is for $(<"$dir/made-for")"
  if [[ ! -d $site ]]; then
    log "install from $dir"
    rm -rf -- "$site.part"
    dir=$(cd "$dir" && pwd) # pip runs elsewhere
    pip_pinned "$PYTHON" install --quiet --no-index --no-deps --target "$site.part" "$dir"/*.whl
    mv -- "$site.part" "$site"
  fi
  export PYTHONPATH=$site:$ROOT:$ROOT/data-prep:$ROOT/scripts
  "$PYTHON" -c 'import logging; logging.disable(); import fairseq_cli.train, fairseq.data.data_utils_fast' ||
    die "fairseq does not start with what is in $dir and in $PYTHON"
}

# benchmark NAME ARGUMENTS: run one into $OUT/NAME.json and the table, if there is time; one that fails is remembered.
benchmark() {
  local name=$1 words status=0 seconds=$((MINUTES * 60 - 90 - SECONDS)) # that much for what has begun
  if ((seconds <= 0)); then
    log "left out, the time is over: $name"
    return
  fi
  read -ra words <<<"$2"
  log "benchmark $name: $2"
  "$PYTHON" "$ROOT/scripts/benchmark.py" "${words[@]}" --minutes "$((seconds / 60)).$((seconds % 60 * 10 / 60))" \
    --work "$WORK/data" --output "$OUT/$name.json" >>"$OUT/table.md" || status=$?
  printf '\n' >>"$OUT/table.md"
  ((status == 0)) || failed+=("$name")
}

smoke=0
case ${1:-} in
  --help | -h) usage_from_header && exit ;;
  --wheels)
    (($# == 2)) || die "--wheels takes one folder"
    kind=$(require_python)
    make_wheels "$2" "$kind"
    exit
    ;;
  --smoke) smoke=1 ;;
  "") ;;
  *) die "the argument must be --smoke, --wheels or --help, but is $1" ;;
esac

kind=$(require_python)
if ((smoke)); then
  BENCHMARKS=("${SMOKE[@]}")
elif ! "$PYTHON" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then
  die "there is no GPU that the PyTorch of $PYTHON can use; --smoke runs every step on the CPU"
fi
mkdir -p -- "$WORK" "$OUT"
if [[ -z ${WHEELS:-} ]]; then
  WHEELS=$WORK/wheels
  make_wheels "$WHEELS" "$kind"
  SECONDS=0 # building is not counted
fi
install_wheels "$WHEELS" "$kind"

log "check against the float64 reference"
"$PYTHON" -m tests.gpu.check_against_reference | tee "$OUT/check.txt" >&2

failed=()
: >"$OUT/table.md"
for line in "${BENCHMARKS[@]}"; do
  benchmark "${line%% *}" "${line#* }"
done
cat -- "$OUT/table.md"
log "done in $SECONDS s: $OUT/table.md"
((${#failed[@]} == 0)) || die "failed: ${failed[*]}"

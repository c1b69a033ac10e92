# The Python environment of all scripts: found, made, completed. `source` it; recipes source recipe.sh, which does.
# shellcheck shell=bash

# shellcheck source=scripts/lib/base.sh
source "$(dirname "${BASH_SOURCE[0]}")/base.sh"

# python_fits EXE [VERSION]: EXE is a Python 3.10 to 3.13 (or just VERSION) that can make environments and build extensions.
python_fits() {
  "$1" - "${2:-}" >/dev/null 2>&1 <<'PY'
import ensurepip, os, sys, sysconfig, venv
version = "%d.%d" % sys.version_info[:2]
header = os.path.join(sysconfig.get_path("include"), "Python.h")
fits = version in ("3.10", "3.11", "3.12", "3.13") and sys.argv[1] in ("", version) and os.path.exists(header)
sys.exit(not fits)
PY
}

# find_python [VERSION]: print the first Python that fits (VERSION such as 3.10; any of 3.10 to 3.13 without it).
# Tries $PYTHON, then the PATH, then what pyenv has installed. Status 1 when there is none.
find_python() {
  local version=${1:-} name
  if [[ -n ${PYTHON:-} ]]; then
    if python_fits "$PYTHON" "$version"; then
      command -v "$PYTHON"
      return
    elif [[ -z $version ]]; then
      log "PYTHON must be a Python 3.10 to 3.13 with venv and headers (Python.h), but is $PYTHON"
      return 1
    fi
  fi
  for name in python3 python3.13 python3.12 python3.11 python3.10 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[0-3].*/bin/python3; do
    if python_fits "$name" "$version"; then
      command -v "$name"
      return
    fi
  done
  log "no Python ${version:-3.10 to 3.13} with venv and headers (Python.h) is installed;" \
    "install one (Debian: python3-dev python3-venv), or name it with PYTHON=/path/to/python3"
  return 1
}

# env_stamp PYTHON: a hash of all that an environment depends on.
env_stamp() {
  "$1" - "$ROOT" "${TORCH_INDEX_URL:-}" <<'PY'
import hashlib, pathlib, sys
root = pathlib.Path(sys.argv[1])
facts = [sys.version, *sys.argv[1:], *((root / name).read_text() for name in ("pyproject.toml", "constraints.txt"))]
print(hashlib.sha256("\n".join(facts).encode()).hexdigest())
PY
}

# env_is_complete DIR [EXTRAS] [VERSION]: its stamp, written last, has today's hash and every one of EXTRAS.
# The stamp's lines: the hash, then one line for each extra.
env_is_complete() {
  local dir=$1 extras=${2:-} extra hash
  [[ -s $dir/stamp ]] && python_fits "$dir/bin/python" "${3:-}" || return 1
  hash=$(env_stamp "$dir/bin/python") || return 1
  for extra in "$hash" ${extras//,/ }; do
    grep -qxF -- "$extra" "$dir/stamp" || return 1
  done
}

# require_compiler: fairseq is a source distribution, in C++.
require_compiler() {
  local name
  for name in "${CXX:-c++}" c++ g++ clang++; do
    # CXX may carry a wrapper or flags: its first word is the program
    if command -v "${name%% *}" >/dev/null; then return; fi
  done
  die "fairseq needs a C++ compiler (c++, g++ or clang++), but none is on the PATH; install one (Debian: g++)"
}

# make_venv DIR [VERSION]: keep a healthy environment of ours, else make a new one.
make_venv() {
  local dir=$1 version=${2:-} python site
  if [[ -e $dir && ! -e $dir/fairseq_rope.env ]] && [[ -n $(ls -A "$dir") ]]; then
    die "FAIRSEQ_ROPE_ENV must be a new folder or one made here, but is $dir; to use that environment, activate it and set FAIRSEQ_ROPE_ENV=none"
  fi
  if python_fits "$dir/bin/python" "$version" && "$dir/bin/python" -m pip --version >/dev/null 2>&1; then
    site=$("$dir/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    # pip writes INSTALLER after a package's files: what lacks it was interrupted and is installed again.
    find "$site" -maxdepth 1 -name '*.dist-info' ! -exec test -e '{}/INSTALLER' \; -exec rm -rf -- '{}' +
    find "$site" -maxdepth 1 -name '~*' -exec rm -rf -- '{}' +
    return
  fi
  python=$(find_python "$version") || die "no Python for the environment $dir"
  log "make the environment $dir with $python ($("$python" -V))"
  rm -rf -- "$dir"
  mkdir -p -- "$dir"
  : >"$dir/fairseq_rope.env" # marks the folder as ours, before anything else is in it
  "$python" -m venv "$dir"
}

# pip_pinned PYTHON ARGUMENT...: pip with the pinned versions, inside isolated builds too (PIP_CONSTRAINT reaches them, -c
# does not). The file is named relative to $ROOT because pip splits the variable at spaces.
pip_pinned() {
  # without CUDA_HOME: with it fairseq builds CUDA extensions that translation never uses, and needs nvcc
  (cd "$ROOT" && env -u CUDA_HOME PIP_CONSTRAINT="${PIP_CONSTRAINT:+$PIP_CONSTRAINT }constraints.txt" "$1" -m pip "${@:2}" >&2)
}

pip_install() { # PYTHON WHAT...
  local quiet=()
  [[ -t 2 ]] || quiet=(--quiet)
  pip_pinned "$1" install "${quiet[@]}" "${@:2}"
}

# install_all PYTHON EXTRAS: into the environment of that interpreter.
install_all() {
  local python=$1 extras=$2
  log "install pip, setuptools and wheel"
  pip_install "$python" pip setuptools wheel
  log "install torch"
  # --no-deps: such an index holds torch, but not the pinned versions of what torch needs
  [[ -z ${TORCH_INDEX_URL:-} ]] || pip_install "$python" --no-deps --index-url "$TORCH_INDEX_URL" torch
  pip_install "$python" torch numpy cython cffi
  log "install fairseq: built from source, one to two minutes the first time"
  # setuptools compiles one extension after the other unless it is told how many at once
  printf '[build_ext]\nparallel = %s\n' "$(nproc || echo 1)" >"${python%/bin/python}/build.cfg"
  local -x DIST_EXTRA_CONFIG=${DIST_EXTRA_CONFIG:-${python%/bin/python}/build.cfg}
  if python_fits "$python" 3.10; then
    # isolated: with torch in sight 0.12.2 wants to build extensions whose sources are not in the distribution
    pip_install "$python" fairseq
  else
    # not isolated: its isolated build would download a second torch
    pip_install "$python" --no-build-isolation fairseq-fixed
  fi
  log "install fairseq_rope${extras:+ with $extras}"
  pip_install "$python" --no-build-isolation --editable ".${extras:+[$extras]}"
  "$python" -c 'import logging; logging.disable(); import fairseq_cli.train, fairseq.data.data_utils_fast'
}

# complete_env DIR EXTRAS VERSION: make or complete an environment and stamp it.
complete_env() {
  local dir=$1 extras=$2 version=$3 start=$SECONDS kept="" parent
  parent=$(dirname -- "$dir")
  mkdir -p -- "$parent" 2>/dev/null && [[ -w $parent ]] ||
    die "FAIRSEQ_ROPE_ENV must be a folder that can be made, but is $dir; choose another one, or none for an environment of your own"
  (
    # Two scripts started together: the second waits. The lock goes with its holder, however that ends.
    if command -v flock >/dev/null; then flock 9; fi
    if env_is_complete "$dir" "$extras" "$version"; then exit; fi
    make_venv "$dir" "$version"
    if env_is_complete "$dir"; then kept=$(sed 1d "$dir/stamp"); fi # extras that stay installed
    rm -f -- "$dir/stamp"
    install_all "$dir/bin/python" "$extras"
    env_stamp "$dir/bin/python" >"$dir/stamp.part"
    printf '%s\n' "$kept" "${extras//,/$'\n'}" >>"$dir/stamp.part"
    mv -- "$dir/stamp.part" "$dir/stamp"
    log "the environment $dir is complete after $((SECONDS - start)) s"
  ) 9>"$dir.lock"
}

# has_packages: `python` has the packages; they are found, not imported, which takes seconds.
has_packages() {
  python -c 'from importlib.util import find_spec as f; raise SystemExit(not all(map(f, ("torch", "fairseq", "fairseq_rope"))))'
}

# setup_env [DIR] [EXTRAS] [VERSION]: put a complete environment first on the PATH; `python` is then its interpreter.
# DIR is $FAIRSEQ_ROPE_ENV or .venv by default; EXTRAS are of pyproject.toml, as data,plot; only data, which prepares text,
# by default; VERSION is as for find_python.
# Safe to interrupt and to run again: the stamp is written last, and an environment without the right one is completed.
# FAIRSEQ_ROPE_ENV=none keeps the current `python`. TORCH_INDEX_URL is where torch alone comes from: on a
# machine without a GPU https://download.pytorch.org/whl/cpu saves several GB.
setup_env() {
  local dir=${1:-${FAIRSEQ_ROPE_ENV:-$ROOT/.venv}} extras=${2:-data} version=${3:-} python
  if [[ $dir == none ]]; then
    has_packages || die "FAIRSEQ_ROPE_ENV=none needs a \`python\` with fairseq_rope installed"
    return
  fi
  [[ $dir == /* ]] || dir=$PWD/$dir
  if [[ -n ${PYTHON:-} && -z $version ]]; then
    python=$(find_python) || die "no Python for the environment $dir"
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  fi
  if ! env_is_complete "$dir" "$extras" "$version"; then
    require_compiler
    complete_env "$dir" "$extras" "$version"
  fi
  export VIRTUAL_ENV=$dir PATH="$dir/bin:$PATH"
  unset PYTHONHOME
}

#!/usr/bin/env bash
# Make the environment of eole, or complete it: the versions of requirements.txt, beside it, in a folder of their own.
#
# Usage: bash scripts/benchmarks/peer/environment.sh DIR
#
# Set:  PYTHON           a Python 3.11 to 3.13 (the first on the PATH)
#       TORCH_INDEX_URL  where torch alone comes from: see scripts/lib/env.sh
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../lib/env.sh"

[[ ${1:-} != --help ]] || { usage_from_header && exit; }
(($# == 1)) || die "one folder must be named, see the head of the script"
dir=$1 pins=$ROOT/scripts/benchmarks/peer/requirements.txt
hash=$(cksum <"$pins")
[[ ! -s $dir/stamp || $(<"$dir/stamp") != "$hash" ]] || exit 0

version=""
for minor in 11 12 13; do # eole needs 3.11
  if find_python "3.$minor" >/dev/null 2>&1; then
    version=3.$minor
    break
  fi
done
[[ -n $version ]] || die "eole needs a Python 3.11 to 3.13 with venv and headers; name it with PYTHON=/path/to/python3"
make_venv "$dir" "$version"
rm -f -- "$dir/stamp"
log "install eole into $dir: about 2 GB, once"
torch=$(grep '^torch==' "$pins")
install=("$dir/bin/python" -m pip install --quiet)
[[ -z ${TORCH_INDEX_URL:-} ]] || "${install[@]}" --no-deps --index-url "$TORCH_INDEX_URL" "$torch" >&2 ||
  die "$torch cannot be installed from TORCH_INDEX_URL, $TORCH_INDEX_URL"
"${install[@]}" --requirement "$pins" >&2 || die "eole cannot be installed: is the package index within reach?"
printf '%s\n' "$hash" >"$dir/stamp.part"
mv -- "$dir/stamp.part" "$dir/stamp"

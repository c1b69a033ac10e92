#!/usr/bin/env bash
# CAIL2019-SCM, its JSON lines to binarized data in the vocabulary of a pre-trained model.
#
# Usage: bash data-prep/prepare_scm.sh --train FILE --valid FILE [--test FILE] --from FOLDER [OPTIONS]
#
#   --train, --valid, --test, --sample, --from: see run_scm.sh --help
#
# Out:  $WORK/raw, text, data-bin and manifest.json; WORK is runs/scm
set -euo pipefail
# shellcheck source=scripts/lib/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/recipe.sh"
# shellcheck source=scripts/lib/scm.sh
source "$ROOT/scripts/lib/scm.sh"

own_option() { scm_option "$@"; }

STAGES=(prepare)
parse_options scm "$@"
name_scm
prepare_fine_tuning

#!/usr/bin/env bash
# A task of GLUE, its own files to binarized data in the vocabulary of a pre-trained model.
#
# Usage: bash data-prep/prepare_glue.sh --task TASK --data DIR --from FOLDER [OPTIONS]
#
#   --task, --data, --from, --sample, --dev-last: see run_glue.sh --help
#
# Out:  $WORK/raw, text, data-bin and manifest.json; WORK is runs/glue-TASK
set -euo pipefail
# shellcheck source=scripts/lib/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/recipe.sh"
# shellcheck source=scripts/lib/glue.sh
source "$ROOT/scripts/lib/glue.sh"

own_option() { glue_option "$@"; }

STAGES=(prepare)
parse_options glue "$@"
name_work
prepare_fine_tuning

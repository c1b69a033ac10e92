# What all recipes and preparations are made of: they `source` this file, and it sources the others.
# shellcheck shell=bash

# shellcheck source=scripts/lib/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
# shellcheck source=scripts/lib/command.sh
source "$ROOT/scripts/lib/command.sh"
remember_command "$@" # those of the script that sources this file
# shellcheck source=scripts/lib/options.sh
source "$ROOT/scripts/lib/options.sh"
# shellcheck source=scripts/lib/settings.sh
source "$ROOT/scripts/lib/settings.sh"
# shellcheck source=scripts/lib/models.sh
source "$ROOT/scripts/lib/models.sh"
# shellcheck source=scripts/lib/own_files.sh
source "$ROOT/scripts/lib/own_files.sh"
# shellcheck source=scripts/lib/hardware.sh
source "$ROOT/scripts/lib/hardware.sh"
# shellcheck source=scripts/lib/batch.sh
source "$ROOT/scripts/lib/batch.sh"
# shellcheck source=scripts/lib/lock.sh
source "$ROOT/scripts/lib/lock.sh"
# shellcheck source=scripts/lib/records.sh
source "$ROOT/scripts/lib/records.sh"
# shellcheck source=scripts/lib/download.sh
source "$ROOT/scripts/lib/download.sh"
# shellcheck source=scripts/lib/pieces.sh
source "$ROOT/scripts/lib/pieces.sh"
# shellcheck source=scripts/lib/pipeline.sh
source "$ROOT/scripts/lib/pipeline.sh"
# shellcheck source=scripts/lib/binarize.sh
source "$ROOT/scripts/lib/binarize.sh"
# shellcheck source=scripts/lib/training.sh
source "$ROOT/scripts/lib/training.sh"
# shellcheck source=scripts/lib/evaluate_translation.sh
source "$ROOT/scripts/lib/evaluate_translation.sh"
# shellcheck source=scripts/lib/page.sh
source "$ROOT/scripts/lib/page.sh"
# shellcheck source=scripts/lib/parallel.sh
source "$ROOT/scripts/lib/parallel.sh"
# shellcheck source=scripts/lib/stages.sh
source "$ROOT/scripts/lib/stages.sh"

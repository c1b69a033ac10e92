# The batch of a model on any hardware: sourced by recipe.sh.
# shellcheck shell=bash
#
# Settings: BATCH_TOKENS, or BATCH_NAME of a model; MAX_TOKENS; GPUS and NODES, see hardware.sh
# Running text is in blocks of --tokens-per-sample. A batch has whole blocks, so they are counted: of tokens that are
# shared by GPUs and parts of an update fairseq would leave out what fills no block, up to half of the batch.

# model_batch OPTIONS MODEL OPTION...: fill the array OPTIONS with those by which all GPUs together take the batch of
# MODEL, which is trained with each OPTION. No local of these functions may be named as that array.
model_batch() {
  local block total
  block=$(block_tokens "${@:3}") total=$(batch_tokens "$2")
  if [[ -z $block ]]; then
    batch_options "$1" "$total" "$MAX_TOKENS"
    return
  fi
  block_batches "$1" "$2" "$block"
  local -n shown_=$1
  log "a batch of $total tokens: $(workers) x ${shown_[*]:0:2} x ${shown_[*]:2} = $((total / block)) blocks of $block tokens"
}

# block_tokens OPTION...: tokens of a block where a training with these options has text in blocks of a size, or nothing.
block_tokens() {
  local mode block
  mode=$(option_value --sample-break-mode "$@") block=$(option_value --tokens-per-sample "$@")
  [[ -n $TARGET_LANG || ${mode:-none} != none ]] || printf '%s' "${block:-1024}" # fairseq's default
}

# workers: GPUs of all nodes; the CPU counts as one, and so do GPUs that are not known yet.
workers() {
  printf '%s' "$(((${GPUS:-0} ? GPUS : 1) * NODES))"
}

# batch_options OPTIONS BATCH_TOKENS MAX_TOKENS: fill the array OPTIONS with those by which all GPUs together take
# BATCH_TOKENS an update and none more than MAX_TOKENS at once.
batch_options() {
  local -n options_=$1
  local total=$2 most=$3 workers frequency tokens
  workers=$(workers)
  frequency=$(((total + workers * most - 1) / (workers * most)))
  tokens=$((total / (workers * frequency)))
  ((tokens > 0)) || die "a batch of $total tokens cannot be shared by $workers GPUs"
  log "a batch of $total tokens: $workers x --max-tokens $tokens x --update-freq $frequency = $((workers * tokens * frequency))"
  # shellcheck disable=SC2034  # the caller reads it
  options_=(--max-tokens "$tokens" --update-freq "$frequency")
}

# block_batches OPTIONS MODEL BLOCK: the same for a model with blocks of so many tokens, which no GPU and no part of an
# update has more of than another.
block_batches() {
  local -n shared_=$1
  local name=BATCH_${2^^} total block=$3 blocks workers share frequency
  [[ -n ${!name:-} ]] || name=BATCH_TOKENS
  total=$(batch_tokens "$2") workers=$(workers)
  blocks=$((total / block))
  ((blocks)) || die "$name must hold a block of $2, $block tokens, but is $total"
  ((MAX_TOKENS >= block)) || die "MAX_TOKENS must hold a block of $2, $block tokens, but is $MAX_TOKENS"
  ((blocks % workers == 0)) ||
    die "$name must be shared evenly by $workers GPUs, but is $blocks block(s) of $block tokens for $2: set GPUS to a number that divides them"
  share=$((blocks / workers)) frequency=$(((blocks - 1) / (workers * (MAX_TOKENS / block)) + 1))
  while ((share % frequency)); do ((++frequency)); done
  # shellcheck disable=SC2034  # the caller reads it
  shared_=(--batch-size "$((share / frequency))" --update-freq "$frequency")
}

# check_batches: all models that are still to be trained have a batch, as far as the hardware is known.
check_batches() {
  ! has_stage train || each_model check_batch
}

check_batch() { # MODEL SEED DIR
  # shellcheck disable=SC2034  # batch is only to be had
  local options batch block name=BATCH_${1^^}
  is_trained "$1" && [[ ! -f $3/trained ]] || return 0
  [[ -z ${!name:-} ]] || check_number "$name" 1
  train_options options "$1" "$2"
  check_option "$1" --tokens-per-sample 2 "${options[@]}"
  block=$(block_tokens "${options[@]}")
  [[ -z $block ]] || block_batches batch "$1" "$block"
}

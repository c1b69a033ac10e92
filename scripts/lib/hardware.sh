# Which GPUs, nodes and dtype a training uses, and how it is launched: sourced by recipe.sh.
# shellcheck shell=bash
#
# Set:  GPUS       GPUs of this node (all that torch sees; 0 trains on the CPU)
#       PRECISION  bf16, fp16 or fp32 (the first of these that all GPUs of this node compute fast); a training that was
#                  begun in fp32 goes on in fp32, and another in bf16 or fp16
#       NODES, NODE_RANK, MASTER_ADDR, MASTER_PORT  several nodes: the same command on each, with its own NODE_RANK from 0
#                  (1, 0, -, 29500); in a step of SLURM with one task a node they are known
# A batch is BATCH_TOKENS whatever the hardware: see batch.sh.

# check_hardware: what is set can be, and what needs no torch to be known is set.
check_hardware() {
  NODES=${NODES:-${SLURM_NNODES:-1}} NODE_RANK=${NODE_RANK:-${SLURM_NODEID:-0}} MASTER_PORT=${MASTER_PORT:-29500}
  [[ ${GPUS:-0} =~ ^(0|[1-9][0-9]{0,4})$ ]] || die "GPUS must be a number, but is $GPUS"
  [[ ${PRECISION:-fp32} =~ ^(bf16|fp16|fp32)$ ]] || die "PRECISION must be bf16, fp16 or fp32, but is $PRECISION"
  [[ $NODES =~ ^[1-9][0-9]{0,4}$ ]] || die "NODES must be a number from 1, but is $NODES"
  [[ $NODE_RANK =~ ^(0|[1-9][0-9]{0,4})$ && $NODE_RANK -lt $NODES ]] ||
    die "NODE_RANK must be a number from 0 to NODES - 1, but is $NODE_RANK with $NODES nodes"
  [[ $MASTER_PORT =~ ^[1-9][0-9]{0,4}$ && $MASTER_PORT -le 65535 ]] ||
    die "MASTER_PORT must be a number from 1 to 65535, but is $MASTER_PORT"
  ((NODES == 1)) || [[ -n ${MASTER_ADDR:-${SLURM_JOB_NODELIST:-}} ]] ||
    die "$NODES nodes need MASTER_ADDR, the address of the node with NODE_RANK 0"
  ((NODES == 1 || ${GPUS:-1} > 0)) || die "several nodes need GPUs, but GPUS is $GPUS"
}

# find_hardware: set what is not set.
find_hardware() {
  local probe
  check_hardware
  if [[ -z ${GPUS:-} || -z ${PRECISION:-} ]]; then
    # bf16 has units of its own from Ampere (8.0) on, fp16 from Volta (7.0) on
    probe=$(
      python - <<'PY'
import torch
gpus = range(torch.cuda.device_count())
capability = min(map(torch.cuda.get_device_capability, gpus), default=(0, 0))
print(len(gpus), "bf16" if capability >= (8, 0) else "fp16" if capability >= (7, 0) else "fp32")
PY
    )
    ((${GPUS:-0} <= ${probe% *})) || die "GPUS must be at most ${probe% *}, which torch sees on this machine, but is $GPUS"
    GPUS=${GPUS:-${probe% *}} PRECISION=${PRECISION:-${probe#* }}
    check_hardware # that several nodes have GPUs
  fi
  if ((NODES > 1)) && [[ -z ${MASTER_ADDR:-} ]]; then
    MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
  fi
}

# launch_training OPTION...: fairseq-train on all GPUs of all nodes.
launch_training() {
  local launcher=()
  if ((NODES * GPUS > 1)); then
    launcher=(torchrun --nnodes "$NODES" --node-rank "$NODE_RANK" --nproc-per-node "$GPUS"
      --master-addr "${MASTER_ADDR:-localhost}" --master-port "$MASTER_PORT" --no-python)
  fi
  # without the number, fairseq takes all GPUs of the machine, and two nodes of one GPU for two trainings
  set -- "$@" --distributed-world-size "$((GPUS ? NODES * GPUS : 1))"
  ((GPUS)) || set -- "$@" --cpu
  [[ $PRECISION == fp32 ]] || set -- "$@" "--$PRECISION"
  log "hardware: $NODES node(s) with $GPUS GPU(s), $PRECISION"
  "${launcher[@]}" fairseq-train "$@"
}

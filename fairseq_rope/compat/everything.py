"""All quirks but those that must be met before torch is imported, or in tools alone."""

from fairseq_rope.compat.adam import update_in_one_pass
from fairseq_rope.compat.bf16 import allow_bf16_without_tpu
from fairseq_rope.compat.checkpoint_options import refuse_code_in_checkpoints
from fairseq_rope.compat.fast_path import switch_off_fast_path
from fairseq_rope.compat.fasta_names import quote_fasta_names
from fairseq_rope.compat.finished_training import end_finished_trainings
from fairseq_rope.compat.fixed_options import refuse_fixed_overrides
from fairseq_rope.compat.foreach import update_all_at_once
from fairseq_rope.compat.hydra_errors import print_hydra_errors
from fairseq_rope.compat.interrupted_pools import end_interrupted_pools
from fairseq_rope.compat.interrupted_saves import end_interrupted_saves
from fairseq_rope.compat.large_binarized_data import count_bytes_without_limit
from fairseq_rope.compat.log_file import open_log_files_once
from fairseq_rope.compat.model_archives import check_archives
from fairseq_rope.compat.newer_options import leave_out_newer_options
from fairseq_rope.compat.no_eval import replace_eval
from fairseq_rope.compat.numpy_names import keep_old_numpy_names
from fairseq_rope.compat.place_in_epoch import keep_place_in_epoch
from fairseq_rope.compat.pruned_resume import resume_pruned_trainings
from fairseq_rope.compat.repeated_ngrams import forbid_repeated_ngrams
from fairseq_rope.compat.safe_globals import allow_fairseq_checkpoints
from fairseq_rope.compat.same_batches import keep_batches_on_resume
from fairseq_rope.compat.silent_restart import stop_silent_restarts
from fairseq_rope.compat.swish import make_swish_a_function
from fairseq_rope.compat.verified_checkpoints import verify_checkpoints


def apply_everything() -> None:
    """Apply each; doing it again changes nothing."""
    allow_fairseq_checkpoints()
    allow_bf16_without_tpu()
    replace_eval()
    refuse_code_in_checkpoints()
    quote_fasta_names()
    check_archives()
    verify_checkpoints()
    refuse_fixed_overrides()
    stop_silent_restarts()
    end_finished_trainings()
    resume_pruned_trainings()
    keep_batches_on_resume()
    keep_place_in_epoch()
    keep_old_numpy_names()
    count_bytes_without_limit()
    update_in_one_pass()
    update_all_at_once()
    open_log_files_once()
    end_interrupted_saves()
    print_hydra_errors()
    end_interrupted_pools()
    forbid_repeated_ngrams()
    switch_off_fast_path()
    leave_out_newer_options()
    make_swish_a_function()

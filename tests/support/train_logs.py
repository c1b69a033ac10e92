"""A training log as fairseq-train writes it, of two epochs, the second of them resumed; and one with BLEU."""

LOG = """num. shared model params: 2,568,192 (num. trained: 2,568,192)
epoch 001 | valid on 'valid' subset | loss 9.5 | nll_loss 8.9 | ppl 477 | bsz 168 | num_updates 124
epoch 001 | loss 11.2 | nll_loss 10.9 | num_updates 124 | train_wall 60 | wall 61
epoch 002 | valid on 'valid' subset | loss 8.5 | nll_loss 7.9 | ppl 77 | bsz 168 | num_updates 248 | best_loss 8.5
epoch 002 | loss 9.2 | nll_loss 8.9 | num_updates 248 | train_wall 60 | wall 122
epoch 002 | valid on 'valid' subset | loss 8.25 | nll_loss 7.9 | ppl 77 | bsz 168 | num_updates 248 | best_loss 8.25
epoch 002 | loss 9.2 | nll_loss 8.9 | num_updates 248 | train_wall 60 | wall 150
done training in 149.5 seconds
"""
BLEU_LOG = LOG.replace("ppl 477 |", "ppl 477 | bleu 0.31 |").replace("ppl 77 |", "ppl 77 | bleu 12.5 |")

"""Sizes from which the faster ways of this package are faster on a CPU.

They were chosen on two AMD EPYC (Zen 5) cores with torch 2.13.0 on 2026-11-21, but where a line says otherwise; the
command beside each shows its effect.
`python scripts/benchmark.py tricks` shows what each way is worth on another machine.
"""

# multiplications from which oneDNN's faster product makes up for its slower call
MIN_ONEDNN_PRODUCTS = 2**20  # scripts/benchmark.py generate --sizes tiny
# multiplications from which oneDNN's product gains where it does not in smaller ones, though it compiles one for each
# new number of rows, in 0.5 to 0.8 ms; on Zen 4, 2026-11-29
MIN_LARGE_PRODUCTS = 2**27  # scripts/benchmark.py tricks --tricks onednn --sizes tiny iwslt base
# numbers of a weight from which a product with packed ones makes up for its slower call; on Zen 4, 2026-11-23
MIN_PACKED_WEIGHTS = 2**17  # scripts/benchmark.py tricks --tricks packed-weights
# multiplications from which that holds where it does not for the rows of one sentence; on Emerald Rapids, 2026-11-24
MIN_PACKED_PRODUCTS = 2**22  # scripts/benchmark.py generate --sizes iwslt --batches 1
# rows of one sentence's beam, for which packing is measured apart; on Zen 3, 2026-11-25
MAX_FEW_ROWS = 8  # scripts/benchmark.py generate --sizes iwslt --batches 1
# tokens from which one product for queries, keys and values is worth joining their weights
MIN_TOKENS_TO_JOIN = 256  # scripts/benchmark.py train --sizes tiny iwslt
# queries of a sentence up to which, and rows of scores from which, plain products beat the fused attention kernel
MAX_STEP_QUERIES, MIN_STEP_ROWS = 8, 32  # scripts/benchmark.py generate --sizes tiny iwslt base
# share of padding from which layers leave it out; on Zen 3, 2026-11-26
MIN_PADDING = 0.1  # scripts/benchmark.py tricks --tricks unpadding --sizes tiny iwslt
# scores of attention that are there at once, float32: 1 MB, which a cache of the processor holds; on Zen 4, 2026-11-27
MAX_SCORES = 2**18  # scripts/benchmark.py masked --sizes tiny
# queries and keys of a sentence up to which training gains by them without dropout, too; on Zen 4, 2026-11-29
MAX_SHORT_LENGTH = 64  # scripts/benchmark.py tricks --tricks attention-parts --sizes tiny iwslt base
# logits that are there at once, float32: 32 MB, which glibc's heap takes
MAX_LOGITS = 8_000_000  # scripts/benchmark.py train --sizes base
# words of the vocabulary in one product of the weight's gradient, which a cache of the processor holds
MAX_GRADIENT_WORDS = 4096  # scripts/benchmark.py train --sizes base

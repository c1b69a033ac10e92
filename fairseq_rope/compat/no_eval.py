"""fairseq calls `eval` on options, which a checkpoint may set, and on lines of data: it gets plain data only.

Symptom: a checkpoint whose `adaptive_softmax_cutoff` is "__import__('os').system(...)" runs it in every command that
builds its model; the same goes for `conv_feature_layers`, `wer_args` and others of other archs and criterions.
fairseq 0.12.2 and main; can go when no module of fairseq calls `eval`.
"""

import sys

from fairseq_rope.compat.plain_data import evaluate


def replace_eval() -> None:
    """Set an `eval` in each module of fairseq, which Python finds before the built-in one, which runs code.

    `fairseq_cli` keeps Python's: it evaluates `--model-overrides`, which is the user's own.
    """
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "fairseq":
            setattr(module, "eval", evaluate)  # noqa: B010 - no module declares it

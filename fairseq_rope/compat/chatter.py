"""Quiet libraries: tools keep stderr for what concerns the user's files.

Symptom: a module of fairseq sets the root logger to INFO on import, and hydra warns of its own future.
fairseq 0.12.2 and main; can go when fairseq's modules set no logger's level. `python -W default` shows the libraries'
own warnings again.
"""

import logging
import sys
import warnings


def silence_libraries() -> None:
    """Set the level of all loggers to warnings, and ignore hydra's."""
    logging.getLogger().setLevel(logging.WARNING)
    if not sys.warnoptions:
        warnings.simplefilter("ignore", UserWarning)

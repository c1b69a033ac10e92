"""A buffer that fairseq never sets: sinusoids keep it for its type alone, and any number is in it.

Symptom: now and then a sinusoidal model could not be averaged or exported, because that number was NaN.
fairseq 0.12.2; can go with it.
"""


def is_unset(key: str) -> bool:
    """Return whether what a state_dict has at `key` is no number of the model."""
    return key.endswith("embed_positions._float_tensor")

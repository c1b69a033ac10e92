"""The learning rate by update: fairseq's `inverse_sqrt`, and eole's `noam` scaled to it."""

import math


def noam_scale(peak: float, *, warmup: int, model_size: int) -> float:
    """Return eole's `learning_rate` at which `noam` rises to `peak` in `warmup` updates.

    Both rise linearly and then fall with the square root of the update (Vaswani et al. 2017, section 5.3); noam
    multiplies with `model_size`^-0.5 and has no peak of its own. They differ in two places: fairseq starts at
    `--warmup-init-lr`, 1e-7, where noam starts at 0, and its first update has the rate of update 0.
    """
    return peak * math.sqrt(model_size * warmup)

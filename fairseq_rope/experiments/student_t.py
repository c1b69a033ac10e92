"""Student's t distribution with whole degrees of freedom, of which the standard library has none."""

import math


def central_probability(t: float, freedom: int) -> float:
    """Return P(|T| < t) for t >= 0 (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4).

    Args:
        t: the quantile.
        freedom: degrees of freedom, from 1.
    """
    angle = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    # even: 1 + 1/2 cos^2 + (1 3)/(2 4) cos^4 + ...; odd: cos + 2/3 cos^3 + (2 4)/(3 5) cos^5 ...; to cos^(freedom - 2)
    term = cosine if odd else 1.0
    series = 0.0
    for power in range(odd, freedom - 1, 2):
        series += term
        term *= (power + 1) / (power + 2) * cosine**2
    return 2 / math.pi * (angle + sine * series) if odd else sine * series


def central_quantile(probability: float, freedom: int) -> float:
    """Return the t with P(|T| < t) = `probability`, by bisection.

    Args:
        probability: in (0, 1); 0.95 gives half the width of a 95% interval, in standard errors.
        freedom: degrees of freedom, from 1.
    """
    low, high = 0.0, 1.0
    while central_probability(high, freedom) < probability:
        high *= 2
    while low < (middle := (low + high) / 2) < high:
        if central_probability(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return high

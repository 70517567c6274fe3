"""Student's t: how many standard errors an interval has to reach to either side of a mean."""

import math
from functools import cache

_HALVINGS = 60  # of an interval of angles: past the last bit of a float


@cache
def t_quantile(freedom: int, confidence: float = 0.95) -> float:
    """The t that ``confidence`` of the distribution lies within, for any whole number of degrees of freedom.

    Exact to rounding: the probability within t has a closed form in the angle atan(t / sqrt(freedom))
    (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4), and it rises with it.
    """
    if freedom < 1 or not 0 < confidence < 1:
        raise ValueError(f"no t for {freedom} degrees of freedom and a confidence of {confidence}")
    low, high = 0.0, math.pi / 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _within(middle, freedom) < confidence:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom) * math.tan(low)


def _within(angle: float, freedom: int) -> float:
    """Probability of lying within t = sqrt(freedom) tan(angle)."""
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd = freedom % 2
    term = sine * math.cos(angle) if odd else sine
    total = 0.0
    for k in range(1 + odd, freedom, 2):
        total += term
        term *= square * k / (k + 1)
    return 2 / math.pi * (angle + total) if odd else total

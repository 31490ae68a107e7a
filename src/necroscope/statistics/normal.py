"""The normal distribution: where its tails begin, and what lies in them."""

from __future__ import annotations

import math

Z_95 = 1.959963984540054  # 95 % lie within so many standard deviations


def two_sided_p(excess: float, variance: float) -> float:
    """Return the probability of such an excess or a larger one in either direction; 1 without variance."""
    return math.erfc(abs(excess) / math.sqrt(2 * variance)) if variance > 0 else 1.0

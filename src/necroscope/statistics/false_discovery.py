"""The rate of false discoveries among many tests: Benjamini and Hochberg's.

Numbers equal those of scipy.stats.false_discovery_control.
"""

from __future__ import annotations

from collections.abc import Sequence


def benjamini_hochberg(probabilities: Sequence[float]) -> list[float]:
    """Return each probability as the rate of false discoveries that one accepts by accepting it."""
    order = sorted(range(len(probabilities)), key=probabilities.__getitem__, reverse=True)
    adjusted = [1.0] * len(probabilities)
    lowest = 1.0
    for rank, place in zip(range(len(order), 0, -1), order, strict=True):
        lowest = min(lowest, probabilities[place] * len(order) / rank)
        adjusted[place] = lowest
    return adjusted

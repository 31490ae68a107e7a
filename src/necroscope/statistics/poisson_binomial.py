"""How many of several things happen by chance, each with its own probability.

Things that happen together are one draw: if one of them happens, all that are as likely do. So their number
is a sum of independent draws, whose distribution is computed exactly; where each draw is one thing, it is
called Poisson-binomial. Only numbers of one sign are added: small probabilities stay exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def probability_of_at_least(number: int, draws: Iterable[Sequence[float]]) -> float:
    """Return the probability that so many or more happen; a draw is the probabilities of its things."""
    return float(min(add_draws(nothing_drawn(number), draws)[number], 1.0))


def nothing_drawn(most: int) -> Floats:
    """Return the probabilities of 0, 1, ... before any draw; the last place is for `most` and more."""
    counts = np.zeros(most + 1)
    counts[0] = 1.0
    return counts


def add_draws(counts: Floats, draws: Iterable[Sequence[float]]) -> Floats:
    """Return the probabilities after some more draws.

    That k things of a draw or more happen is as likely as that the k-th likeliest does.
    """
    most = len(counts) - 1
    for chances in draws:
        at_least_k = [1.0, *sorted(chances, reverse=True), 0.0]
        added = np.zeros(most + 1)
        for k, (this, following) in enumerate(pairwise(at_least_k)):
            step, exactly_k = min(k, most), this - following
            if exactly_k > 0:
                added[step:] += counts[: most + 1 - step] * exactly_k
                added[most] += counts[most + 1 - step :].sum() * exactly_k if step else 0.0
        counts = added
    return counts

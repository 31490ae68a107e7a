"""Are hosts with a value affected more than others, by chance alone? Counted by host, not by event.

Trouble repeats on the same host, so a host with three hundred episodes must not count three hundred times. It
counts by its grade: 0 without an episode, 1 with one, 2 with two or three, 3 with four to seven, and so on.
Under chance any hosts could be those with the value; how often would as many grades fall on them?

Hosts that were recorded for a longer time had more time to be affected; so only hosts of about the same time
are exchanged for each other (strata). Without repetition and with one stratum it is Fisher's exact test.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from necroscope.statistics.fisher import hypergeometric
from necroscope.statistics.mantel_haenszel import Excess, Stratum, mantel_haenszel

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

HIGHEST_GRADE = 6  # 32 episodes or more
STEPS_AN_OCTAVE = 2  # hosts are alike in their time if it differs by less than a factor of 1.4
MOST_AFFECTED = 1000  # in a stratum, to be counted exactly; beyond, the normal distribution is as good
SAME = 1 + 1e-7  # two probabilities that differ by rounding only


def grades(episodes: Whole) -> Whole:
    """Return the grade of each host by its episodes."""
    found = np.where(episodes > 0, np.floor(np.log2(np.maximum(episodes, 1))) + 1, 0)
    limited: Whole = np.minimum(found, HIGHEST_GRADE).astype(np.int64)
    return limited


def exposure_strata(recorded_us: Whole) -> Whole:
    """Return a number that hosts of about the same recorded time share."""
    hours = np.maximum(recorded_us, 1) / 3.6e9
    number: Whole = np.floor(STEPS_AN_OCTAVE * np.log2(hours)).astype(np.int64)
    return number


def excess_within(inside: Flags, grade: Whole, strata: Whole) -> Excess:
    """Return the excess within strata, all together."""
    _, place = np.unique(strata, return_inverse=True)
    counted = (np.ones(len(grade)), inside, grade * inside, grade, grade * grade)
    sums = (np.bincount(place, some).astype(int).tolist() for some in counted)
    return mantel_haenszel(map(Stratum, *sums))


def exact_p(inside: Flags, grade: Whole, strata: Whole) -> float:
    """Return the two-sided probability: all outcomes that are as unlikely as what was seen, or more."""
    if not len(grade):
        return 1.0
    _, place = np.unique(strata, return_inverse=True)
    affected = np.bincount(place, grade > 0)
    if affected.max(initial=0) > MOST_AFFECTED:
        return excess_within(inside, grade, strata).p
    chances = np.ones(1)
    width = HIGHEST_GRADE + 1
    table = np.bincount(place * width + grade, minlength=(int(place.max()) + 1) * width).reshape(-1, width)
    with_it = np.bincount(place, inside).astype(int)
    for number in np.flatnonzero(affected):
        chances = np.convolve(chances, grade_chances(tuple(table[number].tolist()), int(with_it[number])))
    seen = chances[int(grade[inside].sum())]
    return min(float(chances[chances <= seen * SAME].sum()), 1.0)


def grade_chances(counts: tuple[int, ...], chosen: int) -> Floats:
    """Return how likely each sum of grades is on so many random hosts; `counts` are hosts by grade."""
    affected = sum(counts[1:])
    chances: Floats = _by_number(affected, chosen, sum(counts)) @ _sums_of_affected(counts[1:])
    return chances


@lru_cache(maxsize=256)
def _sums_of_affected(counts: tuple[int, ...]) -> Floats:
    """Return the same on affected hosts only; a row for each number of them that is chosen.

    A host of grade 3 has grade 1 or more, 2 or more, and 3 or more: each of these levels adds one.
    """
    affected, higher = sum(counts), sum(counts[1:])
    rows = np.arange(affected + 1)
    if not higher:
        return np.eye(affected + 1)
    chosen = np.stack([_by_number(higher, number, affected) for number in rows.tolist()])
    above = chosen @ _sums_of_affected(counts[1:])
    sums = np.zeros((affected + 1, affected + above.shape[1]))
    for number in rows:
        sums[number, number : number + above.shape[1]] = above[number]
    return sums


def _by_number(special: int, chosen: int, hosts: int) -> Floats:
    """Return how likely it is that 0, 1, ... of the chosen hosts are special."""
    chances = np.zeros(special + 1)
    lowest, possible = hypergeometric(special, chosen, hosts)
    chances[lowest : lowest + len(possible)] = possible
    return chances

"""The association that is left among hosts of the same stratum: Cochran, Mantel and Haenszel's test.

Hosts count by a grade, of 0 or more. With grades of 0 (healthy) and 1 (of the symptom's group) it is the test
of statsmodels' StratifiedTable, without continuity correction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from necroscope.statistics.fisher import Table
from necroscope.statistics.normal import two_sided_p


class Stratum(NamedTuple):
    """Hosts that are alike in something."""

    hosts: int
    with_it: int  # hosts with the value
    seen: int  # the grades of these, added up
    total: int  # the grades of all
    squares: int  # of these grades


@dataclass(frozen=True, slots=True)
class Excess:
    """Grades on hosts with a value beyond what chance would put there, and their variance by chance."""

    excess: float
    variance: float  # 0: there is nothing to compare

    @property
    def p(self) -> float:
        """Two-sided, by the normal distribution."""
        return two_sided_p(self.excess, self.variance)

    @property
    def careful_p(self) -> float:
        """With continuity correction: near the exact one also where strata are small."""
        return two_sided_p(max(abs(self.excess) - 0.5, 0.0), self.variance)

    @property
    def effect(self) -> float:
        """How strong it is, whatever the number of hosts; near the logarithm of a ratio."""
        return self.excess / self.variance if self.variance > 0 else 0.0


def mantel_haenszel(strata: Iterable[Stratum]) -> Excess:
    """Return the excess within strata, all together."""
    excess = variance = 0.0
    for hosts, with_it, seen, total, squares in strata:
        if hosts < 2:
            continue
        excess += seen - with_it * total / hosts
        spread = hosts * squares - total * total
        variance += with_it * (hosts - with_it) * spread / (hosts * hosts * (hosts - 1))
    return Excess(excess, variance)


def stratum_of(table: Table) -> Stratum:
    """Return the hosts of a table; those of the symptom's group have a grade of 1."""
    return Stratum(table.hosts, table.with_it, table.symptom_with, table.symptom, table.symptom)

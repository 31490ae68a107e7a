"""Every value of every label against the hosts without it: how many are affected, how often, is it chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from necroscope.fleet.host_facts import UNKNOWN
from necroscope.fleet.questions.where_cells import Cells, Label, Units, units_of
from necroscope.model.fleet.concentration import Exposed
from necroscope.signals.thresholds import Thresholds
from necroscope.statistics.false_discovery import benjamini_hochberg
from necroscope.statistics.graded_hosts import exact_p, excess_within
from necroscope.statistics.mantel_haenszel import Excess
from necroscope.statistics.rate_ratios import Ratio, rate_ratio

# What tells one host from all others is no label, whoever calls it one.
OF_ONE_HOST = frozenset({"hostname", "instance_id", "boot_id", "machine_id", "address", "node", "host"})
SECTION_ORDER = {"labels": 0, "nics": 1, "units": 2}
REPEATS = "labels/kubernetes/"  # what Kubernetes says once more comes after what it repeats
Key = tuple[bytes, bytes]


@dataclass(slots=True, eq=False)
class Value:
    """One value of a label, and what became of it."""

    label: Label
    code: int
    inside: Exposed
    outside: Exposed
    ratio: Ratio
    excess: Excess
    p: float
    has_support: bool
    key: Key  # the same for all values that split the hosts in the same way, or the other way round
    q: float | None = None
    same: list[Value] = field(default_factory=list)  # have the same hosts
    follows: list[Value | Label] = field(default_factory=list)
    alike: list[Value] = field(default_factory=list)  # cannot be told apart from these

    @property
    def name(self) -> str:
        """As people write it."""
        return f"{self.label.fact}={self.label.values[self.code]}"

    @property
    def order(self) -> tuple[int, bool, str]:
        """Of several that are the same, the plainest comes first."""
        section = self.label.fact.partition("/")[0]
        return SECTION_ORDER.get(section, 9), self.label.fact.startswith(REPEATS), self.name

    @property
    def codes(self) -> NDArray[np.int64]:
        """By cell: 1 with it, 0 without, UNKNOWN."""
        codes = self.label.codes
        return np.where(codes == UNKNOWN, UNKNOWN, (codes == self.code).astype(np.int64))


def find_values(cells: Cells, thresholds: Thresholds, by: Sequence[str] = ()) -> list[Value]:
    """One of all values that split the hosts in the same way, with how likely chance makes it."""
    found: dict[Key, list[Value]] = {}
    for label in cells.labels:
        if is_compared(label, thresholds, by):
            for value in _values(cells, label, thresholds):
                found.setdefault(value.key, []).append(value)
    firsts = [_folded(same) for same in found.values()]
    tested = [value for value in firsts if value.has_support]
    for value, q in zip(tested, benjamini_hochberg([value.p for value in tested]), strict=True):
        value.q = q
    return sorted(firsts, key=lambda value: (value.q is None, value.p, value.order))


def is_compared(label: Label, thresholds: Thresholds, by: Sequence[str] = ()) -> bool:
    """Whether a label is one to compare hosts by: not the same on all, and not another on each."""
    if by:
        return label.fact in by or label.fact.removeprefix("labels/") in by
    values = np.unique(label.codes[label.codes != UNKNOWN])
    name = label.fact.rpartition("/")[2]
    return 2 <= len(values) <= thresholds["fleet.most_values"] and name not in OF_ONE_HOST


def _values(cells: Cells, label: Label, thresholds: Thresholds) -> Iterator[Value]:
    units = units_of(cells, label.codes)
    codes, grade, strata = units.codes[:, 0], units.grade, units.exposure
    for code in np.unique(codes):
        inside = codes == code
        if inside.all():
            continue
        exposed = units.exposed(inside), units.exposed(~inside)
        has_support = _has_support(exposed, thresholds)
        yield Value(
            label=label,
            code=int(code),
            inside=exposed[0],
            outside=exposed[1],
            ratio=rate_ratio(units.side(inside), units.side(~inside)),
            excess=excess_within(inside, grade, strata),
            p=exact_p(inside, grade, strata) if has_support else 1.0,
            has_support=has_support,
            key=_key(label, int(code)),
        )


def _has_support(exposed: tuple[Exposed, Exposed], thresholds: Thresholds) -> bool:
    fewest = min(side.hosts for side in exposed)
    affected = sum(side.affected for side in exposed)
    return fewest >= thresholds["fleet.fewest_hosts"] and affected >= thresholds["fleet.fewest_affected"]


def _key(label: Label, code: int) -> Key:
    known = label.codes != UNKNOWN
    inside = label.codes == code
    sides = (np.packbits(side).tobytes() for side in (inside, known & ~inside))
    return min(sides), np.packbits(known).tobytes()


def _folded(same: Sequence[Value]) -> Value:
    """The value that is told for all that split the hosts in the same way: of the side that is worse off."""
    worse = [value for value in same if value.excess.excess > 0] or list(same)
    first, *others = sorted(worse, key=lambda value: value.order)
    first.same = others
    return first


def unknown_units(cells: Cells, label: Label) -> tuple[Units, NDArray[np.bool_]]:
    """All hosts with facts by whether a label of theirs is not known."""
    codes = np.where(label.codes == UNKNOWN, 1, 0).astype(np.int64)
    units = units_of(cells, np.where(cells.has_facts, codes, UNKNOWN))
    return units, units.codes[:, 0] == 1

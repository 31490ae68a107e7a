"""Which value is behind it, which only follows another, and which cannot be told apart.

A value that is a cause goes with the events also among hosts that are alike in everything else. So each is
looked at among hosts alike in the other: who keeps its excess stands by itself; who loses it follows the
other; where too few hosts have one without the other, nobody can tell. `drift` does the same; here hosts have
grades and times.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence

import numpy as np

from necroscope.fleet.host_facts import UNKNOWN
from necroscope.fleet.questions.where_cells import Cells, Flags, Label, Whole, units_of
from necroscope.fleet.questions.where_values import Value
from necroscope.fleet.statistics.graded_hosts import Excess, exact_p, excess_within
from necroscope.fleet.statistics.rate_ratios import Ratio, mantel_haenszel_ratio
from necroscope.inventory.drift.confounding import Verdict
from necroscope.signals.thresholds import Thresholds

MOST_ALIKE_IN = 4  # the strata of more are too small


class Left(enum.Enum):
    """What is left of an excess among hosts that are alike in something."""

    KEEPS = "keeps"
    WEAK = "weak"  # it is there, but weaker
    LOSES = "loses"  # it would have shown, and does not
    UNKNOWN = "unknown"  # too little is left to compare


def excess_among_alike(cells: Cells, value: Value, strata: Whole) -> Excess:
    """The excess of a value among hosts of the same stratum, and of about the same time."""
    return excess_within(*_among_alike(cells, value, strata))


def p_among_alike(cells: Cells, value: Value, strata: Whole) -> float:
    """How likely chance makes that excess: exact."""
    return exact_p(*_among_alike(cells, value, strata))


def _among_alike(cells: Cells, value: Value, strata: Whole) -> tuple[Flags, Whole, Whole]:
    units = units_of(cells, value.codes, strata)
    own, other = units.codes[:, 0], units.codes[:, 1]
    exposure = units.exposure - units.exposure.min(initial=0)
    return own == 1, units.grade, other * (int(exposure.max(initial=0)) + 1) + exposure


def ratio_among_alike(cells: Cells, value: Value, strata: Whole) -> Ratio:
    """The ratio of rates of a value among hosts of the same stratum."""
    units = units_of(cells, value.codes, strata)
    side = units.side(np.ones(len(units.codes), dtype=bool))
    return mantel_haenszel_ratio(units.codes[:, 0] == 1, units.codes[:, 1], side.episodes, side.hours)


def what_is_left(cells: Cells, value: Value, strata: Whole, thresholds: Thresholds) -> Left:
    """What is left of a value's excess among hosts of the same stratum."""
    within, effect = excess_among_alike(cells, value, strata), value.excess.effect
    is_same_way = within.excess * effect > 0
    if within.p <= thresholds["fleet.keeps"]:
        # The other way round it is not the excess that was found.
        return Left.KEEPS if is_same_way else Left.LOSES
    if within.p <= thresholds["fleet.loses"] and is_same_way:
        return Left.WEAK
    would_show = abs(effect) * math.sqrt(within.variance) >= thresholds["fleet.would_show"]
    return Left.LOSES if would_show else Left.UNKNOWN


def part_followers(cells: Cells, values: Sequence[Value], tested: int, thresholds: Thresholds) -> list[Value]:
    """Those that stand by themselves, of values in order; the others know whom they follow or are alike.

    The first is significant as it is. Any other must be so among hosts that are alike in all before it, even
    if it were the only one of `tested` values: what goes along with a cause is always more than one thing.
    """
    leads: list[Value] = []
    left = list(values)
    while left:
        for value in left:
            _place(cells, value, leads, thresholds)
        # One that was only alike to a lead which turned out to follow another is looked at once more.
        left = [value for value in left if value not in leads and not value.follows and not value.alike]
    kept: list[Value] = []
    for lead in leads:
        limit = thresholds["fleet.false_discovery"] / max(tested, 1)
        if not kept or p_among_alike(cells, lead, _together(kept)) <= limit:
            kept.append(lead)
    return kept


def _together(values: Sequence[Value]) -> Whole:
    """Hosts that are alike in all of some values."""
    codes = np.zeros_like(values[0].codes)
    for value in values[:MOST_ALIKE_IN]:
        own = value.codes
        codes = np.where((codes == UNKNOWN) | (own == UNKNOWN), UNKNOWN, codes * 2 + own)
    return codes


def note_followers(
    cells: Cells, values: Sequence[Value], leads: Sequence[Value], thresholds: Thresholds
) -> None:
    """Note at values that are no lead, and unlikely by chance, which lead takes most of their excess away."""
    for value in values:
        near = any(value in lead.alike for lead in leads)
        if value in leads or near or value.follows or value.p > thresholds["fleet.loses"]:
            continue
        left = [(_share_left(cells, value, lead), lead) for lead in leads]
        share, lead = min(left, key=lambda one: one[0], default=(1.0, None))
        if lead is not None and share <= thresholds["fleet.share_left"]:
            _note_follows(value, lead)


def _share_left(cells: Cells, value: Value, lead: Value) -> float:
    """How much of a value's effect is left among hosts alike in a lead; below 0: the other way round."""
    effect = value.excess.effect
    return excess_among_alike(cells, value, lead.codes).effect / effect if effect else 1.0


def follow_labels(
    cells: Cells, leads: Sequence[Value], labels: Sequence[Label], thresholds: Thresholds
) -> None:
    """Note at leads which label explains them by all its values together, though by none alone."""
    for lead in leads:
        own = {value.label.fact for value in (lead, *lead.same, *lead.alike)}
        for label in labels:
            if label.fact not in own and _explains(cells, lead, label, thresholds):
                _note_follows(lead, label)
                break


def _explains(cells: Cells, lead: Value, label: Label, thresholds: Thresholds) -> bool:
    within, effect = excess_among_alike(cells, lead, label.codes), lead.excess.effect
    would_show = abs(effect) * math.sqrt(within.variance) >= thresholds["fleet.would_show_by_label"]
    return would_show and (within.p > thresholds["fleet.loses"] or within.excess * effect < 0)


def _place(cells: Cells, value: Value, leads: list[Value], thresholds: Thresholds) -> None:
    """Compare a value with the leads so far, and make it one if it stands by itself."""
    for lead in list(leads):
        verdict = _verdict(cells, value, lead, thresholds)
        if verdict is Verdict.FOLLOWS:
            _note_follows(value, lead)
            return
        if verdict is Verdict.LEADS:
            _note_follows(lead, value)
            leads.remove(lead)
        elif verdict is Verdict.ALIKE:
            _note_alike(value, lead)
    if not value.alike:
        leads.append(value)


def _verdict(cells: Cells, value: Value, lead: Value, thresholds: Thresholds) -> Verdict:
    """What the hosts that have one of two without the other say."""
    own = what_is_left(cells, value, lead.codes, thresholds)
    its = what_is_left(cells, lead, value.codes, thresholds)
    is_lost, lead_is_lost = (left in (Left.LOSES, Left.UNKNOWN) for left in (own, its))
    if not is_lost and not lead_is_lost:
        return Verdict.APART
    if not _can_be_told(cells, value, lead, thresholds):
        return Verdict.ALIKE
    if Left.KEEPS in (own, its):
        return Verdict.FOLLOWS if is_lost else Verdict.LEADS
    if (own is Left.LOSES) == (its is Left.LOSES):
        return Verdict.ALIKE
    return Verdict.FOLLOWS if own is Left.LOSES else Verdict.LEADS


def _can_be_told(cells: Cells, one: Value, other: Value, thresholds: Thresholds) -> bool:
    """Whether hosts enough have one of two without the other."""
    units = units_of(cells, one.codes, other.codes)
    odd = int((units.codes[:, 0] != units.codes[:, 1]).sum())
    return min(odd, len(units.codes) - odd) >= thresholds["fleet.discordant"]


def _note_alike(one: Value, other: Value) -> None:
    one.alike.append(other)
    other.alike.append(one)


def _note_follows(value: Value, lead: Value | Label) -> None:
    """Whoever follows says nothing beyond it, and is alike to nobody."""
    value.follows.append(lead)
    for other in value.alike:
        other.alike.remove(value)
    value.alike.clear()

"""Which value is behind it, which only follows another, and which cannot be told apart.

Each is looked at among hosts alike in the other, as statistics/confounding says; hosts have grades and times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from necroscope.fleet.host_facts import UNKNOWN
from necroscope.fleet.questions.where_cells import Cells, Flags, Label, Whole, units_of
from necroscope.fleet.questions.where_values import Value
from necroscope.signals.thresholds import Thresholds
from necroscope.statistics.confounding import (
    MOST_ALIKE_IN,
    Left,
    Limits,
    Verdict,
    find_leads,
    note_follows,
    verdict_of,
    what_is_left,
)
from necroscope.statistics.graded_hosts import exact_p, excess_within
from necroscope.statistics.mantel_haenszel import Excess
from necroscope.statistics.rate_ratios import Ratio, mantel_haenszel_ratio


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


def _left(cells: Cells, value: Value, strata: Whole, thresholds: Thresholds) -> Left:
    """What is left of a value's excess among hosts of the same stratum."""
    limits = Limits(*(thresholds[f"fleet.{name}"] for name in ("keeps", "loses", "would_show")))
    return what_is_left(excess_among_alike(cells, value, strata), value.excess.effect, limits)


def part_followers(cells: Cells, values: Sequence[Value], tested: int, thresholds: Thresholds) -> list[Value]:
    """Those that stand by themselves, of values in order; the others know whom they follow or are alike.

    The first is significant as it is. Any other must be so among hosts that are alike in all before it, even
    if it were the only one of `tested` values: what goes along with a cause is always more than one thing.
    """
    leads = find_leads(values, lambda one, other: _verdict(cells, one, other, thresholds), lambda lead: lead)
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
            note_follows(value, lead)


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
                note_follows(lead, label)
                break


def _explains(cells: Cells, lead: Value, label: Label, thresholds: Thresholds) -> bool:
    within, effect = excess_among_alike(cells, lead, label.codes), lead.excess.effect
    would_show = abs(effect) * math.sqrt(within.variance) >= thresholds["fleet.would_show_by_label"]
    return would_show and (within.p > thresholds["fleet.loses"] or within.excess * effect < 0)


def _verdict(cells: Cells, value: Value, lead: Value, thresholds: Thresholds) -> Verdict:
    """What the hosts that have one of two without the other say."""
    own = _left(cells, value, lead.codes, thresholds)
    its = _left(cells, lead, value.codes, thresholds)
    return verdict_of(own, its, lambda: _is_separable(cells, value, lead, thresholds))


def _is_separable(cells: Cells, one: Value, other: Value, thresholds: Thresholds) -> bool:
    """Whether hosts enough have one of two without the other."""
    units = units_of(cells, one.codes, other.codes)
    odd = int((units.codes[:, 0] != units.codes[:, 1]).sum())
    return min(odd, len(units.codes) - odd) >= thresholds["fleet.discordant"]

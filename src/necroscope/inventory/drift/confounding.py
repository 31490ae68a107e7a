"""Which difference only follows another, and which two cannot be told apart.

Each is looked at among hosts alike in the other, as statistics/confounding says.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations

from necroscope.inventory.drift.fact_table import Hosts, VaryingFact
from necroscope.inventory.drift.fold_facts import Row
from necroscope.inventory.drift.host_sets import Groups
from necroscope.inventory.drift.splits import FEWEST_PER_VALUE, Split, decides, discord, likeness
from necroscope.statistics.confounding import (
    MOST_ALIKE_IN,
    Left,
    Limits,
    Verdict,
    find_leads,
    note_alike,
    note_follows,
    verdict_of,
    what_is_left,
)
from necroscope.statistics.fisher import exact_among_strata, odds_ratio
from necroscope.statistics.mantel_haenszel import mantel_haenszel, stratum_of

# An effect of 2.5 standard deviations is seen in 70 of 100 cases at a p of 0.05.
LIMITS = Limits(keeps_p=0.01, loses_p=0.05, would_show=2.5)
FEWEST_DISCORDANT = 10  # hosts that have one of two without the other; fewer tell nothing
RELATED, TWINS = 0.6, 0.8  # correlations: worth comparing, and the same but for a few hosts
SURE = 5.0  # standard deviations: so much alike are not even two of some ten thousand pairs by chance
MOST_DOUBTFUL = 300  # rows, each compared with each
NEARLY_NORMAL = 5.0  # variance of a count
WORTH_COUNTING = 0.05


def left_within(split: Split, strata: Iterable[Hosts], groups: Groups) -> Left:
    """What is left of the association of a split with the symptom within strata of hosts."""
    within = mantel_haenszel(stratum_of(split.table(groups, among)) for among in strata)
    return what_is_left(within, math.log(odds_ratio(split.table(groups))[0]), LIMITS)


def part_followers(rows: Sequence[Row], groups: Groups) -> list[Row]:
    """Those that stand by themselves, of rows in order; the others note whom they follow or are alike."""
    return find_leads(rows, lambda one, other: _verdict(one, other, groups), lambda lead: lead.lead.fact.id)


def _verdict(one: Row, other: Row, groups: Groups) -> Verdict:
    """How a row stands to another.

    Where each value of one is on one side of the other, as an image has one kernel, no host has one without
    the other. Then the finer one is a cause of its own only if it shows among hosts alike in the coarser.
    """
    for finer, coarser in ((one, other), (other, one)):
        if _is_finer(finer, coarser):
            left = left_within(finer.lead.split, _halves(coarser.lead.split), groups)
            if left is not Left.KEEPS:
                return Verdict.ALIKE
    return _verdict_of_splits(one.lead.split, other.lead.split, groups)


def _is_finer(one: Row, other: Row) -> bool:
    return any(decides(member.fact, other.lead.split) for member in one.members)


def _verdict_of_splits(one: Split, other: Split, groups: Groups) -> Verdict:
    """What the hosts that have one of two without the other say."""
    own, its = left_within(one, _halves(other), groups), left_within(other, _halves(one), groups)
    return verdict_of(
        own, its, lambda: Left.KEEPS not in (own, its) or discord(one, other) >= FEWEST_DISCORDANT
    )


def find_twins(rows: Sequence[Row], groups: Groups) -> None:
    """Note at rows that nearly split the hosts as another does that they follow it, or are alike.

    One of the two may have been called significant and the other not, by the difference of a few hosts.
    """
    leads = [row for row in rows if row.is_significant and not row.follows]
    others = [
        row
        for row in rows
        if not row.is_significant and row.lead.association and row.lead.association.q is not None
    ]
    for row in others:
        for lead in leads:
            is_related = likeness(row.lead.split, lead.lead.split) >= RELATED
            if not is_related and not _is_finer(row, lead) and not _is_finer(lead, row):
                continue
            verdict = _verdict(row, lead, groups)
            if verdict is Verdict.FOLLOWS:
                note_follows(row, lead.lead.fact.id)
                break
            if verdict is not Verdict.APART:
                note_alike(row, lead)
        row.is_significant = bool(row.alike)
    doubtful = [row for row in rows if not row.is_significant and not row.follows and _has_support(row)]
    for one, other in combinations(doubtful[:MOST_DOUBTFUL], 2):
        if _are_twins(one.lead.split, other.lead.split) or _is_finer(one, other) or _is_finer(other, one):
            note_alike(one, other)


def _has_support(row: Row) -> bool:
    """Whether either side has hosts enough for a likeness to be more than chance."""
    return min(half.bit_count() for half in _halves(row.lead.split)) >= FEWEST_PER_VALUE


def _are_twins(one: Split, other: Split) -> bool:
    alike = likeness(one, other)
    return alike >= TWINS and alike * math.sqrt((one.known & other.known).bit_count()) >= SURE


def follow_labels(rows: Sequence[Row], labels: Sequence[VaryingFact], groups: Groups) -> None:
    """Note at rows that stand by themselves which label explains them: instance type, zone, image."""
    own = {row: {one.fact.id for other in (row, *row.alike) for one in other.members} for row in rows}
    for row in rows:
        for label in labels:
            if label.id in own[row]:
                continue
            hosts = (label.known & row.lead.split.known).bit_count()
            if len(label.values) * FEWEST_PER_VALUE > hosts:
                continue
            if left_within(row.lead.split, label.values.values(), groups) is Left.LOSES:
                note_follows(row, label.id)


def p_among_alike(split: Split, leads: Sequence[Row], groups: Groups) -> float:
    """The probability that chance puts a split with the symptom, among hosts that are alike in some rows.

    What several causes do at once hides each of them; among hosts alike in the others it shows.
    """
    tables = [split.table(groups, among) for among in _strata(split, leads)]
    within = mantel_haenszel(map(stratum_of, tables))
    # Of few hosts the normal distribution makes too much; what is plainly chance need not be counted out.
    if within.variance < NEARLY_NORMAL and within.careful_p <= WORTH_COUNTING:
        return exact_among_strata(tables)
    return within.careful_p


def _strata(split: Split, rows: Sequence[Row]) -> list[Hosts]:
    """Hosts that are alike in all of some rows, of those that can tell of a split."""
    strata = [split.known]
    for row in rows[:MOST_ALIKE_IN]:
        strata = [among & half for among in strata for half in _halves(row.lead.split) if among & half]
    return strata


def _halves(split: Split) -> tuple[Hosts, Hosts]:
    return split.hosts, split.known & ~split.hosts

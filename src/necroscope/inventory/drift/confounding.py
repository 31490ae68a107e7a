"""Which difference only follows another, and which two cannot be told apart.

A difference that is a cause goes with the symptom also among hosts that are alike in everything else. So each
is looked at within the levels of the other (Cochran-Mantel-Haenszel): who keeps its association stands by
itself; who loses it follows the other; where too few hosts have one without the other, nobody can tell.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Sequence
from itertools import combinations

from necroscope.inventory.drift.fact_table import Hosts, VaryingFact
from necroscope.inventory.drift.folding import Row
from necroscope.inventory.drift.grouping import Groups
from necroscope.inventory.drift.splits import FEWEST_PER_VALUE, Split, decides, discord, likeness
from necroscope.inventory.drift.statistics import exact_among_strata, mantel_haenszel, odds_ratio

KEEPS_P, LOSES_P = 0.01, 0.05
# In standard deviations: how clearly the whole effect would have shown within the strata. 2.5 are seen in
# 70 of 100 cases at LOSES_P.
WOULD_SHOW = 2.5
FEWEST_DISCORDANT = 10  # hosts that have one of two without the other; fewer tell nothing
RELATED, TWINS = 0.6, 0.8  # correlations: worth comparing, and the same but for a few hosts
SURE = 5.0  # standard deviations: so much alike are not even two of some ten thousand pairs by chance
MOST_DOUBTFUL = 300  # rows, each compared with each
MOST_ALIKE_IN = 4  # the strata of more are too small
NEARLY_NORMAL = 5.0  # variance of a count
WORTH_COUNTING = 0.05


class Standing(enum.Enum):
    """What is left of an association within strata."""

    KEEPS = "keeps"
    LOSES = "loses"  # it would have shown, and does not
    WEAK = "weak"  # it is there, but weaker
    UNKNOWN = "unknown"  # the strata leave too little to compare


class Verdict(enum.Enum):
    """How a difference stands to another."""

    FOLLOWS = "follows"
    LEADS = "leads"
    ALIKE = "alike"  # cannot be told apart
    APART = "apart"  # each stands by itself


def standing(split: Split, strata: Iterable[Hosts], groups: Groups) -> Standing:
    """What is left of the association of a split with the symptom within strata of hosts."""
    tables = [split.table(groups, among) for among in strata]
    within = mantel_haenszel(tables)
    effect = math.log(odds_ratio(split.table(groups))[0])
    if within.p <= KEEPS_P:
        # In the other direction it is not the association that was found.
        return Standing.KEEPS if within.excess * effect > 0 else Standing.LOSES
    if within.p <= LOSES_P and within.excess * effect > 0:
        return Standing.WEAK
    would_show = abs(effect) * math.sqrt(within.variance) >= WOULD_SHOW
    return Standing.LOSES if would_show else Standing.UNKNOWN


def part_followers(rows: Sequence[Row], groups: Groups) -> list[Row]:
    """Those that stand by themselves, of rows in order; the others are told whom they follow or are alike."""
    leads: list[Row] = []
    left = list(rows)
    while left:
        for row in left:
            _place(row, leads, groups)
        # One that was only alike to a lead which turned out to follow another is looked at once more.
        left = [row for row in left if row not in leads and not row.follows and not row.alike]
    return leads


def _place(row: Row, leads: list[Row], groups: Groups) -> None:
    """Compare a row with the leads so far, and make it one if it stands by itself."""
    for lead in list(leads):
        verdict = _verdict(row, lead, groups)
        if verdict is Verdict.FOLLOWS:
            _note_follows(row, lead.lead.fact.id)
            return
        if verdict is Verdict.LEADS:
            _note_follows(lead, row.lead.fact.id)
            leads.remove(lead)
        elif verdict is Verdict.ALIKE:
            _note_alike(row, lead)
    if not row.alike:
        leads.append(row)


def _verdict(one: Row, other: Row, groups: Groups) -> Verdict:
    """How a row stands to another.

    Where each value of one is on one side of the other, as an image has one kernel, no host has one without
    the other. Then the finer one is a cause of its own only if it shows among hosts alike in the coarser.
    """
    for finer, coarser in ((one, other), (other, one)):
        if _is_finer(finer, coarser):
            left = standing(finer.lead.split, _halves(coarser.lead.split), groups)
            if left is not Standing.KEEPS:
                return Verdict.ALIKE
    return _verdict_of_splits(one.lead.split, other.lead.split, groups)


def _is_finer(one: Row, other: Row) -> bool:
    return any(decides(member.fact, other.lead.split) for member in one.members)


def _verdict_of_splits(one: Split, other: Split, groups: Groups) -> Verdict:
    """What the hosts that have one of two without the other say."""
    own = standing(one, _halves(other), groups)
    its = standing(other, _halves(one), groups)
    has_lost = own in (Standing.LOSES, Standing.UNKNOWN), its in (Standing.LOSES, Standing.UNKNOWN)
    if not any(has_lost):
        return Verdict.APART
    if Standing.KEEPS in (own, its):
        if discord(one, other) < FEWEST_DISCORDANT:
            return Verdict.ALIKE
        return Verdict.FOLLOWS if has_lost[0] else Verdict.LEADS
    if (own is Standing.LOSES) == (its is Standing.LOSES):
        return Verdict.ALIKE
    return Verdict.FOLLOWS if own is Standing.LOSES else Verdict.LEADS


def _note_alike(one: Row, other: Row) -> None:
    one.alike.append(other)
    other.alike.append(one)


def _note_follows(row: Row, fact: str) -> None:
    """Whoever follows says nothing beyond it, and is alike to nobody."""
    row.follows.append(fact)
    for other in row.alike:
        other.alike.remove(row)
    row.alike.clear()


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
                _note_follows(row, lead.lead.fact.id)
                break
            if verdict is not Verdict.APART:
                _note_alike(row, lead)
        row.is_significant = bool(row.alike)
    doubtful = [row for row in rows if not row.is_significant and not row.follows and _has_support(row)]
    for one, other in combinations(doubtful[:MOST_DOUBTFUL], 2):
        if _are_twins(one.lead.split, other.lead.split) or _is_finer(one, other) or _is_finer(other, one):
            _note_alike(one, other)


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
            if standing(row.lead.split, label.values.values(), groups) is Standing.LOSES:
                _note_follows(row, label.id)


def p_among_alike(split: Split, leads: Sequence[Row], groups: Groups) -> float:
    """The probability that chance puts a split with the symptom, among hosts that are alike in some rows.

    What several causes do at once hides each of them; among hosts alike in the others it shows.
    """
    tables = [split.table(groups, among) for among in _strata(split, leads)]
    within = mantel_haenszel(tables)
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

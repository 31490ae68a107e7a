"""The order of differences: what is likeliest to matter comes first, and a cause right behind its effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from necroscope.inventory.drift.confounding import find_twins, follow_labels, p_among_alike, part_followers
from necroscope.inventory.drift.fact_table import VaryingFact
from necroscope.inventory.drift.fold_facts import Row, by_split, by_subject, join_subjects, order_of_fact
from necroscope.inventory.drift.host_sets import LEAST_P, Groups, HostSets
from necroscope.inventory.drift.likely_cause import find_likely_cause, search_in
from necroscope.inventory.drift.splits import compare_groups, compare_hosts
from necroscope.model.drift import Relevance
from necroscope.statistics.confounding import MOST_ALIKE_IN
from necroscope.statistics.false_discovery import benjamini_hochberg

# The share of false ones among the differences that are called associated. Of fleets without any cause, two
# in a hundred have one then; counts of hosts are coarse, so that it is less than the number says.
MOST_FALSE = 0.03
STRONG = 0.001  # so sure that what is known about it may decide the order
LEAST_SHARE_DIFFERENCE = 0.5  # between the groups, for what is known to matter
FOR_A_CAUSE = 5.0  # weight: what is behind it is known
MOST_EXPLAINED = 200  # rows for which a cause is looked for


def rank_hosts(facts: Mapping[str, VaryingFact], host_sets: HostSets) -> list[Row]:
    """Rows of single hosts, by what is known about them."""
    rows = by_subject(compare_hosts(facts.values()))
    for row in rows:
        row.stands_out = row.lead.rule is not None
    rows.sort(key=_order_of_known)
    _explain(rows, facts, host_sets)
    return _causes_behind(sorted(rows, key=_order_of_known))


def rank_groups(
    facts: Mapping[str, VaryingFact], host_sets: HostSets, stratify: Sequence[VaryingFact]
) -> list[Row]:
    """Rows of groups: by association with the symptom where it can be counted, else by what is known."""
    groups = host_sets.groups
    candidates = compare_groups(facts.values(), groups)
    if not groups.can_count:
        rows = by_subject(candidates)
        for row in rows:
            row.stands_out = row.lead.rule is not None and _differs_much(row)
        rows.sort(key=_order_of_few)
        _explain(rows, facts, host_sets)
        return _causes_behind(sorted(rows, key=_order_of_few))
    rows = by_split(candidates)
    for row in rows:
        q = row.lead.association.q if row.lead.association else None
        row.is_significant = q is not None and q <= MOST_FALSE
        row.stands_out = _is_clear_among_known(row)
    significant = sorted((row for row in rows if row.is_significant), key=_order_of_significant)
    leads = part_followers(significant, groups)
    significant += _uncover(rows, leads, groups)
    find_twins(sorted(rows, key=_order_of_significant), groups)
    followers = {one.fact.id for row in significant if row.follows for one in row.members}
    standing = [row for row in rows if row.is_significant and not row.follows]
    follow_labels(standing, [label for label in stratify if label.id not in followers], groups)
    rows = join_subjects(sorted(rows, key=_order_of_counted))
    _explain(rows, facts, host_sets)
    return _causes_behind(rows)


def _is_clear_among_known(row: Row) -> bool:
    """Whether what rules know, counted among itself, shows a difference that is large as well.

    Between all hosts of one group and all others it shows by itself, if these are more than a few.
    """
    q = row.lead.q_among_known
    is_sure = q is not None and q <= MOST_FALSE and _differs_much(row)
    is_whole = abs(row.lead.share_difference) == 1 and row.lead.p <= LEAST_P
    return row.lead.rule is not None and (is_sure or is_whole)


def _differs_much(row: Row) -> bool:
    return abs(row.lead.share_difference) >= LEAST_SHARE_DIFFERENCE


def _uncover(rows: Sequence[Row], leads: list[Row], groups: Groups) -> list[Row]:
    """Add to the leads what goes with the symptom once they are allowed for; gives what was added.

    It goes on where chance could have done it, from the best row if there is no lead. That finds nothing
    more, but of causes that hide each other the order is the better one.
    """
    hidden = [
        row
        for row in rows
        if not row.is_significant and row.lead.association and row.lead.association.q is not None
    ]
    added: list[Row] = []
    alike_in, is_sure = list(leads), bool(leads)
    if not alike_in and hidden:
        alike_in = [min(hidden, key=_order_of_significant)]
        hidden.remove(alike_in[0])
    while hidden and len(alike_in) < MOST_ALIKE_IN:
        for row in hidden:
            row.p_among_alike = p_among_alike(row.lead.split, alike_in, groups)
        chances = [min((row.p_among_alike or 0.0) * _ways(row), 1.0) for row in hidden]
        adjusted = benjamini_hochberg(chances)
        best = min(range(len(hidden)), key=lambda place: (chances[place], hidden[place].p_among_alike or 0.0))
        is_sure = is_sure and adjusted[best] <= MOST_FALSE
        row = hidden.pop(best)
        alike_in.append(row)
        if is_sure:
            row.is_significant = True
            leads.append(row)
            added.append(row)
    return added


def _ways(row: Row) -> int:
    """Of how many splits this one is the best: of a label with hundreds of values, one of them always is."""
    return min(len(one.fact.values) if len(one.fact.values) > 2 else 1 for one in row.members)


def relevance_of(row: Row) -> Relevance:
    """Why a row stands where it does."""
    if row.cause_of:  # of something that matters
        return Relevance.KNOWN
    if row.follows:
        return Relevance.INCIDENTAL
    if row.lead.rule and (row.is_significant or row.stands_out):
        return Relevance.KNOWN
    return Relevance.ASSOCIATED if row.is_significant else Relevance.INCIDENTAL


def _known_weight(row: Row) -> float:
    return row.lead.weight + (FOR_A_CAUSE if row.because and row.because.is_shown else 0.0)


def _order_of_known(row: Row) -> tuple[float, int, str]:
    split = row.lead.split
    smaller = min(split.hosts.bit_count(), (split.known & ~split.hosts).bit_count())
    return -_known_weight(row), smaller, row.lead.fact.id


def _order_of_few(row: Row) -> tuple[bool, float, float, str]:
    weight = _known_weight(row) if row.stands_out else 0.0
    return not row.stands_out, -weight, -abs(row.lead.share_difference), row.lead.fact.id


def _order_of_significant(row: Row) -> tuple[bool, bool, float, str]:
    association = row.lead.association
    q = association.q if association and association.q is not None else 1.0
    is_known = row.lead.rule is not None
    p = row.lead.p if row.p_among_alike is None else row.p_among_alike
    return q > STRONG, not is_known if q <= STRONG else True, p, row.lead.fact.id


def _order_of_twins(row: Row) -> tuple[bool, tuple[bool, bool, float, str]]:
    return row.lead.rule is None, _order_of_significant(row)


def _order_of_counted(row: Row) -> tuple[int, bool, bool, float, str]:
    if row.is_significant and not row.follows:
        twins = [other for other in row.alike if other.is_significant and not other.follows]
        # Of those that nobody can tell apart, the one that is known stands for all.
        tier = 0 if min([row, *twins], key=_order_of_twins) is row else 1
    elif row.follows:
        tier = 4
    else:
        tier = 2 if row.stands_out else 3
    return tier, *_order_of_significant(row)


def _explain(rows: list[Row], facts: Mapping[str, VaryingFact], host_sets: HostSets) -> None:
    """Look for what is behind the rows that may matter."""
    search = search_in(facts, host_sets)
    likely = [row for row in rows if relevance_of(row) is not Relevance.INCIDENTAL]
    for row in likely[:MOST_EXPLAINED]:
        row.because = find_likely_cause(row.lead.fact, row.lead.split, search)


def _causes_behind(rows: list[Row]) -> list[Row]:
    """Every row with the row of its cause right behind it, once; a cause does not stand before its effect."""
    holder = {one.fact.id: row for row in rows for one in row.members}
    cause_of: dict[Row, Row] = {}
    effect_of: dict[Row, Row] = {}
    for row in rows:
        if row.because is None or row.because.fact not in holder:
            continue
        cause = _taken_out(row.because.fact, holder[row.because.fact])
        if cause is not row:
            holder |= {member.fact.id: cause for member in cause.members}
            cause_of[row] = cause
            if row.because.is_shown:
                cause.cause_of.append(row.lead.fact.id)
                effect_of.setdefault(cause, row)
    placed: dict[Row, None] = {}  # in order
    for row in rows:
        first = [row]
        while (effect := effect_of.get(first[-1])) and effect not in placed and effect not in first:
            first.append(effect)
        for one in reversed(first):
            next_row: Row | None = one
            while next_row and next_row not in placed:
                placed[next_row] = None
                next_row = cause_of.get(next_row)
    return list(placed)


def _taken_out(fact: str, row: Row) -> Row:
    """The row of a cause: the one that it leads, else a new one with all that is about the same."""
    subject = next(one.subject for one in row.members if one.fact.id == fact)
    if row.lead.subject == subject:
        return row
    members = sorted((one for one in row.same_split if one.subject == subject), key=order_of_fact)
    row.same_split = [one for one in row.same_split if one.subject != subject]
    return Row(
        members[0],
        members[1:],
        follows=list(row.follows),
        is_significant=row.is_significant,
        stands_out=row.stands_out,
    )

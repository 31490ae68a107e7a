"""Which differences between hosts matter: from snapshots side by side to the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from necroscope.inventory.drift.fact_table import FactTable, VaryingFact
from necroscope.inventory.drift.fold_facts import Row
from necroscope.inventory.drift.host_sets import Groups, HostSets
from necroscope.inventory.drift.ranking import rank_groups, rank_hosts, relevance_of
from necroscope.inventory.drift.rollup import Rollup, find_rollups
from necroscope.inventory.drift.sentences import summary
from necroscope.inventory.drift.splits import Candidate
from necroscope.model.drift import Difference, Drift, FactByGroup, Relevance

MOST_VALUES = 20  # of a fact; more are counted together
MOST_HOSTS = 20  # named for a value
TOO_FEW = "too few hosts to tell by counting: the order is by what is known to matter"
NOT_KNOWN = "nothing is known that makes it matter"
NOT_ASSOCIATED = "about as common in one group as in the others, as far as can be counted"
LABELS = "labels"


def compare(table: FactTable, groups: Groups, stratify: Sequence[str] = ()) -> Drift:
    """All differences in order. `stratify` are facts to compare within; without any, all labels."""
    host_sets = HostSets(table, groups)
    facts = {fact.id: fact for fact in table.varying()}
    if groups.symptom_name is None:
        rows = rank_hosts(facts, host_sets)
    else:
        rows = rank_groups(facts, host_sets, _strata(facts.values(), stratify))
    return Drift(
        groups={name: table.names(hosts) for name, hosts in groups.sets.items()},
        symptom=groups.symptom_name,
        facts=table.count_facts(),
        differences=tuple(_differences(rows, host_sets)),
        not_compared=tuple(table.not_compared()),
        note=TOO_FEW if groups.symptom_name is not None and not groups.can_count else "",
    )


def _strata(facts: Iterable[VaryingFact], wanted: Sequence[str]) -> list[VaryingFact]:
    if not wanted:
        return [fact for fact in facts if fact.section == LABELS]
    names = {*wanted, *(f"{LABELS}/{name}" for name in wanted)}
    return [fact for fact in facts if fact.id in names]


def _differences(rows: list[Row], host_sets: HostSets) -> Iterable[Difference]:
    """Yield one for each row, and one for all that are rolled up."""
    rollups = {row: rollup for rollup in find_rollups(rows, host_sets.groups) for row in rollup.rows}
    done = set()
    for row in rows:
        rollup = rollups.get(row)
        if rollup is None:
            yield _difference(row, host_sets)
        elif rollup.id not in done:
            done.add(rollup.id)
            yield _difference_of_rollup(rollup, host_sets)


def _difference(row: Row, host_sets: HostSets) -> Difference:
    relevance = relevance_of(row)
    lead = row.lead
    rule = lead.rule if relevance is Relevance.KNOWN else None
    same_split = _same_split(row, host_sets.groups)
    return Difference(
        lead=_by_group(lead, host_sets),
        summary=summary(row, host_sets),
        relevance=relevance,
        matters=relevance is not Relevance.INCIDENTAL,
        why=_why(row, relevance, host_sets),
        reference=rule.reference if rule else "",
        association=lead.association,
        p_among_alike=row.p_among_alike,
        hosts=_hosts(lead, host_sets),
        together=tuple(_by_group(one, host_sets) for one in row.together),
        same_split=same_split,
        cannot_tell_apart_from=(
            *same_split,
            *(one.fact.id for other in row.alike for one in (other.lead, *other.same_split)),
        ),
        explained_by=tuple(row.follows),
        because=row.because,
        cause_of=tuple(row.cause_of),
    )


def _same_split(row: Row, groups: Groups) -> tuple[str, ...]:
    """The other facts that split the hosts in exactly the same way; two hosts are split so by any fact."""
    if not groups.can_count:
        return ()
    key = row.lead.split.key
    return tuple(one.fact.id for one in row.members[1:] if one.split.key == key)


def _difference_of_rollup(rollup: Rollup, host_sets: HostSets) -> Difference:
    members = [one for row in rollup.rows for one in row.members]
    is_plain = host_sets.groups.symptom_name is None
    return Difference(
        lead=FactByGroup(rollup.id, {}),
        summary=rollup.sentence,
        relevance=Relevance.INCIDENTAL,
        matters=False,
        why=NOT_KNOWN if is_plain else NOT_ASSOCIATED,
        reference="",
        association=None,
        p_among_alike=None,
        hosts={},
        together=tuple(_by_group(one, host_sets) for one in members),
        same_split=(),
        cannot_tell_apart_from=(),
        explained_by=(),
        because=None,
        cause_of=(),
    )


def _why(row: Row, relevance: Relevance, host_sets: HostSets) -> str:
    parts = []
    if row.cause_of:
        parts.append(f"it is behind {', '.join(row.cause_of)}")
    if relevance is Relevance.KNOWN and row.lead.rule:
        parts.append(row.lead.rule.why)
    if row.is_significant and row.lead.association:
        if row.follows:
            parts.append(
                f"follows {', '.join(row.follows)}: among hosts that are alike in it, it does not go with "
                f"the {host_sets.groups.symptom_name} group"
            )
        else:
            group = host_sets.groups.symptom_name
            parts.append(f"goes with the {group} group more than chance would have it")
    elif relevance is Relevance.INCIDENTAL:
        parts.append(NOT_KNOWN if host_sets.groups.symptom_name is None else NOT_ASSOCIATED)
    return "; ".join(parts)


def _by_group(candidate: Candidate, host_sets: HostSets) -> FactByGroup:
    values: dict[str, dict[str | None, int]] = {}
    fact = candidate.fact
    for name, members in host_sets.groups.sets.items():
        counts = Counter(
            {value: count for value, hosts in fact.values.items() if (count := (hosts & members).bit_count())}
        )
        common = dict(counts.most_common(MOST_VALUES))
        if others := len(counts) - len(common):
            common[f"({others:,} other values)"] = counts.total() - sum(common.values())
        values[name] = common
    return FactByGroup(fact.id, values)


def _hosts(candidate: Candidate, host_sets: HostSets) -> dict[str | None, tuple[str, ...]]:
    common = sorted(candidate.fact.values.items(), key=lambda row: -row[1].bit_count())[:MOST_VALUES]
    return {value: host_sets.table.names(hosts, MOST_HOSTS) for value, hosts in common}

"""Every way in which a fact splits the hosts, and how well each goes with the symptom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import sqrt

from necroscope.inventory.drift.fact_table import Hosts, VaryingFact
from necroscope.inventory.drift.host_sets import LEAST_P, Groups
from necroscope.inventory.drift.relevance import Rule, find_rule
from necroscope.inventory.drift.subjects import (
    FAILED,
    LOOPS,
    NOT_RUN,
    RUNS,
    is_run_state,
    is_step,
    of_kinds,
    subject_of,
)
from necroscope.model.drift import Association
from necroscope.statistics.false_discovery import benjamini_hochberg
from necroscope.statistics.fisher import Table, fisher_exact, information_gain_bits, odds_ratio, smallest_p

FEWEST_PER_VALUE = 5  # hosts, on average; a label that is another on every host tells nothing
Key = tuple[Hosts, Hosts]  # the hosts of a side, and all that can tell


@dataclass(frozen=True, slots=True)
class Split:
    """Hosts that have one value, or one of some that mean the same, against all others that can tell."""

    values: tuple[str | None, ...]
    hosts: Hosts
    known: Hosts

    @property
    def key(self) -> Key:
        """The same for all facts that split the hosts in the same way, or the other way round."""
        return min(self.hosts, self.known ^ self.hosts), self.known

    def table(self, groups: Groups, among: Hosts = -1) -> Table:
        """The hosts of each group with it and without, among some."""
        with_it, without = self.hosts & among, self.known & ~self.hosts & among
        return Table(
            (with_it & groups.symptom).bit_count(),
            (without & groups.symptom).bit_count(),
            (with_it & groups.rest).bit_count(),
            (without & groups.rest).bit_count(),
        )


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fact, and the split that says most about it."""

    fact: VaryingFact
    split: Split
    rule: Rule | None  # that knows it
    association: Association | None
    share_difference: float  # between the groups; 1 where single hosts are compared
    q_among_known: float | None = None  # by Benjamini-Hochberg over what rules know only

    @property
    def weight(self) -> float:
        """How much the rules give for it."""
        return self.rule.weight if self.rule else 0.0

    @property
    def p(self) -> float:
        """That of its association; 1 without one."""
        return self.association.p if self.association else 1.0

    @property
    def subject(self) -> str:
        """What it is about."""
        return subject_of(self.fact.section, self.fact.name)


def discord(one: Split, other: Split) -> int:
    """How many hosts make the difference between two splits, whichever way round."""
    among = one.known & other.known
    odd = ((one.hosts ^ other.hosts) & among).bit_count()
    return min(odd, among.bit_count() - odd)


def likeness(one: Split, other: Split) -> float:
    """The correlation of two splits, from 0 to 1, whichever way round."""
    among = one.known & other.known
    both = (one.hosts & other.hosts & among).bit_count()
    first, second, hosts = (
        (one.hosts & among).bit_count(),
        (other.hosts & among).bit_count(),
        among.bit_count(),
    )
    spread = first * (hosts - first) * second * (hosts - second)
    return abs(both * hosts - first * second) / sqrt(spread) if spread else 0.0


def decides(fact: VaryingFact, split: Split) -> bool:
    """Whether a fact of three values or more tells for every host on which side of a split it is.

    Values that few hosts share tell of those hosts, and not of the split.
    """
    among = fact.known & split.known
    with_it, hosts = (among & split.hosts).bit_count(), among.bit_count()
    if not 3 <= len(fact.values) <= hosts // FEWEST_PER_VALUE:
        return False
    if min(with_it, hosts - with_it) < FEWEST_PER_VALUE:
        return False
    return all(
        not its & among & split.hosts or not its & among & ~split.hosts for its in fact.values.values()
    )


def splits_of(fact: VaryingFact) -> list[Split]:
    """Each value against the rest, there against not there, and states by their kind; the plainest first."""
    by_key: dict[Key, Split] = {}
    for ways in (_by_kind(fact), _by_value(fact)):
        for split in ways:
            if split.hosts not in (0, fact.known):
                by_key.setdefault(split.key, split)
        if by_key:  # why a unit does not run says less than that it does not
            break
    return list(by_key.values())


def _by_kind(fact: VaryingFact) -> Iterator[Split]:
    kinds: tuple[tuple[str, ...], ...] = ()
    if is_run_state(fact):
        kinds = ((RUNS, LOOPS), (LOOPS,), (FAILED,))
    elif is_step(fact):
        kinds = ((FAILED, NOT_RUN), (FAILED,), (NOT_RUN,))
    for some in kinds:
        hosts = of_kinds(fact, *some)
        yield Split(tuple(value for value, its in fact.values.items() if its & hosts), hosts, fact.known)


def _by_value(fact: VaryingFact) -> Iterator[Split]:
    if None in fact.values:
        there = tuple(value for value in fact.values if value is not None)
        yield Split(there, fact.known & ~fact.values[None], fact.known)
    for value, hosts in sorted(fact.values.items(), key=lambda row: (row[1].bit_count(), row[0] or "")):
        yield Split((value,), hosts, fact.known)


def compare_hosts(facts: Iterable[VaryingFact]) -> list[Candidate]:
    """Every fact with its plainest split: the one that names the fewest hosts, unless it is a state."""
    candidates = []
    for fact in facts:
        splits = splits_of(fact)
        rule = find_rule(fact)
        candidates.append(Candidate(fact, splits[0], rule, None, 1.0))
    return candidates


def compare_groups(facts: Iterable[VaryingFact], groups: Groups) -> list[Candidate]:
    """Every fact that both groups can tell, with the split that goes best with the symptom.

    Facts that split the hosts in the same way are one test; all tests together are allowed for, and once
    more those of what rules know among themselves.
    """
    tables: dict[Key, Table] = {}
    chosen: list[Candidate] = []
    tested: dict[Key, float] = {}
    known: dict[Key, float] = {}
    symptom, rest = groups.symptom, groups.rest
    for fact in facts:
        if not (fact.known & symptom and fact.known & rest):
            continue
        splits, rule = splits_of(fact), find_rule(fact)
        for split in splits:
            table = tables[split.key] = split.table(groups)
            if smallest_p(table.with_it, (fact.known & symptom).bit_count(), table.hosts) <= LEAST_P:
                tested[split.key] = fisher_exact(table)
                if rule:
                    known[split.key] = tested[split.key]
        chosen.append(_candidate(fact, _best(splits, tested, tables), rule, groups))
    q_of, q_among_known = _adjusted(tested), _adjusted(known)
    return [
        replace(
            one,
            association=replace(one.association, q=q_of.get(one.split.key)),
            q_among_known=q_among_known.get(one.split.key) if one.rule else None,
        )
        for one in chosen
        if one.association
    ]


def _adjusted(tested: dict[Key, float]) -> dict[Key, float]:
    return dict(zip(tested, benjamini_hochberg(list(tested.values())), strict=True))


def _best(
    splits: list[Split],
    tested: dict[Key, float],
    tables: dict[Key, Table],
) -> Split:
    return min(
        splits, key=lambda split: (tested.get(split.key, 2.0), -abs(tables[split.key].share_difference))
    )


def _candidate(fact: VaryingFact, split: Split, rule: Rule | None, groups: Groups) -> Candidate:
    table = split.table(groups)
    without = tuple(value for value, hosts in fact.values.items() if not hosts & split.hosts)
    if table.share_difference < 0 and len(without) == 1 and not (is_run_state(fact) or is_step(fact)):
        split = Split(without, split.known & ~split.hosts, split.known)  # told as the symptom has it
        table = split.table(groups)
    ratio, interval = odds_ratio(table)
    gain = information_gain_bits(table)
    association = Association(fisher_exact(table), None, ratio, interval, gain)
    return Candidate(fact, split, rule, association, table.share_difference)

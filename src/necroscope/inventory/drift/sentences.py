"""A difference as a sentence that is true and clear, whichever side is the healthy one."""

from __future__ import annotations

from necroscope.inventory.drift.fact_table import Hosts
from necroscope.inventory.drift.folding import Row
from necroscope.inventory.drift.phrases import about, said_of_all
from necroscope.inventory.drift.places import Places
from necroscope.inventory.drift.splits import Candidate
from necroscope.inventory.drift.subjects import LOOPS, RESTS, RUNS, is_run_state, is_step, kind_of


def summary(row: Row, places: Places) -> str:
    """The whole sentence, with what is behind it, or else what it cannot be told apart from."""
    sentence = sentence_of(row.lead, places)
    if row.because is not None:
        return f"{sentence}{',' if row.because.is_shown else ';'} {row.because.text}"
    others = [one.fact.id for one in row.same_split] + [other.lead.fact.id for other in row.alike]
    if not others or not places.groups.can_count or row.cause_of:
        return sentence
    more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
    return f"{sentence}; it cannot be told apart from {others[0]}{more}"


def sentence_of(candidate: Candidate, places: Places) -> str:
    """What is where, and what is elsewhere."""
    fact, split = candidate.fact, candidate.split
    rest = split.known & ~split.hosts
    what = about(fact.section, fact.name)
    elsewhere = tuple(value for value, hosts in fact.values.items() if not hosts & split.hosts)
    own = said_of_all(fact.section, fact.name, split.values, elsewhere)
    others = _others_said(candidate, own)
    groups = places.groups
    if groups.symptom_name is not None:
        pure = (groups.symptom & split.known, groups.rest & split.known)
        if (split.hosts, rest) not in (pure, pure[::-1]):
            return f"{what} {own} {places.counted(split.hosts, split.known)}"
        here, there = places.where(split.hosts, split.known), places.where(rest, split.known)
        if len(groups.sets) == 2:
            there = there.removesuffix("group") + "one"
        return f"{what} {own} {here} and {others} {there}"
    if len(places.table.hosts) > 2 and split.hosts.bit_count() == 1 and rest.bit_count() > 1:
        here = places.where(split.hosts, split.known)
        return f"{what} {own} {here} only, and {others} on the other {rest.bit_count():,} hosts"
    sides: list[tuple[str, Hosts]] = [(own, split.hosts), (others, rest)]
    if not (is_run_state(fact) or is_step(fact)) and _lowest(rest) < _lowest(split.hosts):
        sides.reverse()  # in the order of the command line
    (first, here_hosts), (second, there_hosts) = sides
    here, there = places.where(here_hosts, split.known), places.where(there_hosts, split.known)
    return f"{what} {first} {here} and {second} {there}"


def _others_said(candidate: Candidate, own: str) -> str:
    """What is said of the other side; of a unit that runs here, simply that it does not there."""
    fact, split = candidate.fact, candidate.split
    values = tuple(value for value, hosts in fact.values.items() if not hosts & split.hosts)
    if is_run_state(fact) and {kind_of(value) for value in split.values} <= {RUNS, LOOPS}:
        kinds = {kind_of(value) for value in values}
        if kinds == {RESTS}:
            return "not"
        if len(values) > 1 and RUNS not in kinds and LOOPS not in kinds:
            return "not"
    said = said_of_all(fact.section, fact.name, values, split.values)
    return said if said != own else "otherwise"


def _lowest(hosts: Hosts) -> int:
    return hosts & -hosts

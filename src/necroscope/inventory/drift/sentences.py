"""A difference as a sentence that is true and clear, whichever side is the healthy one."""

from __future__ import annotations

from collections.abc import Sequence

from necroscope.inventory.drift.fact_table import Hosts
from necroscope.inventory.drift.fold_facts import Row
from necroscope.inventory.drift.host_sets import HostSets
from necroscope.inventory.drift.splits import Candidate
from necroscope.inventory.drift.subjects import (
    FAILED,
    LOOPS,
    NOT_RUN,
    RESTS,
    RUNS,
    is_run_state,
    is_step,
    kind_of,
)

LONGEST_VALUE = 60
MOST_PHRASES = 2
STATES = {
    "stopped": "does not run",
    "inactive": "does not run",
    "dead": "does not run",
    "exited": "has run and ended",
    "waiting": "waits",
    "listening": "listens",
    "on demand": "starts on demand",
    "": "is in no state",
}


def summary(row: Row, host_sets: HostSets) -> str:
    """The whole sentence, with what is behind it, or else what it cannot be told apart from."""
    sentence = sentence_of(row.lead, host_sets)
    if row.because is not None:
        return f"{sentence}{',' if row.because.is_shown else ';'} {row.because.text}"
    others = [one.fact.id for one in row.same_split] + [other.lead.fact.id for other in row.alike]
    if not others or not host_sets.groups.can_count or row.cause_of:
        return sentence
    more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
    return f"{sentence}; it cannot be told apart from {others[0]}{more}"


def sentence_of(candidate: Candidate, host_sets: HostSets) -> str:
    """What is where, and what is elsewhere."""
    fact, split = candidate.fact, candidate.split
    rest = split.known & ~split.hosts
    what = about(fact.section, fact.name)
    elsewhere = tuple(value for value, hosts in fact.values.items() if not hosts & split.hosts)
    own = said_of_all(fact.section, fact.name, split.values, elsewhere)
    others = _others_said(candidate, own)
    groups = host_sets.groups
    if groups.symptom_name is not None:
        pure = (groups.symptom & split.known, groups.rest & split.known)
        if (split.hosts, rest) not in (pure, pure[::-1]):
            return f"{what} {own} {host_sets.counted(split.hosts, split.known)}"
        here, there = host_sets.where(split.hosts, split.known), host_sets.where(rest, split.known)
        if len(groups.sets) == 2:
            there = there.removesuffix("group") + "one"
        return f"{what} {own} {here} and {others} {there}"
    if len(host_sets.table.hosts) > 2 and split.hosts.bit_count() == 1 and rest.bit_count() > 1:
        here = host_sets.where(split.hosts, split.known)
        return f"{what} {own} {here} only, and {others} on the other {rest.bit_count():,} hosts"
    sides: list[tuple[str, Hosts]] = [(own, split.hosts), (others, rest)]
    if not (is_run_state(fact) or is_step(fact)) and _lowest(rest) < _lowest(split.hosts):
        sides.reverse()  # in the order of the command line
    (first, here_hosts), (second, there_hosts) = sides
    here, there = host_sets.where(here_hosts, split.known), host_sets.where(there_hosts, split.known)
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


def about(section: str, name: str) -> str:
    """What a fact is about."""
    head, _, rest = name.partition("/")
    if section in ("units", "environment") and rest:
        return head if rest in ("runs", "enabled") else f"{_aspect(section, rest)} of {head}"
    if section == "kernel" and head == "command-line" and rest:
        return f"kernel parameter {rest}"
    words = {
        "sysctls": "sysctl",
        "packages": "package",
        "modules": "kernel module",
        "labels": "label",
        "bootstrap": "bootstrap step",
        "nics": "NIC setting",
        "mounts": "mount",
        "interrupts": "interrupt setting",
        "kernel": "kernel",
        "cgroups": "cgroup",
        "cpu": "CPU",
    }
    return f"{words.get(section, section)} {name}"


def said(section: str, name: str, value: str | None) -> str:
    """What is said of it: the end of a sentence."""
    head, _, aspect = name.rpartition("/")
    if section == "units" and head and aspect == "runs":
        return _state(value)
    if section == "bootstrap" and not name.endswith("/names"):
        return "is not there" if value is None else _step(value)
    if value is None:
        return {"packages": "is not installed", "modules": "is not loaded"}.get(section, "is not there")
    if section == "units" and aspect == "enabled":
        return f"is {shortened(value)}" if value else "cannot be enabled"
    if section == "packages":
        return f"has version {shortened(value)}"
    return f"is {shortened(value)}" if value else "is empty"


def said_of_all(
    section: str, name: str, values: Sequence[str | None], elsewhere: Sequence[str | None]
) -> str:
    """What is said of hosts that have one of several values, where others have what is elsewhere."""
    if len(values) == 1:
        return said(section, name, values[0])
    if list(elsewhere) == [None]:
        return {"packages": "is installed", "modules": "is loaded"}.get(section, "is there")
    if section in ("units", "bootstrap"):
        kinds = {kind_of(value) for value in values}
        if kinds <= {RUNS, LOOPS}:
            return "runs"
        if kinds == {FAILED}:
            return "failed"
    phrases = list(dict.fromkeys(said(section, name, value) for value in values))
    return (
        " or ".join(phrases) if len(phrases) <= MOST_PHRASES else f"has one of {len(phrases):,} other values"
    )


def shortened(value: str) -> str:
    """A value that fits into a sentence."""
    line = " ".join(value.split())
    return line if len(line) <= LONGEST_VALUE else f"{line[: LONGEST_VALUE - 3]}..."


def _state(value: str | None) -> str:
    if value is None:
        return "is not there"
    kind = kind_of(value)
    if kind == RUNS:
        return "runs"
    if kind == LOOPS:
        return "crash-loops"
    if kind == FAILED:
        return shortened(value)
    return STATES.get(value) or f"is {shortened(value)}"


def _step(value: str) -> str:
    kind = kind_of(value)
    if kind == NOT_RUN:
        return shortened(value.replace("not run", "has not run", 1))
    if value == "succeeded" or kind == FAILED:
        return shortened(value)
    return f"is {shortened(value)}" if value else "is in no state"


def _aspect(section: str, aspect: str) -> str:
    names = {"file": "the place", "text": "the unit file", "needs": "what is needed", "origin": "the origin"}
    return f"variable {aspect}" if section == "environment" else names.get(aspect, aspect)

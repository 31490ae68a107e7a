"""The likely cause why a unit runs on some hosts only.

A cause is named where something ties it to the unit: a bootstrap step that failed or did not run, and that
names the unit or a file the unit looks at; a unit it needs, a condition, its being enabled, its package. A
step that failed on the same hosts without such a tie is told as that, and not as the cause.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from necroscope.inventory.drift.fact_table import Hosts, VaryingFact
from necroscope.inventory.drift.host_sets import HostSets
from necroscope.inventory.drift.splits import Split
from necroscope.inventory.drift.subjects import (
    CONDITION,
    FAILED,
    LOOPS,
    NAMES,
    NOT_RUN,
    RUNS,
    is_run_state,
    is_step,
    kind_of,
    of_kinds,
    unit_of,
)
from necroscope.model.drift import Because
from necroscope.sources.script_files import UNIT_FOLDERS, is_looked_at, paths_of

MOST_DISCORD = 0.2  # of the hosts of the smaller side
VERBS = {FAILED: "failed", NOT_RUN: "did not run"}  # of a step
STEP_ENDED = re.compile(r"(?:not run|\S+) *(?P<detail>.*)", re.DOTALL)  # such as: failed (exit 1)
PATH = re.compile(r"/[\w.@+/-]+")
NOT_STARTED = ("disabled", "masked", "masked-runtime", "bad", None)


@dataclass(frozen=True, slots=True)
class Search:
    """Where causes are looked for: all facts that differ, and how to name hosts."""

    facts: Mapping[str, VaryingFact]  # by id
    steps: tuple[VaryingFact, ...]  # of the bootstrap that failed or did not run on some hosts
    host_sets: HostSets


Way = Callable[[VaryingFact, Split, Search], Because | None]


def search_in(facts: Mapping[str, VaryingFact], host_sets: HostSets) -> Search:
    """Find the steps that were left undone once."""
    steps = tuple(fact for fact in facts.values() if is_step(fact) and _undone(fact) not in (0, fact.known))
    return Search(facts, steps, host_sets)


def find_likely_cause(fact: VaryingFact, split: Split, search: Search) -> Because | None:
    """What is behind a split of the hosts by a unit's state; None where nothing is."""
    if fact.section != "units" or not fact.name.endswith(("/runs", "/enabled")):
        return None
    ways: tuple[Way, ...] = (_named_by_step, _at_the_same_time)
    if is_run_state(fact):
        ways = (_named_by_step, _needed_unit, _condition, _enabled, _package, _at_the_same_time)
    return next((found for way in ways if (found := way(fact, split, search))), None)


def _named_by_step(fact: VaryingFact, split: Split, search: Search) -> Because | None:
    unit = unit_of(fact)
    for step in _matching_steps(fact, split, search):
        if link := _link(unit, fact, step, search):
            return Because(step.id, f"because {_failure(step, search.host_sets)}", link, True)
    return None


def _link(unit: str, fact: VaryingFact, step: VaryingFact, search: Search) -> str:
    """What ties a step to a unit; empty where nothing does."""
    table = search.host_sets.table
    words = {word for text in table.values("bootstrap", step.name + NAMES) for word in text.split()}
    if unit in words:
        return f"it names {unit}"
    stem = unit.rpartition(".")[0].partition("@")[0]
    asked = {match["path"] for value in fact.values if (match := CONDITION.match(value or ""))}
    asked |= {path for text in table.texts("units", f"{unit}/") for path in PATH.findall(text)}
    for path in paths_of(words):
        if path.rpartition("/")[2] == unit:
            return f"it names {path}"
        if is_looked_at(path, asked):
            return f"it names {path}, which {unit} looks at"
        if not path.startswith(UNIT_FOLDERS) and stem in path.split("/")[2:]:
            return f"it names {path}"
    return ""


def _needed_unit(fact: VaryingFact, _: Split, search: Search) -> Because | None:
    unit = unit_of(fact)
    works = Split((), of_kinds(fact, RUNS) or of_kinds(fact, RUNS, LOOPS), fact.known)
    needs = {
        word for text in search.host_sets.table.values("units", f"{unit}/needs") for word in text.split()
    }
    for needed in sorted(needs):
        other = search.facts.get(f"units/{needed}/runs")
        if other is None:
            continue
        failed = of_kinds(other, FAILED)
        down = failed or other.known & ~of_kinds(other, RUNS, LOOPS)
        if _agree(works, Split((), other.known & ~down, other.known)):
            where = search.host_sets.where(down, other.known)
            how = "failed" if failed else "does not run"
            text = f"because {needed}, which it needs, {how} {where}"
            return Because(other.id, text, f"{unit} needs {needed}", True)
    return None


def _condition(fact: VaryingFact, _: Split, search: Search) -> Because | None:
    for value, hosts in fact.values.items():
        match = CONDITION.match(value or "")
        if match and _agree(_started(fact), Split((), fact.known & ~hosts, fact.known)):
            where = search.host_sets.where(hosts, fact.known)
            text = f"because its condition {match['condition']} does not hold {where}"
            return Because(fact.id, text, "systemd skipped it for that", True)
    return None


def _enabled(fact: VaryingFact, _: Split, search: Search) -> Because | None:
    unit = unit_of(fact)
    enabled = search.facts.get(f"units/{unit}/enabled")
    if enabled is None:
        return None
    off = 0
    for value, hosts in enabled.values.items():
        off |= hosts if value in NOT_STARTED else 0
    if not _agree(_started(fact), Split((), enabled.known & ~off, enabled.known)):
        return None
    states = sorted({value or "not there" for value, hosts in enabled.values.items() if hosts & off})
    text = f"because it is {' or '.join(states)} {search.host_sets.where(off, enabled.known)}"
    return Because(enabled.id, text, "it is not started at boot there", True)


def _package(fact: VaryingFact, _: Split, search: Search) -> Because | None:
    """A package that is missing where the whole unit is."""
    if None not in fact.values:
        return None
    unit = unit_of(fact)
    there = Split((), fact.known & ~fact.values[None], fact.known)
    owners = {
        word for text in search.host_sets.table.values("units", f"{unit}/package") for word in text.split()
    }
    for other in search.facts.values():
        if other.section != "packages" or None not in other.values:
            continue
        stem = unit.rpartition(".")[0].partition("@")[0]
        missing = other.values[None]
        if (other.name in owners or other.name == stem) and _agree(
            there, Split((), other.known & ~missing, other.known)
        ):
            where = search.host_sets.where(missing, other.known)
            text = f"because package {other.name} is not installed {where}"
            return Because(other.id, text, "the unit comes with it", True)
    return None


def _at_the_same_time(fact: VaryingFact, split: Split, search: Search) -> Because | None:
    steps = list(_matching_steps(fact, split, search))
    if len(steps) != 1:
        return None
    text = f"at the same time {_failure(steps[0], search.host_sets)}; whether that is the cause is not shown"
    return Because(steps[0].id, text, "", False)


def _matching_steps(fact: VaryingFact, split: Split, search: Search) -> Iterator[VaryingFact]:
    """The steps left undone that split the hosts as the unit does, in either direction."""
    for step in search.steps:
        undone = Split((), _undone(step), step.known)
        turned = Split((), step.known & ~undone.hosts, step.known)
        if unit_of(step) != unit_of(fact) and (_agree(split, undone) or _agree(split, turned)):
            yield step


def _undone(step: VaryingFact) -> Hosts:
    """The hosts where a step failed; or did not run, if it succeeded on others."""
    if "succeeded" in step.values:
        return of_kinds(step, FAILED, NOT_RUN)
    return of_kinds(step, FAILED)


def _failure(step: VaryingFact, host_sets: HostSets) -> str:
    undone = _undone(step)
    values = [value for value, hosts in step.values.items() if hosts & undone and value]
    kinds = {kind_of(value) for value in values}
    verb = " or ".join(word for kind, word in VERBS.items() if kind in kinds)
    details = {match["detail"] for value in values if (match := STEP_ENDED.match(value))}
    detail = f" {details.pop()}" if len(details) == 1 and "" not in details else ""
    return f"bootstrap step {step.name} {verb} {host_sets.where(undone, step.known)}{detail}"


def _started(fact: VaryingFact) -> Split:
    """The hosts where a unit was started, whatever became of it."""
    return Split((), of_kinds(fact, RUNS, LOOPS, FAILED), fact.known)


def _agree(one: Split, other: Split) -> bool:
    """Whether two splits are the same, but for a few hosts."""
    common = one.known & other.known
    hosts: list[Hosts] = [one.hosts & common, other.hosts & common]
    sides = [count for some in hosts for count in (some.bit_count(), common.bit_count() - some.bit_count())]
    return bool(min(sides)) and (hosts[0] ^ hosts[1]).bit_count() <= MOST_DISCORD * min(sides)

"""Did a roll-out help, against hosts without it: the question `fleet fixed`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from necroscope.errors import CannotLookError
from necroscope.fleet.engine.engine import Engine
from necroscope.fleet.questions.fixed_hosts import (
    Changes,
    Slices,
    gather_slices,
    in_turn,
    slices_before_and_after,
)
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.model.fleet.rollout import Period, Rollout
from necroscope.model.timestamp import HOUR_US
from necroscope.model.verdict import Verdict
from necroscope.signals.thresholds import Thresholds
from necroscope.statistics.graded_hosts import grades
from necroscope.statistics.ratio_of_ratios import (
    BeforeAfter,
    Counted,
    Hosts,
    RatioOfRatios,
    dispersion_of,
)

DAY_HOURS = 24.0
HALF = 0.5
LONGEST_DAYS = 366.0


@dataclass(frozen=True, slots=True)
class Sought:
    """What is asked for."""

    what: str  # was rolled out, in words
    kinds: tuple[str, ...]
    begin_us: int
    end_us: int
    thresholds: Thresholds


def ask_fixed(tables: FleetTables, engine: Engine, changes: Changes, sought: Sought) -> Rollout:
    """Compare the changed hosts with the others. CannotLookError: there is nothing to compare."""
    if not changes.changed:
        raise CannotLookError(f"no host was changed: {sought.what}", hint=changes.note)
    slices = gather_slices(
        tables, engine, sought.kinds, changes, (sought.begin_us, sought.end_us), sought.thresholds
    )
    return conclude_fixed(slices, changes, sought)


def conclude_fixed(slices: Slices, changes: Changes, sought: Sought) -> Rollout:
    """What the counts say."""
    changed_names = [name for name in slices.names if name in changes.changed]
    control_names = [name for name in slices.names if name in changes.control]
    times = [changes.changed[name] for name in changed_names]
    changed = _hosts(slices, changed_names, times)
    if not len(changed.before):
        raise CannotLookError("no changed host was recorded before and after", hint=changes.note)
    control = _hosts(slices, control_names, in_turn(control_names, times))
    if not len(control.before):
        raise CannotLookError("no other host was recorded before and after", hint=changes.note)
    picked = _were_picked(changed, control, sought.thresholds)
    if picked:
        control = _as_bad(control, changed)
    dispersion = dispersion_of((changed, control))
    groups = changed.counted(dispersion), control.counted(dispersion)
    ratio = RatioOfRatios(*groups)
    verdict = _verdict(ratio, sought.thresholds)
    is_open = verdict is Verdict.INCONCLUSIVE
    independent = len(changed.before) / dispersion
    return Rollout(
        what=sought.what,
        kinds=sought.kinds,
        begin_us=sought.begin_us,
        at_us=min(first for first, _ in times),
        end_us=sought.end_us,
        changed_before=_period(changed.before, changed.before_hours),
        changed_after=_period(changed.after, changed.after_hours),
        control_before=_period(control.before, control.before_hours),
        control_after=_period(control.after, control.after_hours),
        ratio=groups[0].ratio,
        control_ratio=groups[1].ratio,
        ratio_of_ratios=_ratio_of_ratios(*groups),
        interval=ratio.interval,
        p_better=ratio.probability_below(1.0),
        p_halved=ratio.probability_below(HALF),
        verdict=verdict.value,
        days_needed=_days_needed(groups, independent, sought.thresholds) if is_open else None,
        note=_note(changes, picked, changed, dispersion),
    )


def _hosts(slices: Slices, names: Sequence[str], times: Sequence[tuple[int, int]]) -> Hosts:
    """The hosts that were recorded both before and after their change."""
    place = {name: number for number, name in enumerate(slices.names)}
    rows = []
    for name, change in zip(names, times, strict=True):
        before, after = slices_before_and_after(slices.marks, change)
        hours, episodes = slices.recorded_us[place[name]] / HOUR_US, slices.episodes[place[name]]
        rows.append(
            (episodes[:before].sum(), hours[:before].sum(), episodes[after:].sum(), hours[after:].sum())
        )
    table = np.array(rows, dtype=float).reshape(-1, 4)
    table = table[(table[:, 1] > 0) & (table[:, 3] > 0)]
    counts = table[:, [0, 2]].astype(np.int64)
    return Hosts(counts[:, 0], table[:, 1], counts[:, 1], table[:, 3], np.ones(len(table)))


def _were_picked(changed: Hosts, control: Hosts, thresholds: Thresholds) -> bool:
    """Whether hosts were changed because they were bad: then they get better by themselves."""
    affected, others = float((changed.before > 0).mean()), float((control.before > 0).mean())
    return affected >= thresholds["fleet.picked"] > others


def _as_bad(control: Hosts, changed: Hosts) -> Hosts:
    """The other hosts, weighed so that as many of them were as bad before as of the changed ones."""
    top = int(grades(control.before).max(initial=0))
    own, its = (np.minimum(grades(hosts.before), top) for hosts in (control, changed))
    count, wanted = (np.bincount(some, minlength=top + 1) for some in (own, its))
    # A grade that no other host has is made up for by the one below it.
    for grade in range(top, 0, -1):
        if not count[grade]:
            wanted[grade - 1] += wanted[grade]
            wanted[grade] = 0
    weight = np.where(count > 0, wanted / np.maximum(count, 1), 0.0)[own]
    kept = weight > 0
    return Hosts(
        control.before[kept],
        control.before_hours[kept],
        control.after[kept],
        control.after_hours[kept],
        weight[kept] / weight[kept].mean(),
    )


def _verdict(ratio: RatioOfRatios, thresholds: Thresholds) -> Verdict:
    """Better or worse where that is sure and clear; unchanged where it is sure not to be half or double."""
    tail, clear = (1 - thresholds["fleet.sure"]) / 2, thresholds["fleet.clear"]
    if ratio.probability_below(1.0) > 1 - tail and ratio.probability_below(clear) > HALF:
        return Verdict.BETTER
    if ratio.probability_below(1.0) < tail and ratio.probability_below(1 / clear) < HALF:
        return Verdict.WORSE
    is_same = ratio.probability_below(HALF) < tail and ratio.probability_below(1 / HALF) > 1 - tail
    return Verdict.UNCHANGED if is_same else Verdict.INCONCLUSIVE


def _days_needed(
    groups: tuple[BeforeAfter, BeforeAfter], hosts: float, thresholds: Thresholds
) -> float | None:
    """How many more days without any episode of the changed hosts would show that it is better."""

    def shows(days: float) -> bool:
        later = RatioOfRatios(*_later(groups, days * DAY_HOURS * hosts))
        return _verdict(later, thresholds) is Verdict.BETTER

    low, high = 0.0, 0.25
    while not shows(high):
        low, high = high, high * 2
        if low > LONGEST_DAYS:
            return None
    for _ in range(10):
        middle = (low + high) / 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return high


def _later(groups: tuple[BeforeAfter, BeforeAfter], hours: float) -> tuple[BeforeAfter, BeforeAfter]:
    """The same so many hours later: no changed host has an episode, the others go on as now."""
    changed, control = groups
    grown = (changed.after.hours + hours) / changed.after.hours
    after = control.after
    return (
        replace(changed, after=Counted(changed.after.episodes, changed.after.hours + hours)),
        replace(control, after=Counted(after.episodes * grown, after.hours * grown)),
    )


def _ratio_of_ratios(changed: BeforeAfter, control: BeforeAfter) -> float | None:
    ratio, other = changed.ratio, control.ratio
    return ratio / other if ratio is not None and other else None


def _period(episodes: NDArray[np.int64], hours: NDArray[np.float64]) -> Period:
    return Period(len(episodes), int(episodes.sum()), float(hours.sum()))


def _note(changes: Changes, picked: bool, changed: Hosts, dispersion: float) -> str:
    notes = [changes.note]
    if picked:
        affected = int((changed.before > 0).sum())
        count = f"{affected:,} of {len(changed.before):,} had an episode before"
        notes.append(
            f"the changed hosts were picked because they were bad ({count}), and such hosts get better by "
            "themselves: they are compared with others that were as bad"
        )
    if not changed.before.sum():
        notes.append("the changed hosts had no episode before, so it cannot get better")
    if dispersion > 1.5:
        notes.append(f"episodes come in clusters: so many tell as much as {1 / dispersion:.0%} of them would")
    return "; ".join(filter(None, notes))

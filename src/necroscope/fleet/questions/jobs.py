"""`fleet jobs`: which jobs failed because of a node, how many, how much of the success rate that explains.

A failed job with an event on one of its hosts in the window around its end is put down to the node, unless
what it said shows that it failed by itself. How many of these would be there by chance is computed from the
events of the same hosts in all the time that was recorded (`jobs_chance`), and checked with jobs that have
succeeded: if their ends, too, have more events than chance gives, the chance of all is raised by as much.

Correlation is all there is: that a job fails near an event more often than chance would have it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from necroscope.fleet.engine.engine import Engine
from necroscope.fleet.jobs.failure_patterns import find_sign
from necroscope.fleet.questions.jobs_chance import Coverage, Draw, Excess, weigh
from necroscope.fleet.questions.jobs_gathered import (
    NodeEvent,
    Recorded,
    Span,
    gather_events,
    gather_recorded,
    gather_segments,
)
from necroscope.fleet.questions.jobs_sentences import blame_of, is_chance_too_low, note_of
from necroscope.fleet.questions.jobs_window import (
    Look,
    Recording,
    Window,
    default_window,
    ends_together,
    job_numbers,
)
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.model.fleet.job import FAILED, SUCCEEDED, Blame, ChanceCheck, Job, JobBlame, Jobs
from necroscope.model.timestamp import SECOND_US


@dataclass(frozen=True, slots=True)
class Sought:
    """What is asked for."""

    range_us: Span
    kinds: tuple[str, ...]
    window: Window = field(default_factory=default_window)


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the tables say about jobs."""

    recorded: Recorded
    coverage: Coverage
    recording: Recording


@dataclass(frozen=True, slots=True)
class Sorted:
    """The jobs of a range, by how they ended."""

    inside: tuple[Job, ...]
    failed: tuple[Job, ...]
    compared: tuple[Job, ...]  # of those that succeeded, enough to check the level of chance


def ask_jobs(
    tables: FleetTables, engine: Engine, jobs: Sequence[Job], sought: Sought, recorded: Recorded | None = None
) -> Jobs:
    """Put the failed ones of these jobs down to nodes, to themselves, or to nothing known.

    `recorded` is who was recorded in the range, where that was gathered before.
    """
    some = sort_jobs(jobs, sought.range_us)
    recorded = recorded or gather_recorded(tables, engine, *sought.range_us)
    return conclude_jobs(some, sought, gather_jobs(tables, engine, some, sought, recorded))


def sort_jobs(jobs: Sequence[Job], range_us: Span) -> Sorted:
    """Those that belong to a range."""
    inside = [job for job in jobs if _is_inside(job, range_us)]
    succeeded = [job for job in inside if job.status == SUCCEEDED and job.end_us and job.hosts]
    failed = (job for job in inside if job.status == FAILED)
    return Sorted(tuple(inside), tuple(failed), tuple(_some_of(succeeded)))


def gather_jobs(
    tables: FleetTables, engine: Engine, jobs: Sorted, sought: Sought, recorded: Recorded
) -> Gathered:
    """What the tables say about the hosts of some jobs."""
    window, (begin_us, end_us) = sought.window, sought.range_us
    ended = [job for job in (*jobs.failed, *jobs.compared) if job.end_us is not None]
    hosts = {host for job in ended for host in job.hosts if host in recorded.us}
    wider = (begin_us - window.before_us, end_us + window.after_us)
    events = gather_events(tables, engine, wider, hosts, sought.kinds)
    windows = ((host, window.around(job.end_us or 0)) for job in ended for host in job.hosts if host in hosts)
    segments = gather_segments(tables, engine, windows, recorded.longest_us)
    return gathered(recorded, events, segments, sought)


def gathered(
    recorded: Recorded,
    events: Mapping[str, Sequence[NodeEvent]],
    segments: Mapping[str, Sequence[Span]],
    sought: Sought,
) -> Gathered:
    """Put together what was gathered."""
    window = sought.window
    times = {host: [event.time_us for event in rows] for host, rows in events.items()}
    coverage = Coverage(times, recorded.us, (window.before_us, window.after_us), sought.range_us)
    return Gathered(recorded, coverage, Recording(window, events, segments))


def conclude_jobs(jobs: Sorted, sought: Sought, found: Gathered) -> Jobs:
    """The answer."""
    check = _check([found.recording.look(job) for job in jobs.compared], found.coverage, sought.window)
    scale = _scale(check)
    blames, candidates = [], []
    for job in jobs.failed:
        look, sign = found.recording.look(job) if job.end_us is not None else None, find_sign(job)
        is_recorded = look is not None and bool(look.recorded)
        chance = min(found.coverage.chance(look.recorded) * scale, 1.0) if look and is_recorded else None
        blames.append(blame_of(job, look, sign, chance, sought.window))
        if look and is_recorded and not (sign and sign.is_own):
            candidates.append(look)
    excess = weigh(_draws(candidates, found.coverage, sought.window), scale)
    answer = _answer(sought, jobs.inside, blames, excess, check)
    return replace(answer, note=note_of(blames, jobs.inside, check, found.recorded))


def _answer(
    sought: Sought, inside: Sequence[Job], blames: Sequence[JobBlame], excess: Excess, check: ChanceCheck
) -> Jobs:
    succeeded = sum(job.status == SUCCEEDED for job in inside)
    ended = succeeded + len(blames)
    checked = [one for one in blames if one.blame != Blame.NOT_CHECKED]
    low, high = excess.interval
    return Jobs(
        begin_us=sought.range_us[0],
        end_us=sought.range_us[1],
        kinds=sought.kinds,
        window_seconds=(sought.window.before_us / SECOND_US, sought.window.after_us / SECOND_US),
        jobs=len(inside),
        ended=ended,
        failed=len(blames),
        checked=len(checked),
        own=sum(one.blame == Blame.OWN for one in blames),
        with_event=sum(bool(one.event) for one in checked),
        attributed=excess.hits,
        expected=excess.expected,
        excess=excess.more,
        excess_interval=excess.interval,
        p=excess.p,
        beyond_chance=bool(excess.hits) and excess.p <= job_numbers()["significance"],
        success_rate=succeeded / ended if ended else None,
        success_rate_without=(succeeded + excess.more) / ended if ended else None,
        success_rate_without_interval=((succeeded + low) / ended, (succeeded + high) / ended)
        if ended
        else None,
        check=check,
        blames=tuple(sorted(blames, key=lambda one: (-(one.job.end_us or 0), one.job.cluster, one.job.id))),
        note="",
    )


def _check(looks: Sequence[Look], coverage: Coverage, window: Window) -> ChanceCheck:
    """Jobs that no node can have failed: they succeeded."""
    recorded = [look for look in looks if look.recorded]
    excess = weigh(_draws(recorded, coverage, window))
    return ChanceCheck(len(recorded), excess.hits, excess.expected, excess.p)


def _scale(check: ChanceCheck) -> float:
    """By how much chance is raised: only where jobs that succeeded show that it is too low."""
    return max(check.with_event / check.expected, 1.0) if is_chance_too_low(check) else 1.0


def _draws(looks: Sequence[Look], coverage: Coverage, window: Window) -> list[Draw]:
    draws = []
    for group in ends_together(looks, window):
        chances = tuple(sorted(coverage.chance(look.recorded) for look in group))
        draws.append(Draw(sum(look.event is not None for look in group), chances))
    return sorted(draws, key=lambda one: (one.chances, one.hits))  # the same sums in any order of the jobs


def _some_of(jobs: Sequence[Job]) -> list[Job]:
    """Not more than enough, chosen by their names: the same ones each time, and from all of the range."""
    most = int(job_numbers()["most-checked"])
    if len(jobs) <= most:
        return list(jobs)
    return sorted(jobs, key=lambda job: hashlib.sha256(f"{job.cluster}/{job.id}".encode()).digest())[:most]


def _is_inside(job: Job, range_us: Span) -> bool:
    """Whether a job belongs to a range: by its end, or if that is not known, by its begin."""
    time_us = job.end_us if job.end_us is not None else job.begin_us
    return time_us is not None and range_us[0] <= time_us < range_us[1]

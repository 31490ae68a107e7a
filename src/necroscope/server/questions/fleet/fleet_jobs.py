"""How much of the failures of jobs the events of nodes explain."""

from __future__ import annotations

from collections import Counter

from necroscope.fleet.jobs.kept_jobs import read_kept_jobs
from necroscope.fleet.questions.jobs import Sought, ask_jobs
from necroscope.model.fleet.job import Blame, JobBlame, Jobs
from necroscope.server.fleet_span import FleetSpan
from necroscope.server.fleet_store import FleetStore
from necroscope.server.questions.fleet.map_columns import MapColumns, choose_columns
from necroscope.server.questions.fleet.numbers import finite, told_interval
from necroscope.server.questions.fleet_answers import BlamesOfTime, FailedJob, FleetJobs

MOST_FAILURES = 200
MOST_COLUMNS = 60


def ask_fleet_jobs(fleet: FleetStore, span: FleetSpan) -> FleetJobs:
    """What `necroscope fleet jobs` says of the jobs that were ingested."""
    range_us = span.begin_us, span.end_us
    found = fleet.kept(
        ("jobs", span),
        lambda tables: ask_jobs(
            tables,
            fleet.engine,
            read_kept_jobs(tables, *range_us, ()),
            Sought(range_us, span.kinds),
        ),
    )
    return told_jobs(found)


def told_jobs(found: Jobs) -> FleetJobs:
    """The answer as the page wants it."""
    columns = choose_columns(found.begin_us, found.end_us, MOST_COLUMNS)
    rows = found.blames[:MOST_FAILURES]
    return FleetJobs(
        jobs=found.jobs,
        ended=found.ended,
        failed=found.failed,
        checked=found.checked,
        own=found.own,
        with_event=found.with_event,
        expected=found.expected,
        attributed=found.attributed,
        beyond_chance=found.beyond_chance,
        excess=found.excess,
        excess_interval=told_interval(found.excess_interval),
        p=finite(found.p),
        success_rate=finite(found.success_rate),
        success_rate_without=finite(found.success_rate_without),
        step_us=columns.step_us,
        over_time=_over_time(found, columns),
        failures=[_row(one) for one in rows],
        left_out=len(found.blames) - len(rows),
        note=found.note,
    )


def _over_time(found: Jobs, columns: MapColumns) -> list[BlamesOfTime]:
    """How many of each kind ended in each column."""
    counts = Counter(
        (columns.of(end_us), one.blame)
        for one in found.blames
        if (end_us := one.job.end_us) is not None and found.begin_us <= end_us < found.end_us
    )
    return [
        BlamesOfTime(
            begin_us=columns.begin_us + column * columns.step_us,
            node=counts[column, Blame.NODE],
            own=counts[column, Blame.OWN],
            unknown=counts[column, Blame.UNKNOWN],
            not_checked=counts[column, Blame.NOT_CHECKED],
        )
        for column in range(columns.count)
    ]


def _row(one: JobBlame) -> FailedJob:
    end_us, before = one.job.end_us, one.seconds_before
    event_us = None if end_us is None or before is None else end_us - int(before * 10**6)
    return FailedJob(
        cluster=one.job.cluster,
        id=one.job.id,
        end_us=end_us,
        blame=one.blame.value,
        host=one.host,
        event=one.event,
        event_us=event_us,
        seconds_before=finite(before),
        by_chance=finite(one.by_chance),
        sentence=one.sentence,
    )

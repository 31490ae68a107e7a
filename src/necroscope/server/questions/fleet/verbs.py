"""The questions that `necroscope fleet` answers, too: where, next, culprit, drift, jobs and fixed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from necroscope.fleet.jobs.kept_jobs import read_kept_jobs
from necroscope.fleet.questions.culprit import ask_culprit
from necroscope.fleet.questions.drift import ask_drift
from necroscope.fleet.questions.fixed import Sought as SoughtRollout
from necroscope.fleet.questions.fixed import ask_fixed
from necroscope.fleet.questions.fixed_hosts import FactValue, changes_of_fact
from necroscope.fleet.questions.jobs import Sought as SoughtJobs
from necroscope.fleet.questions.jobs import ask_jobs
from necroscope.fleet.questions.next import ask_next
from necroscope.fleet.questions.where import ask_where
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.model.drift import Difference, Drift
from necroscope.model.fleet.concentration import Concentration, Standing, Where
from necroscope.model.fleet.job import Blame, JobBlame, Jobs
from necroscope.model.fleet.rollout import Rollout
from necroscope.server.questions.fleet.answer_of import answer_of, plain
from necroscope.server.questions.fleet.fleet_answers import (
    BlamesOfTime,
    DriftGroup,
    EventNotCompared,
    ExposedHosts,
    FailedJob,
    FleetConcentration,
    FleetCulprits,
    FleetDifference,
    FleetDrift,
    FleetFixed,
    FleetJobs,
    FleetNext,
    FleetSuspect,
    FleetWhere,
    GroupPeriod,
    HostForecast,
    ValueByGroup,
)
from necroscope.server.questions.fleet.fleet_span import FleetSpan
from necroscope.server.questions.fleet.fleet_store import FleetStore
from necroscope.server.questions.fleet.map_columns import MapColumns, choose_columns
from necroscope.signals.thresholds import load_thresholds

MAX_CONCENTRATIONS = 200
MAX_HOSTS = 300
MAX_SUSPECTS = 50
MAX_NOT_COMPARED = 20
MAX_DIFFERENCES = 100
MAX_VALUES = 6
MAX_FAILURES = 200
MAX_COLUMNS = 60
SHOWN = (Standing.CONCENTRATES, Standing.FOLLOWS, Standing.SPARED)


def ask_fleet_where(fleet: FleetStore, span: FleetSpan) -> FleetWhere:
    """Return where events concentrate."""
    found = fleet.kept(
        ("where", span),
        lambda tables: ask_where(tables, fleet.engine, span.kinds, span.begin_us, span.end_us),
    )
    return where_answer(found)


def where_answer(where: Where) -> FleetWhere:
    """Return what was shown, then the strongest of the rest."""
    rows = sorted(where.concentrations, key=lambda one: one.standing not in SHOWN)[:MAX_CONCENTRATIONS]
    return answer_of(
        FleetWhere,
        where,
        total=answer_of(ExposedHosts, where.total),
        concentrations=[_concentration(one) for one in rows],
        left_out=len(where.concentrations) - len(rows),
    )


def _concentration(one: Concentration) -> FleetConcentration:
    inside, outside = (answer_of(ExposedHosts, side) for side in (one.inside, one.outside))
    return answer_of(FleetConcentration, one, inside=inside, outside=outside)


def ask_fleet_next(fleet: FleetStore, span: FleetSpan) -> FleetNext:
    """Return who is next at the end of the range."""
    found = fleet.kept(
        ("next", span.begin_us, span.end_us),
        lambda tables: ask_next(tables, fleet.engine, span.begin_us, span.end_us),
    )
    rows = found.forecasts[:MAX_HOSTS]
    forecasts = [answer_of(HostForecast, one) for one in rows]
    return answer_of(FleetNext, found, forecasts=forecasts, left_out=len(found.forecasts) - len(rows))


def ask_fleet_culprit(fleet: FleetStore, span: FleetSpan) -> FleetCulprits:
    """Return what ran before events across the fleet."""
    found = fleet.kept(
        ("culprit", span),
        lambda tables: ask_culprit(tables, fleet.engine, fleet.place, span.kinds, span.begin_us, span.end_us),
    )
    return answer_of(
        FleetCulprits,
        found,
        culprit=answer_of(FleetSuspect, found.culprit) if found.culprit else None,
        suspects=[answer_of(FleetSuspect, one) for one in found.suspects[:MAX_SUSPECTS]],
        not_compared=[answer_of(EventNotCompared, one) for one in found.not_compared[:MAX_NOT_COMPARED]],
    )


def ask_fleet_drift(fleet: FleetStore, span: FleetSpan) -> FleetDrift:
    """Return which differences explain failing and healthy hosts."""
    found = fleet.kept(
        ("drift", span),
        lambda tables: ask_drift(tables, fleet.engine, span.kinds, span.begin_us, span.end_us),
    )
    return drift_answer(found)


def drift_answer(drift: Drift) -> FleetDrift:
    """Return the likeliest differences, and the group that fails first."""
    groups = sorted(drift.groups, key=lambda name: name != drift.symptom)
    rows = drift.differences[:MAX_DIFFERENCES]
    return answer_of(
        FleetDrift,
        drift,
        groups=[DriftGroup(name, len(drift.groups[name])) for name in groups],
        symptom=drift.symptom or "",
        differences=[_difference(one, groups) for one in rows],
        left_out=len(drift.differences) - len(rows),
    )


def _difference(one: Difference, groups: list[str]) -> FleetDifference:
    association = one.association
    return answer_of(
        FleetDifference,
        one,
        fact=one.lead.fact,
        q=plain(association.q) if association else None,
        odds_ratio=plain(association.odds_ratio) if association else None,
        interval=plain(association.interval) if association else None,
        values=_values(one, groups),
    )


def _values(one: Difference, groups: list[str]) -> list[ValueByGroup]:
    counts = [one.lead.values.get(group, {}) for group in groups]
    values = {value for count in counts for value in count}
    rows = [ValueByGroup(value, [count.get(value, 0) for count in counts]) for value in values]
    return sorted(rows, key=lambda row: (-sum(row.hosts), row.value or ""))[:MAX_VALUES]


def ask_fleet_jobs(fleet: FleetStore, span: FleetSpan) -> FleetJobs:
    """Return how much of the failures of the jobs that were ingested the events of nodes explain."""
    range_us = span.begin_us, span.end_us

    def answer(tables: FleetTables) -> Jobs:
        kept = read_kept_jobs(tables, *range_us, ())
        return ask_jobs(tables, fleet.engine, kept, SoughtJobs(range_us, span.kinds))

    found = fleet.kept(("jobs", span), answer)
    columns = choose_columns(found.begin_us, found.end_us, MAX_COLUMNS)
    rows = found.blames[:MAX_FAILURES]
    return answer_of(
        FleetJobs,
        found,
        step_us=columns.step_us,
        over_time=_over_time(found, columns),
        failures=[_failed_job(one) for one in rows],
        left_out=len(found.blames) - len(rows),
    )


def _over_time(found: Jobs, columns: MapColumns) -> list[BlamesOfTime]:
    """Count how many of each kind ended in each column."""
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


def _failed_job(one: JobBlame) -> FailedJob:
    end_us, before = one.job.end_us, one.seconds_before
    event_us = None if end_us is None or before is None else end_us - int(before * 10**6)
    job = one.job
    return answer_of(FailedJob, one, cluster=job.cluster, id=job.id, end_us=end_us, event_us=event_us)


def ask_fleet_fixed(fleet: FleetStore, span: FleetSpan, label: str, value: str) -> FleetFixed:
    """Return whether a roll-out helped; each host counts by its own time of change."""

    def answer(tables: FleetTables) -> Rollout:
        wanted = FactValue(label, value)
        changes = changes_of_fact(tables, fleet.engine, wanted, span.begin_us, span.end_us)
        thresholds = load_thresholds(None)
        sought = SoughtRollout(f"{label}={value}", span.kinds, span.begin_us, span.end_us, thresholds)
        return ask_fixed(tables, fleet.engine, changes, sought)

    found = fleet.kept(("fixed", span, label, value), answer)
    names = ("changed_before", "changed_after", "control_before", "control_after")
    periods = {name: answer_of(GroupPeriod, getattr(found, name)) for name in names}
    return answer_of(FleetFixed, found, **periods)


# Those that need nothing but a range and kinds of events, by the names of their routes.
OF_A_SPAN: Mapping[str, Callable[[FleetStore, FleetSpan], Any]] = {
    "fleet-where": ask_fleet_where,
    "fleet-next": ask_fleet_next,
    "fleet-culprit": ask_fleet_culprit,
    "fleet-drift": ask_fleet_drift,
    "fleet-jobs": ask_fleet_jobs,
}

"""Did a roll-out help."""

from __future__ import annotations

from necroscope.fleet.questions.fixed import Sought, ask_fixed
from necroscope.fleet.questions.fixed_hosts import FactValue, changes_of_fact
from necroscope.fleet.tables.opened import FleetTables
from necroscope.model.fleet.rollout import Period, Rollout
from necroscope.server.fleet_span import FleetSpan
from necroscope.server.fleet_store import FleetStore
from necroscope.server.questions.fleet.numbers import finite, told_interval
from necroscope.server.questions.fleet_answers import FleetFixed, GroupPeriod
from necroscope.signals.thresholds import load_thresholds


def ask_fleet_fixed(fleet: FleetStore, span: FleetSpan, label: str, value: str) -> FleetFixed:
    """What `necroscope fleet fixed --fact LABEL=VALUE` says: each host counts by its own time of change."""

    def answer(tables: FleetTables) -> Rollout:
        wanted = FactValue(label, value)
        changes = changes_of_fact(tables, fleet.engine, wanted, span.begin_us, span.end_us)
        thresholds = load_thresholds(None)
        sought = Sought(f"{label}={value}", span.kinds, span.begin_us, span.end_us, thresholds)
        return ask_fixed(tables, fleet.engine, changes, sought)

    return told_fixed(fleet.kept(("fixed", span, label, value), answer))


def told_fixed(found: Rollout) -> FleetFixed:
    """The answer as the page wants it."""
    return FleetFixed(
        what=found.what,
        begin_us=found.begin_us,
        at_us=found.at_us,
        end_us=found.end_us,
        changed_before=_period(found.changed_before),
        changed_after=_period(found.changed_after),
        control_before=_period(found.control_before),
        control_after=_period(found.control_after),
        ratio=finite(found.ratio),
        control_ratio=finite(found.control_ratio),
        ratio_of_ratios=finite(found.ratio_of_ratios),
        interval=told_interval(found.interval),
        p_better=finite(found.p_better),
        p_halved=finite(found.p_halved),
        verdict=found.verdict,
        days_needed=finite(found.days_needed),
        note=found.note,
    )


def _period(period: Period) -> GroupPeriod:
    return GroupPeriod(period.hosts, period.episodes, period.host_hours)

"""Units that would run here, had nothing else failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from necroscope.findings.detector import Case, detector
from necroscope.model.accident import Accident
from necroscope.model.advice import Advice, fix_command, journal_command
from necroscope.model.finding import Evidence, Finding, Severity
from necroscope.model.remedy_ids import DISABLE_UNIT
from necroscope.sources.failed_steps import failure_words
from necroscope.sources.held_back_units import HELD_BACK_UNITS, HeldBackUnit


@detector("unit-held-back", needs=(HELD_BACK_UNITS,), readings_needed=1)
def unit_held_back(case: Case) -> Iterator[Finding]:
    """A service is enabled and does not run, because something else failed; one finding for each.

    Fires when a service that is enabled, and wanted by a unit that is active, was not started in this boot,
    and one of two things ties that to a failure: it needs a unit that failed, directly or by way of others,
    and no condition of its own was the reason; or its condition on a file did not hold, and a step
    (Type=oneshot) failed that names the file.

    It says "only because" where nothing else is known to keep the service from starting, and the step writes
    the file. A step that only names the file may as well have failed for want of it.

    Either the machine lacks a service that it is to have, or it is free of one's harm by accident: compare
    with no such machine as with a healthy one, for what is wrong elsewhere begins here when the failure is
    mended. It does not say which of the two, nor that the service would do harm. It is not told of services
    that are disabled or masked, that ran and were stopped, or whose condition is on hardware, on the kernel
    or on the absence of a file.

    To do: `systemctl status` of the unit that failed. Before that is mended, decide about the service: if
    nothing needs it, `necroscope fix disable-unit UNIT`. `necroscope drift` compares with a machine where it
    runs.
    """
    held_back = case.segment.last(HELD_BACK_UNITS)
    for accident in accidents_of(held_back or ()):
        yield _finding(accident)


def accidents_of(units: Iterable[HeldBackUnit]) -> tuple[Accident, ...]:
    """What is said of each unit that is held back."""
    return tuple(
        Accident(
            unit.name,
            f"{unit.failed} {_failed(unit)}",
            _tie(unit),
            unit.is_only_reason,
            tuple(_evidence(unit)),
        )
        for unit in units
    )


def sentence(accident: Accident) -> str:
    """All of it in one."""
    unit = accident.unit
    if not accident.is_only_reason:
        return f"{unit} is enabled and does not run, and {accident.tie}: {accident.because}"
    return f"{unit} is enabled and does not run only because {accident.because}: mend that, and it starts"


def _tie(unit: HeldBackUnit) -> str:
    return "a unit that it needs failed" if unit.needs else "a failed step names the file it waits for"


def _failed(unit: HeldBackUnit) -> str:
    how = failure_words(unit.result, unit.exit_status)
    return f"failed ({how})" if how else "failed"


def _evidence(unit: HeldBackUnit) -> Iterator[Evidence]:
    where = f"systemd, {unit.name}"
    yield Evidence("enabled", f"{unit.enabled}, wanted by {unit.wanted_by}", "", where)
    yield Evidence("state", "not started in this boot", "", where)
    if unit.needs:
        yield Evidence("needs", unit.needs, "", where)
    if unit.condition:
        yield Evidence("condition that did not hold", unit.condition, "", where)
        yield Evidence(f"named by {unit.failed}", unit.path, "", "its commands and scripts")
    yield Evidence(unit.failed, _failed(unit), "", f"systemd, {unit.failed}")


def _finding(accident: Accident) -> Finding:
    failed = accident.because.partition(" ")[0]
    return Finding(
        id="unit-held-back",
        severity=Severity.WARNING,
        summary=sentence(accident),
        evidence=accident.evidence,
        advice=(
            Advice("see why", journal_command(failed)),
            Advice(
                f"before that is mended, and if nothing on this node needs {accident.unit}",
                fix_command(DISABLE_UNIT, accident.unit),
            ),
        ),
        subject=accident.unit,
    )

"""Look at a machine for some seconds: what is found, and why. `doctor` tells it, `fix` treats it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from necroscope.cli.screen import progress_bar
from necroscope.diagnosis.diagnose_range import diagnose_now
from necroscope.errors import CannotLookError, NecroscopeError
from necroscope.findings.examine import examine
from necroscope.findings.unit_crash_loop import unit_crash_loop
from necroscope.model.diagnosis import Diagnosis
from necroscope.model.examination import Examination, NotChecked
from necroscope.signals.thresholds import Thresholds
from necroscope.sources.host import Host
from necroscope.sources.units import UNITS
from necroscope.store.sampler import sample
from necroscope.store.segment import Segment
from necroscope.store.store import Damage, Store
from necroscope.store.trust_programs import trusting_programs


@dataclass(frozen=True, slots=True)
class LookSettings:
    """How long to look, and how to judge."""

    seconds: float
    thresholds: Thresholds
    store: Path | None  # of a recorder, if there is one
    trust_kmsg: bool  # whether lines that programs wrote to the kernel log count as the kernel's own


@dataclass(frozen=True, slots=True)
class Looked:
    """What was read, what was found in it, and why; None where there is nothing to explain."""

    segment: Segment
    examination: Examination
    diagnosis: Diagnosis | None


def look_now(host: Host, settings: LookSettings, units: Collection[str] = ()) -> Looked:
    """Sample, examine, diagnose. `units` are judged even if they do not fail."""
    thresholds = settings.thresholds
    segment = sample(host, settings.seconds, progress_bar)
    if settings.trust_kmsg:
        segment = replace(segment, moments=tuple(map(trusting_programs, segment.moments)))
    examination = _with_units(examine(segment, thresholds), host, segment, thresholds, units)
    if not examination.checked:
        raise CannotLookError(
            f"nothing could be looked at under {host.root}: {examination.not_checked[0].reason}",
            hint="--root must hold a machine's /proc and /sys",
        )
    diagnosis, not_read = _diagnose(settings.store, segment, thresholds)
    examination = replace(examination, not_checked=(*examination.not_checked, *not_read))
    return Looked(segment, examination, diagnosis)


def _with_units(
    examination: Examination,
    host: Host,
    segment: Segment,
    thresholds: Thresholds,
    units: Collection[str],
) -> Examination:
    """Also what is behind units that fail. To look at all takes too long here, 4 ms each: `audit` does."""
    troubled = {finding.subject for finding in examination.findings if finding.id == unit_crash_loop.id}
    troubled |= {unit.name for unit in segment.last(UNITS) or () if unit.active_state == "failed"}
    troubled |= set(units)
    if not troubled or not segment.is_live:
        return examination
    # Imported here: on most machines no unit fails, and it is half of the time to start.
    from necroscope.inventory.look import judge_units

    judgement = judge_units(host, segment, thresholds, troubled)
    if judgement is None:
        return examination
    findings = sorted((*examination.findings, *judgement.findings), key=lambda one: one.severity.rank)
    not_checked = (*examination.not_checked, *judgement.not_checked)
    return replace(examination, findings=tuple(findings), not_checked=not_checked)


def _diagnose(
    store: Path | None, segment: Segment, thresholds: Thresholds
) -> tuple[Diagnosis | None, list[NotChecked]]:
    """Why: from what a recorder has of the last hour, else from the look itself."""
    if not segment.is_live:
        return None, []
    damaged: list[Damage] = []
    try:
        recorded = Store(store).segments() if store else []
        errors = []
    except NecroscopeError as error:  # a store that is not ours to read: the look itself is whole
        recorded, errors = [], [error]
    found = diagnose_now(segment, recorded, thresholds, damaged)
    return found, left_out([*errors, *(damage.error for damage in damaged)])


def left_out(errors: Iterable[NecroscopeError]) -> list[NotChecked]:
    """Recordings that could not be read, as what a diagnosis had to do without."""
    return [NotChecked("recordings", error.what, error.hint, ("diagnosis",)) for error in errors]

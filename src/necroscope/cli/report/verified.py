"""Whether the fixes of a report helped: what somebody was shown, and what is recorded.

A verdict that `verify` gave stands, with its windows: a report that judged by others would contradict it and
not say why. If more is recorded by now than was compared, it is judged again, against the same time before.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from necroscope.cli.report.incident import Incident
from necroscope.errors import NecroscopeError
from necroscope.model.amounts import time_text
from necroscope.model.fix import Fix
from necroscope.model.kept_verdict import KeptVerdict
from necroscope.model.timestamp import iso_utc
from necroscope.model.verdict import Verification
from necroscope.remedies.apply.fixes import read_verdict
from necroscope.remedies.verify.change import after_window, change_of
from necroscope.remedies.verify.observe import Recording
from necroscope.remedies.verify.verify_change import Asked, verify_change
from necroscope.remedies.verify.windows import recorded_seconds

LONGEST_SECONDS = 3600.0  # a report does not read days of counters for a verdict that `verify` gives
MORE_SECONDS = 2.0  # recorded than was compared; less is the end of the same recording


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdicts about a fix; at least one of the two is there."""

    kept: KeptVerdict | None  # what `verify` said
    by_now: Verification | None  # by all that is recorded; None where that is no more than was compared

    @property
    def first(self) -> Verification:
        """The one that a reader sees first: what a person was shown."""
        verification = self.kept.verification if self.kept else self.by_now
        assert verification
        return verification

    @property
    def source(self) -> str:
        """Who judged by which time."""
        return f"verify, {iso_utc(self.kept.at_ns)}" if self.kept else "all that is recorded"

    @property
    def changed(self) -> Verification | None:
        """What is recorded by now, where it says something else than what was shown."""
        is_other = self.kept and self.by_now and self.by_now.verdict is not self.first.verdict
        return self.by_now if is_other else None


def windows_text(verification: Verification) -> str:
    """How much time was compared."""
    before, after = time_text(verification.before_seconds), time_text(verification.after_seconds)
    return f"{before} before, {after} after"


def verify_fixes(incident: Incident) -> tuple[dict[str, Judged], str]:
    """The verdicts by fix, and why others have none."""
    found: dict[str, Judged] = {}
    reasons: list[str] = []
    for fix in incident.fixes:
        kept = _read_kept(incident.store, fix, reasons)
        try:
            by_now = _judge_by_now(incident, fix, kept)
        except NecroscopeError as error:
            reasons.append(error.what)
            by_now = None
        if kept or by_now:
            found[fix.id] = Judged(kept, by_now)
    return found, "; ".join(reasons)


def _read_kept(store: Path, fix: Fix, reasons: list[str]) -> KeptVerdict | None:
    """What `verify` said of the fix as it is: one that went on since is another."""
    try:
        kept = read_verdict(store, fix.id)
    except NecroscopeError as error:
        reasons.append(f"what `verify` said is lost: {error.what}")
        return None
    return kept if kept and kept.verification.changed_ns == fix.ended_ns else None


def _judge_by_now(incident: Incident, fix: Fix, kept: KeptVerdict | None) -> Verification | None:
    """By all that is recorded after the fix: a report does not wait."""
    change = change_of(fix, incident.known_fixes, time.time_ns())
    recording = Recording(incident.chosen.segments, incident.thresholds, incident.damaged)
    seconds = recorded_seconds(recording.segments, after_window(change))
    if not kept:
        return verify_change(recording, change, Asked(min(seconds, LONGEST_SECONDS)))
    longest = max(LONGEST_SECONDS, kept.window_seconds)
    if min(seconds, longest) < kept.verification.after_seconds + MORE_SECONDS:
        return None
    by_now = verify_change(recording, change, Asked(min(seconds, longest), kept.before_seconds))
    # Retention may have removed the time before: what is left says less than what was shown.
    is_whole = by_now.before_seconds + MORE_SECONDS >= kept.verification.before_seconds
    return by_now if is_whole else None

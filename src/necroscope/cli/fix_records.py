"""Fixes on record: the older ones that whoever plans a new one has to know, and all of them for machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from necroscope.errors import NecroscopeError
from necroscope.model.examination import NotChecked
from necroscope.model.fix import Fix, FixState
from necroscope.model.timestamp import iso_utc
from necroscope.remedies.apply.fixes import DamagedFix, Fixes, read_fixes
from necroscope.remedies.apply.lock import holder_of
from necroscope.remedies.apply.refusals import left_in_the_middle
from necroscope.remedies.plan.make_plan import is_of_host
from necroscope.sources.host import Host


@dataclass(frozen=True, slots=True)
class OlderFixes:
    """Fixes of this host that have to be ended, and what could not be read of older ones."""

    unfinished: tuple[Fix, ...] = ()  # ended in the middle: they hold up a new one
    failed: tuple[Fix, ...] = ()  # these do not, and what they did before the failure holds
    damaged: tuple[DamagedFix, ...] = ()
    holder: str = ""  # who carries out a fix right now
    not_checked: tuple[NotChecked, ...] = ()

    @staticmethod
    def of(found: Fixes, host: Host, holder: str) -> OlderFixes:
        """What matters of all fixes. One that is being carried out has not ended in the middle."""
        unfinished = () if holder else tuple(left_in_the_middle(found.fixes, host))
        failed = [fix for fix in found.fixes if fix.state is FixState.FAILED and is_of_host(fix.plan, host)]
        return OlderFixes(unfinished, tuple(failed), found.damaged, holder)


def older_fixes(store: Path | None, host: Host) -> OlderFixes:
    """What is known of older fixes; nothing is written for it."""
    if store is None:
        return OlderFixes()
    try:
        return OlderFixes.of(read_fixes(store), host, holder_of(store))
    except NecroscopeError as error:  # not ours to read: a plan can be made all the same
        return OlderFixes(not_checked=(NotChecked("older fixes", error.what, error.hint, ()),))


def fix_document(fix: Fix) -> dict[str, Any]:
    """A fix, without its whole plan."""
    return {
        "id": fix.id,
        "state": fix.state.value,
        "who": fix.who,
        "host": fix.plan.host,
        "root": fix.plan.root,
        "image": fix.plan.is_image,
        "begun": iso_utc(fix.begun_ns),
        "ended": iso_utc(fix.ended_ns) if fix.ended_ns else None,
        "not_as_before": fix.not_as_before,
        "treatments": [{"remedy": one.remedy, "subject": one.subject} for one in fix.plan.treatments],
        "steps": [
            {
                "number": number,
                "action": step.action,
                "target": step.target,
                "command": step.command,
                "state": progress.state.value,
                "at": iso_utc(progress.at_ns) if progress.at_ns else None,
                "outcome": progress.outcome,
                "before": dict(progress.before),
            }
            for number, (step, progress) in enumerate(zip(fix.plan.steps, fix.progress, strict=True), start=1)
        ],
    }


def older_document(older: OlderFixes) -> dict[str, Any]:
    """What has to be known of older fixes."""
    return {
        "unfinished": _by_id(older.unfinished),
        "failed": _by_id(older.failed),
        "damaged": [{"folder": str(one.folder), "what": one.error.what} for one in older.damaged],
        "held_by": older.holder or None,
    }


def _by_id(fixes: Sequence[Fix]) -> list[dict[str, str]]:
    return [{"id": fix.id, "state": fix.state.value} for fix in fixes]

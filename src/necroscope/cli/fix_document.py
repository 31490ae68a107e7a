"""Fixes for machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from necroscope.cli.older_fixes import OlderFixes
from necroscope.model.fix import Fix
from necroscope.model.timestamp import iso_utc


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

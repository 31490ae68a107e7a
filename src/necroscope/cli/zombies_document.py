"""What `zombies` says, for machines."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from necroscope.cli.zombies_named import NamedZombies, named_zombies
from necroscope.diagnosis.zombies.ledger_shares import By, shares_by
from necroscope.diagnosis.zombies.walk_time import WalkTime
from necroscope.diagnosis.zombies.wall import Wall
from necroscope.diagnosis.zombies.zombie_report import MINUTE, ZombieReport
from necroscope.model.timestamp import iso_utc
from necroscope.sources.zombie_pins import ZombiePins
from necroscope.statistics.theil_sen import Trend


def zombies_document(report: ZombieReport, by: By, seconds: float) -> dict[str, Any]:
    """The body of --json."""
    seen, count = report.seen, report.seen.counts.memory
    named = named_zombies(report)
    return {
        "host": asdict(seen.labels),
        "time": iso_utc(seen.time_ns),
        "seconds": round(seconds, 3),
        "counts": asdict(count),
        "others": [asdict(other) for other in seen.counts.others],
        "is_leaking": report.is_leaking,
        "is_alarming": report.is_alarming,
        "leak_rate": _trend(report.rate, MINUTE, "cgroups/min"),
        "ledger": _ledger(report, by),
        "zombies": _leaks(report, named) if seen.leaks is not None else None,
        "named": _named(named),
        "pins": _pins(seen.pins.value),
        "costs": {
            "memory": {
                **asdict(report.memory),
                "bytes_each": round(report.memory.bytes_each),
                "total_bytes": report.memory.total_bytes,
                "of_bytes": seen.memory_total_bytes,
            }
            if report.memory
            else None,
            "reads": [asdict(read) for read in seen.reads.value or ()],
            "walks": _walks(seen.walks),
        },
        "trend": _trend(report.trend, MINUTE, "cgroups/min"),
        "wall": _wall(report.wall),
        "not_checked": [asdict(row) for row in report.not_checked],
    }


def _trend(trend: Trend | None, per: float, unit: str) -> dict[str, Any] | None:
    if trend is None:
        return None
    return {
        "value": trend.slope.value * per,
        "low": trend.slope.low * per,
        "high": trend.slope.high * per,
        "unit": unit,
        "is_trend": trend.slope.is_trend,
        "level": round(trend.level, 1),
        "points": trend.points,
        "seconds": round(trend.seconds, 3),
        "after_drop": trend.after_drop,
    }


def _ledger(report: ZombieReport, by: By) -> dict[str, Any] | None:
    ledger = report.seen.ledger.value
    if ledger is None:
        return None
    return {
        "seconds": round(report.ledger_seconds or 0, 3),
        "dying": ledger.dying,
        "zombies": ledger.zombies,
        "older": report.older,
        "beyond_kernel": max(ledger.dying - report.seen.dying_at_ledger, 0),
        "lost_events": ledger.lost,
        "untracked": ledger.untracked,
        "freed_older": ledger.freed_older,
        "by": by,
        "shares": [asdict(share) for share in shares_by(ledger.groups, by)],
    }


def _leaks(report: ZombieReport, named: NamedZombies | None) -> list[dict[str, Any]]:
    """The zombies that have a name, the newest first."""
    now_ns = report.seen.ledger_time_ns
    rows = named.leaks if named else ()
    return [{**leak._asdict(), "age_seconds": round((now_ns - leak.removed_ns) / 1e9, 3)} for leak in rows]


def _named(named: NamedZombies | None) -> dict[str, Any] | None:
    if named is None:
        return None
    return {
        "count": len(named.leaks),
        "of": named.of,
        "left_out": named.left_out,
        "reason": named.reason,
    }


def _pins(pins: ZombiePins | None) -> dict[str, Any] | None:
    if pins is None:
        return None
    return {
        "total": asdict(pins.total),
        "by_parent": [{"cgroup": cgroup, **asdict(held)} for cgroup, held in pins.by_parent],
        "error_bytes": pins.error_bytes,
        "error_bytes_each": pins.error_bytes_each,
        "cgroups_read": pins.cgroups_read,
        "cgroups_in_use": pins.cgroups_in_use,
        "root_is_known": pins.root_is_known,
    }


def _walks(walks: WalkTime | str) -> dict[str, Any] | None:
    if isinstance(walks, str):
        return None
    rows = [
        {"id": walk.id, "what": walk.what, "grows_with_zombies": walk.zombies, "core_seconds_per_hour": taken}
        for walk, taken in walks.per_hour
    ]
    return {"seconds": round(walks.seconds, 3), "samples": walks.samples, "walks": rows}


def _wall(wall: Wall) -> dict[str, Any]:
    return {
        "outlook": wall.outlook.value,
        "level": wall.first.level if wall.first else None,
        "because_of": wall.first.id if wall.first else None,
        "seconds": wall.seconds,
        "earliest_seconds": wall.earliest_seconds,
        "latest_seconds": wall.latest_seconds,
        "costs": [asdict(cost) for cost in wall.costs],
    }

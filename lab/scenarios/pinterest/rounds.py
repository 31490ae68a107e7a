"""What kubelet's rounds show: that they take longer the more zombies there are, until the fix."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from lab.faults.kubelets import Round, Walks


def rounds_as_results(rounds: Sequence[Round], fix_ns: int | None) -> dict[str, Any]:
    """All rounds, and how they grow. `fix_ns` is when the fix began (CLOCK_MONOTONIC), if it has.

    From then on zombies are freed: what is still counted is no longer walked, and says nothing of the cost.
    So of a round in which the fix began, only the time until then counts.
    """
    rows: dict[str, Any] = {"all": [_row(one, fix_ns) for one in rounds]}
    until = [one for one in rounds if fix_ns is None or one.begin_ns < fix_ns]
    if not until:
        return rows
    first, longest = until[0].seconds, max(_seconds_until(one, fix_ns) for one in until)
    walks = [walk for one in until for walk in one.walks if fix_ns is None or walk.end_ns < fix_ns]
    return rows | {
        "first_seconds": first,
        "longest_seconds": longest,
        "times_longer": longest / first,
        "last_seconds": rounds[-1].seconds,
        "statistics_ms": statistics.median(one.statistics_seconds for one in rounds) * 1e3,
        "longest_statistics_ms": max(one.statistics_seconds for one in until) * 1e3,
        "system_ratio": _system_ratio(rounds[-1]),
        "most_zombies": max((walk.zombies for one in rounds for walk in one.walks), default=0),
        **slope(walks),
    }


def slope(walks: Sequence[Walks]) -> dict[str, float]:
    """How a walk grows with zombies: a line through all, and how well it fits."""
    zombies, seconds = [one.zombies for one in walks], [one.seconds for one in walks]
    if len({*zombies}) < 2 or len({*seconds}) < 2:
        return {}
    line = statistics.linear_regression(zombies, seconds)
    return {
        "walks_fitted": len(walks),
        "walk_ms_per_1000_zombies": line.slope * 1e6,
        "correlation": statistics.correlation(zombies, seconds),
    }


def _row(one: Round, fix_ns: int | None) -> dict[str, Any]:
    when = "before"
    if fix_ns is not None and one.end_ns > fix_ns:
        when = "during" if one.begin_ns < fix_ns else "after"
    return {"zombies": one.zombies, "seconds": round(one.seconds, 3), "fix": when}


def _seconds_until(one: Round, fix_ns: int | None) -> float:
    end_ns = one.end_ns if fix_ns is None else min(one.end_ns, fix_ns)
    return (end_ns - one.begin_ns) / 1e9


def _system_ratio(last: Round) -> float:
    """Of the time that the process took since its start."""
    return last.system_seconds / max(last.system_seconds + last.user_seconds, 1e-9)

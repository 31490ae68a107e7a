"""The results of a soak: what was made, what was found again, what grew, what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from itertools import chain
from typing import Any

from lab.faults.churn import Churned
from lab.running.expectation import Results
from lab.scenarios.soak.checks import find_marks, find_samples, growth, largest_interval_seconds
from lab.scenarios.soak.digest import Digest
from lab.scenarios.soak.observed import Observed
from lab.scenarios.soak.watch import Look

GROWING = (
    "resident_bytes",
    "anonymous_bytes",
    "descriptors",
    "threads",
    "children",
    "temporary_files",
    "trace_instances",
    "metrics",
    "perf_resident_bytes",
)
PARTS = ("recorder", "perf", "sealing")


def results_of(observed: Observed, churned: Churned, code: int, answer: Mapping[str, Any]) -> Results:
    """All that can be said once the recorder has ended."""
    digests = list(observed.digests.values())
    looks = observed.looks
    return {
        "made": {
            "processes": churned.processes,
            "clean_cgroups": churned.clean,
            "leaked_cgroups": churned.leaked,
            "marks": len(churned.marks),
        },
        "recorder": {"exit_code": code, "findings": [f["id"] for f in answer["findings"]]}
        | {
            name: answer[name] for name in ("moments", "perf_starts", "gaps", "frames_dropped", "store_error")
        },
        "counters": _counters(digests),
        "samples": _samples(digests, observed),
        "lines": asdict(find_marks(churned.marks, list(chain.from_iterable(d.line_marks for d in digests))))
        | {"overwritten": sum(one.lines_lost for one in digests)},
        "events": asdict(
            find_marks(churned.marks, list(chain.from_iterable(d.event_marks for d in digests)))
        ),
        "clock": {"steps_seen": list(chain.from_iterable(one.clock_steps for one in digests))},
        "ledger": _ledger(digests),
        "processes": _processes(digests, churned),
        "growth": {name: asdict(growth(_series(looks, name))) for name in GROWING},
        "segments": {
            "sealed": answer["segments_sealed"],
            "read": len(digests),
            "removed": len(digests) - len(observed.left),
            "damaged_files": list(chain.from_iterable(one.damaged for one in digests)),
            "largest_bytes": max(one.size_bytes for one in digests),
            "ended": dict(Counter(one.ended for one in digests)),
        },
        "cost": _cost(looks, answer),
    }


def _counters(digests: list[Digest]) -> Results:
    times_ns = set(chain.from_iterable(one.moments_ns for one in digests))
    return {
        "moments": len(times_ns),
        "seconds": round((max(times_ns) - min(times_ns)) / 1e9, 3),
        "largest_interval_seconds": largest_interval_seconds(times_ns),
        "without_every_core": sum(one.cores_missing for one in digests),
        "capture_gaps": list(chain.from_iterable(one.capture_gaps for one in digests)),
    }


def _samples(digests: list[Digest], observed: Observed) -> Results:
    """From when perf was seen to write, to the last moment: an early end of it is a hole too."""
    counts: Counter[tuple[int, int]] = Counter()
    for one in digests:
        counts.update(one.samples)  # two segments share the second in which one became the other
    last_ns = max(chain.from_iterable(one.moments_ns for one in digests))
    whole = range(int(observed.looks[0].seconds) + 2, last_ns // 10**9)
    found = find_samples(counts, observed.cores, whole)
    return asdict(found) | {"lost": sum(one.samples_lost for one in digests)}


def _ledger(digests: list[Digest]) -> Results:
    last = [one.ledger for one in digests if one.ledger][-1]
    named = Counter(chain.from_iterable(one.leaks for one in digests))
    return asdict(last) | {"leaks_named": len(named), "named_twice": sum(1 for n in named.values() if n > 1)}


def _processes(digests: list[Digest], churned: Churned) -> Results:
    found = sum(one.children_ticks for one in digests)
    wrong = abs(churned.children_ticks - found)
    return {"ticks": churned.children_ticks, "ticks_found": found, "ticks_wrong": wrong}


def _series(looks: list[Look], name: str) -> list[tuple[float, float]]:
    return [(one.seconds, float(getattr(one, name))) for one in looks]


def _cost(looks: list[Look], answer: Mapping[str, Any]) -> Results:
    """Of a core, as seen from outside between the first and the last look; and by its own account."""
    first, last = looks[0], looks[-1]
    seconds = last.seconds - first.seconds
    return {
        "core_percent": round(100 * (last.cpu_seconds - first.cpu_seconds) / seconds, 2),
        "own_account_seconds": {part: round(answer["costs"][part]["cpu_seconds"], 2) for part in PARTS},
    }

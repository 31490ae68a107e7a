"""What the fleet takes for one episode is what a host takes for one."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa

from necroscope.fleet.episodes import first_events
from necroscope.model.event import Event
from necroscope.signals.episodes import over
from necroscope.signals.thresholds import load_thresholds

SECOND = 10**6
THRESHOLDS = load_thresholds(None)

PHASES = ("stall", "reset", "done")


def rows(*events: Event, host: str = "a") -> pa.Table:
    """The rows of a host's events."""
    words = ("kind", "device", "bus", "unit", "process", "phase")
    columns = {name: pa.array([getattr(one, name) for one in events], pa.string()) for name in words}
    return pa.table(
        {
            "host": pa.array([host for _ in events], pa.string()),
            **columns,
            "core": pa.array([one.core for one in events], pa.int64()),
            "time_us": pa.array([one.time_ns // 1000 for one in events], pa.int64()),
            "facts": pa.array([f"facts at {one.time_ns / 1e9:g}" for one in events], pa.string()),
        }
    )


def event(kind: str, second: float, phase: str = "stall", **where: Any) -> Event:
    return Event(kind, int(second * SECOND) * 1000, "", "", phase=phase, **where)


def test_events_that_follow_each_other_are_one_episode() -> None:
    seconds = (25, 0, 10, 19, 35.1)
    found = first_events(rows(*(event("nic-reset", second, device="ens5") for second in seconds)), THRESHOLDS)
    assert found.column("time_us").to_pylist() == [0, 35.1 * SECOND]
    assert found.column("facts").to_pylist() == ["facts at 0", "facts at 35.1"]


def test_hosts_kinds_and_places_have_their_own() -> None:
    one = rows(
        event("nic-reset", 0, device="ens5"),
        event("nic-reset", 1, device="ens6"),
        event("soft-lockup", 3, core=1),
        event("rcu-stall", 4, core=1),
        event("soft-lockup", 5, core=2),
        event("unit-restart", 6, unit="a.service"),
        event("unit-restart", 7, unit="b.service"),
        event("oom-kill", 8, process="a"),
        event("oom-kill", 9, process="b"),
        event("oom-kill", 10),
    )
    other = rows(event("nic-reset", 2, device="ens5"), host="b")
    assert len(first_events(pa.concat_tables([one, other]), THRESHOLDS)) == 10


def test_no_event_is_no_episode() -> None:
    assert len(first_events(rows(), THRESHOLDS)) == 0


def test_the_fleet_counts_as_a_host_does() -> None:
    random = Random(5)
    places: list[dict[str, Any]] = [{"device": "ens5"}, {"bus": "0000:00:05.0"}, {"unit": "a.service"}]
    places += [{"core": 1}, {"core": 2, "process": "a"}, {"process": "core 1"}, {}]
    kinds = ("nic-reset", "soft-lockup", "rcu-stall", "oom-kill", "unit-restart")
    for _ in range(100):
        seconds = sorted(random.uniform(0, 120) for _ in range(random.randint(1, 40)))
        some_kinds, some = random.sample(kinds, 2), random.sample(places, 3)
        events = [
            event(random.choice(some_kinds), second, random.choice(PHASES), **random.choice(some))
            for second in seconds
        ]
        begun = sorted(first_events(rows(*events), THRESHOLDS).column("time_us").to_pylist())
        assert begun == [episode.begin_ns // 1000 for episode in over(events, THRESHOLDS)]

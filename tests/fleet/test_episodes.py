"""What the fleet takes for one episode is what a host takes for one."""

from __future__ import annotations

from random import Random

import pyarrow as pa

from necroscope.fleet.episodes import first_events
from necroscope.model.event import Event
from necroscope.signals.episodes import over
from necroscope.signals.thresholds import load_thresholds

SECOND = 10**6
THRESHOLDS = load_thresholds(None)

Row = tuple[str, str, str, float]  # host, kind, device, second


def rows(*events: Row, phases: tuple[str, ...] = ()) -> pa.Table:
    return pa.table(
        {
            "host": pa.array([event[0] for event in events], pa.string()),
            "kind": pa.array([event[1] for event in events], pa.string()),
            "device": pa.array([event[2] for event in events], pa.string()),
            "bus": pa.array(["" for _ in events], pa.string()),
            "phase": pa.array(phases or ["stall" for _ in events], pa.string()),
            "time_us": pa.array([int(event[3] * SECOND) for event in events], pa.int64()),
            "facts": pa.array([f"facts of {event[0]} at {event[3]:g}" for event in events], pa.string()),
        }
    )


def test_events_that_follow_each_other_are_one_episode() -> None:
    seconds = (25, 0, 10, 19, 35.1)
    found = first_events(rows(*(("a", "nic-reset", "ens5", second) for second in seconds)), THRESHOLDS)
    assert found.column("time_us").to_pylist() == [0, 35.1 * SECOND]
    assert found.column("facts").to_pylist() == ["facts of a at 0", "facts of a at 35.1"]


def test_hosts_kinds_and_devices_have_their_own() -> None:
    found = first_events(
        rows(
            ("a", "nic-reset", "ens5", 0),
            ("a", "nic-reset", "ens6", 1),
            ("b", "nic-reset", "ens5", 2),
            ("a", "soft-lockup", "", 3),
            ("a", "soft-lockup", "x", 33),
        ),
        THRESHOLDS,
    )
    assert len(found) == 4


def test_no_event_is_no_episode() -> None:
    assert len(first_events(rows(), THRESHOLDS)) == 0


def test_the_fleet_counts_as_a_host_does() -> None:
    random = Random(5)
    for _ in range(50):
        seconds = sorted(random.uniform(0, 120) for _ in range(random.randint(1, 30)))
        phases = tuple(random.choice(("stall", "reset", "done")) for _ in seconds)
        events = [
            Event("nic-reset", int(second * SECOND) * 1000, "", "", device="ens5", phase=phase)
            for second, phase in zip(seconds, phases, strict=True)
        ]
        its_rows = rows(*(("a", "nic-reset", "ens5", second) for second in seconds), phases=phases)
        begun = sorted(first_events(its_rows, THRESHOLDS).column("time_us").to_pylist())
        assert begun == [episode.begin_ns // 1000 for episode in over(events, THRESHOLDS)]

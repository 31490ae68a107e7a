from __future__ import annotations

import pyarrow as pa

from necroscope.fleet.episodes import episodes_of

SECOND = 10**6


def rows(*events: tuple[str, str, str, float]) -> pa.Table:
    return pa.table(
        {
            "host": [event[0] for event in events],
            "kind": [event[1] for event in events],
            "device": [event[2] for event in events],
            "time_us": [int(event[3] * SECOND) for event in events],
            "facts": [f"facts of {event[0]} at {event[3]:g}" for event in events],
        }
    )


def test_events_that_follow_each_other_are_one_episode() -> None:
    found = episodes_of(
        rows(
            ("a", "nic-reset", "ens5", 150),
            ("a", "nic-reset", "ens5", 0),
            ("a", "nic-reset", "ens5", 60),
            ("a", "nic-reset", "ens5", 119),
            ("a", "nic-reset", "ens5", 211),
        )
    )
    assert found.time_us.tolist() == [0, 211 * SECOND]
    assert found.facts.tolist() == ["facts of a at 0", "facts of a at 211"]


def test_hosts_kinds_and_devices_have_their_own() -> None:
    found = episodes_of(
        rows(
            ("a", "nic-reset", "ens5", 0),
            ("a", "nic-reset", "ens6", 1),
            ("b", "nic-reset", "ens5", 2),
            ("a", "soft-lockup", "", 3),
            ("a", "soft-lockup", "x", 4),
        )
    )
    assert len(found.host) == 4


def test_no_event_is_no_episode() -> None:
    assert len(episodes_of(rows()).host) == 0
    empty = pa.table({name: pa.array([], pa.string()) for name in ("host", "kind", "device", "facts")})
    assert len(episodes_of(empty.append_column("time_us", pa.array([], pa.int64()))).host) == 0

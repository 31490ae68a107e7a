"""Which events the cluster is told of, how those that repeat are put together, and what is said."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from necroscope.kubernetes.cluster_events import Subject, event_document, event_name, subjects_of
from necroscope.kubernetes.event_rules import event_rules, events_not_told
from necroscope.kubernetes.event_series import EventSeries, parse_series, series_document
from necroscope.kubernetes.pending_events import MOST_PER_HOUR, PendingEvents
from necroscope.model.event import EVENT_KINDS, Event
from necroscope.model.timestamp import SECOND_NS
from necroscope.signals.episodes import Episodes
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.nic_queues import NIC_QUEUES, NicQueue
from necroscope.sources.ray_pods import NodePod
from tests.stored import moment_of

ROOT = Path(__file__).parents[2]
OFFSET_NS = 1_776_247_331_250_000_000
STALL = Event(
    "nic-reset",
    0,
    "ena-tx-not-completed",
    "ena 0000:00:05.0 eth0: TX hasn't completed",
    sequence=1208,
    phase="stall",
    device="eth0",
    driver="ena",
    queue=5,
    stall_seconds=5.18,
)
ID = "nic-reset-20260415T100211.250Z-1208"


def later(event: Event, seconds: float, **fields: object) -> Event:
    time_ns = event.time_ns + int(seconds * 1e9)
    return replace(event, time_ns=time_ns, sequence=event.sequence + 1, **fields)  # type: ignore[arg-type]


def pending_events() -> PendingEvents:
    return PendingEvents(Episodes(load_thresholds(None)))


def take(pending: PendingEvents, *events: Event, seconds: float = 0) -> None:
    pending.take(events, OFFSET_NS, int(seconds * 1e9))


def due(pending: PendingEvents, seconds: float = 0) -> list[EventSeries]:
    return pending.due(int(seconds * 1e9))


def test_every_kind_is_told_or_says_why_not() -> None:
    assert event_rules().keys() | events_not_told().keys() == EVENT_KINDS.keys()
    assert not event_rules().keys() & events_not_told().keys()
    manual = (ROOT / "docs/conditions.md").read_text()
    for kind, rule in event_rules().items():
        assert re.fullmatch(r"(?:[A-Z]+[a-z]*)+", rule.reason)
        assert f"| `{rule.reason}` | `{kind}` |" in manual


def test_the_lines_of_one_reset_are_one_event() -> None:
    pending = pending_events()
    take(pending, STALL)
    take(pending, later(STALL, 0.1, rule="ena-reset", phase="reset", queue=None, stall_seconds=None))
    take(pending, later(STALL, 0.9, phase="done", queue=None))
    (one,) = due(pending, 1)
    assert one == EventSeries(
        id=ID,
        reason="NICReset",
        message=f"eth0 (ena) queue 5 stalled and was reset; 5.2 s without progress; back after 0.9 s: "
        f"necroscope flame --around {ID}",
        first_utc_ns=OFFSET_NS,
        last_utc_ns=OFFSET_NS + 9 * SECOND_NS // 10,
        count=1,
        tells_pods=True,
    )
    assert due(pending, 100) == [], "told once"


def test_a_reset_that_comes_again_is_counted_up_and_told_a_minute_later() -> None:
    pending = pending_events()
    take(pending, STALL)
    assert [one.count for one in due(pending)] == [1]
    take(pending, later(STALL, 30), seconds=30)
    assert due(pending, 30) == []
    (again,) = due(pending, 61)
    assert (again.id, again.count, again.last_utc_ns) == (ID, 2, OFFSET_NS + 30 * SECOND_NS)
    take(pending, later(STALL, 3000), seconds=3000)
    (other,) = due(pending, 3000)
    assert other.id != ID
    assert other.count == 1, "after ten quiet minutes it is another series"


def test_two_devices_are_two_series() -> None:
    pending = pending_events()
    take(pending, STALL, later(STALL, 0, device="eth1"))
    assert len(due(pending)) == 2


def test_what_is_not_told() -> None:
    pending = pending_events()
    take(pending, replace(STALL, phase="done"))
    take(pending, Event("core-saturated", 0, "cores", "core 3 was full", core=3, seconds=9))
    take(pending, STALL, seconds=7200)  # an hour ago, the API server has forgotten it
    assert due(pending) == []
    assert set(pending.last_ids) == {"nic-reset", "core-saturated"}


def test_the_core_behind_it() -> None:
    pending = pending_events()
    queue = NicQueue("eth0", "ena", "0000:00:05.0", 5, "both", 40, "eth0-Tx-Rx-5", (37,), ())
    pending.queue_cpus.feed(moment_of(0, {NIC_QUEUES: (queue,)}))
    full = Event(
        "core-saturated", -8 * SECOND_NS, "cores", "core 37 was 98% in the kernel for 8 s", core=37, seconds=8
    )
    take(pending, full, later(STALL, 0, napi_scheduled=True))
    (one,) = due(pending)
    assert (
        "; the core did not run the queue's NAPI; core 37 behind it; core 37 was 98% in the kernel"
        in one.message
    )


def test_a_lockup_is_told_in_the_kernels_words() -> None:
    pending = pending_events()
    line = "watchdog: BUG: soft lockup - CPU#3 stuck for 26s!"
    take(pending, Event("soft-lockup", 0, "soft-lockup", line, core=3, from_user_space=True))
    (one,) = due(pending)
    assert one.message.startswith(f"{line} (written by a program): necroscope flame --around soft-lockup-")
    assert (one.reason, one.tells_pods) == ("SoftLockup", False)


def test_a_node_that_goes_mad_tells_only_so_much() -> None:
    pending = pending_events()
    take(pending, *(later(STALL, 0, device=f"eth{number}") for number in range(100)))
    assert len(due(pending)) == MOST_PER_HOUR
    assert pending.dropped == 100 - MOST_PER_HOUR


def test_a_series_beyond_the_limit_is_dropped_once_however_many_lines_it_has() -> None:
    pending = pending_events()
    take(pending, *(later(STALL, 0, device=f"eth{number}") for number in range(MOST_PER_HOUR)))
    for seconds in range(0, 300, 5):
        take(pending, later(STALL, seconds, device="mad"), seconds=seconds)
    assert pending.dropped == 1


def test_a_queue_that_stalls_every_5_seconds_is_one_episode_that_goes_on() -> None:
    pending = pending_events()
    for seconds in range(0, 61, 5):
        take(pending, later(STALL, seconds), seconds=seconds)
    (one,) = due(pending, 61)
    assert (one.count, one.last_utc_ns) == (1, OFFSET_NS + 60 * SECOND_NS)


def test_a_wall_clock_that_was_years_ahead_holds_nothing_up() -> None:
    pending = pending_events()
    ahead_ns = OFFSET_NS + 10 * 365 * 86400 * SECOND_NS
    first = [later(STALL, 0, device=f"eth{number}") for number in range(MOST_PER_HOUR)]
    pending.take(first, ahead_ns, 0)
    assert len(due(pending)) == MOST_PER_HOUR
    take(pending, later(first[0], 70), seconds=70)  # the clock was set right meanwhile
    (again,) = due(pending, 70)
    assert (again.count, again.last_utc_ns) == (2, again.first_utc_ns), "never before it began"
    take(pending, later(STALL, 7200), seconds=7200)
    (other,) = due(pending, 7200)
    assert (other.first_utc_ns, pending.dropped) == (OFFSET_NS + 7200 * SECOND_NS, 0)


def test_an_event_is_about_the_node_and_its_ray_pods() -> None:
    pending = pending_events()
    take(pending, STALL)
    (series,) = due(pending)
    pod = NodePod("team-a", "ray-worker-0", "0f1e2d3c-0000-4000-8000-000000000001")
    node, ray = subjects_of("node-a", "uid-of-node", series, [pod])
    document = event_document("node-a", ray, series)
    assert document["metadata"] == {
        "name": "ray-worker-0.nic-reset-20260415t100211.250z-1208",
        "namespace": "team-a",
    }
    assert document["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "ray-worker-0",
        "namespace": "team-a",
        "uid": pod.uid,
    }
    assert (document["type"], document["count"]) == ("Warning", 1)
    assert document["reportingComponent"] == document["source"]["component"] == "necroscope.dev/recorder"
    assert event_document("node-a", node, series)["metadata"]["namespace"] == "default"
    assert subjects_of("node-a", "", replace(series, tells_pods=False), [pod]) == [
        Subject("Node", "node-a", "")
    ]


def test_a_long_name_is_still_a_name() -> None:
    series = EventSeries(ID, "NICReset", "", 0, 0, 1)
    name = event_name(Subject("Node", "n" * 200 + "." + "m" * 52, ""), series)
    assert len(name) <= 253
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", name)


def test_a_series_comes_back_as_it_was() -> None:
    series = EventSeries(ID, "NICReset", "größe", 1, 2, 3, tells_pods=True)
    assert parse_series(series_document(series)) == series

"""One recording has as many NIC resets, whoever counts them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from necroscope.cli.main import main
from necroscope.exporter.meter import Meter
from necroscope.kubernetes.pending_events import PendingEvents
from necroscope.model.event import Event
from necroscope.model.plan import Goal
from necroscope.remedies.verify.change import Change
from necroscope.remedies.verify.observe import Recording
from necroscope.remedies.verify.verify_change import Asked, verify_change
from necroscope.signals.episodes import Episodes, over
from necroscope.signals.thresholds import load_thresholds
from necroscope.signals.watch import Watch
from necroscope.sources.kernel_log import KERNEL_LOG, KernelLog, LogLine
from necroscope.store.segment import Moment
from necroscope.store.store import Store
from tests.segments import BEGIN_NS
from tests.stored import HOST, OFFSET_NS, SECOND_NS, UTC_NS, moment_of, sealed_segment, seconds_of

STALLED = "ena 0000:00:05.0 eth0: TX q 5 is paused for too long (threshold 5000000)"
RESET = "ena 0000:00:05.0 eth0: Resetting the device"
LINES = ((20, STALLED), (28, RESET), (73, STALLED), (373, STALLED))  # gaps of 8 s, 45 s and 5 min
SECONDS = 420
RANGE = ("-b", "2026-04-15T10:00:00Z", "-e", "2026-04-15T10:07:00Z")
THRESHOLDS = load_thresholds(None)


def watched() -> list[tuple[Moment, list[Event]]]:
    """The moments of a recorder, with the events that it finds in each."""
    watch = Watch(THRESHOLDS)
    moments = []
    for second in range(SECONDS):
        lines = [
            LogLine(BEGIN_NS + at * SECOND_NS, text, 0, number)
            for number, (at, text) in enumerate(LINES)
            if at == second
        ]
        moment = moment_of(second, {KERNEL_LOG: KernelLog(tuple(lines), 0, "/dev/kmsg")})
        moments.append((moment, watch(moment)))
    return moments


def found() -> list[Event]:
    return [event for _, events in watched() for event in events]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("resets") / "store"
    sealed_segment(root, seconds_of(["idle"] * SECONDS), found())
    return root


def ask(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict[str, Any]:
    main([*map(str, words), "--json"])
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    return body


def test_the_recorder_finds_four_lines() -> None:
    assert len(found()) == 4


def test_events(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = ask(capsys, "events", "--store", store, *RANGE)
    assert len(body["events"]) == 4
    assert [one["lines"] for one in body["nic_resets"]] == [2, 1, 1]
    assert [one["id"] for one in body["nic_resets"]] == [body["events"][n]["id"] for n in (0, 2, 3)]


def test_the_metric() -> None:
    meter = Meter(THRESHOLDS)
    for moment, events in watched():
        meter.observe(moment, events)
    resets = [one.value for one in meter.samples() if one.family == "necroscope_nic_resets_total"]
    assert sum(resets) == 3


def test_the_events_of_the_cluster() -> None:
    pending = PendingEvents(Episodes(THRESHOLDS))
    for moment, events in watched():
        pending.take(events, OFFSET_NS, moment.time_ns)
    (series,) = pending.due(BEGIN_NS + SECONDS * SECOND_NS)
    assert series.count == 3


def test_diagnose(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(capsys, "diagnose", "--store", store, *RANGE)["symptoms"] == 3


def test_verify(store: Path) -> None:
    fixed_ns = UTC_NS + 400 * SECOND_NS
    change = Change("a-fix", fixed_ns, fixed_ns, fixed_ns + 10**6 * SECOND_NS, (Goal("nic-resets", ""),))
    recording = Recording(Store(store).segments(), THRESHOLDS, [])
    comparisons = verify_change(recording, change, Asked(400)).comparisons
    (row,) = [one for one in comparisons if one.quantity == "nic-resets"]
    assert row.before and row.before.events == 3


def test_the_fleet(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "place"
    place.mkdir()
    ask(capsys, "fleet", "ship", "--store", store, "--fleet", place, "--host", HOST, "--config", "/dev/null")
    ask(capsys, "fleet", "ingest", "--fleet", place)
    where = ask(capsys, "fleet", "where", "--fleet", place, *RANGE, "--kind", "nic-reset")
    assert where["total"]["episodes"] == 3


def begun(events: Sequence[Event]) -> list[int]:
    return [episode.begin_ns // SECOND_NS for episode in over(events, THRESHOLDS)]


def line(second: float, **more: Any) -> Event:
    event = Event("nic-reset", int(second * SECOND_NS), "", "", phase="stall", device="eth0")
    return replace(event, **more)


def test_each_line_comes_at_most_10_s_after_the_one_before() -> None:
    assert begun([line(0), line(10), line(20), line(30.1)]) == [0, 30]
    assert begun([line(20), line(0), line(10)]) == [0], "in any order"


def test_devices_have_their_own() -> None:
    assert begun([line(0), line(1, device="eth1"), line(2, device="", bus="0000:00:05.0")]) == [0, 1, 2]


def test_a_good_end_continues_an_episode_and_begins_none() -> None:
    assert begun([line(0, phase="done")]) == []
    assert begun([line(0), line(9, phase="done"), line(18)]) == [0]


def test_an_episode_has_the_strongest_reason_of_its_lines() -> None:
    starved = line(1, napi_scheduled=True, stall_seconds=5.2)
    (episode,) = over([line(0), starved, line(2)], THRESHOLDS)
    assert (episode.reason, episode.lines, episode.clearest) == ("starvation", 3, starved)

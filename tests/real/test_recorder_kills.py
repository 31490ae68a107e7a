"""kill -9 at random moments: of the recorder, of perf, of the sealing child."""

from __future__ import annotations

import logging
import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lab.faults.hogs import user_hog
from tests.real.recorders import (
    SECOND_NS,
    Recorder,
    events_of,
    recorder,
    recording,
    require_all_open,
    require_tidy,
    samples_by_second,
    seconds_with_counters,
    wait_until,
    why_not,
)

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
LOG = logging.getLogger(__name__)
WORDS = ("--segment", "2s", "--rate", "197")


@dataclass(slots=True)
class Losses:
    """What was killed when (UTC), and what has to be there."""

    recorded: list[tuple[float, float]] = field(default_factory=list)  # each recorder's time
    sampled: list[tuple[float, float]] = field(default_factory=list)  # each perf's
    perf: list[float] = field(default_factory=list)
    children: int = 0
    recorders: list[float] = field(default_factory=list)


@pytest.fixture(autouse=True)
def load() -> Iterator[None]:
    """Both cores busy, so that every second has samples of both."""
    with user_hog(0), user_hog(1):
        yield


def kill_a_sealing_child(one: Recorder, chance: random.Random, losses: Losses) -> None:
    """At a random moment of its life; one that was quicker is let go."""
    while True:
        wait_until(lambda: one.child("seal"), 10, "a sealing child")
        pid = one.child("seal")
        time.sleep(chance.uniform(0, 0.3))
        if pid and pid == one.child("seal"):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                losses.children += 1
                return


def kill_perf(one: Recorder, since: float, losses: Losses) -> None:
    pid = one.child("record")
    assert pid
    os.kill(pid, signal.SIGKILL)
    losses.perf.append(time.time())
    losses.sampled.append((since, losses.perf[-1]))
    wait_until(lambda: one.child("record") not in (None, pid), 10, "another perf")
    wait_until(lambda: "no samples for" in one.said(), 10, "the hole is told")


def live_through(store: Path, chance: random.Random, losses: Losses) -> None:
    """One recorder, from its start until it is killed; on the way perf and a sealing child are."""
    with recording(store, *WORDS) as one:
        began = time.time()
        time.sleep(chance.uniform(0, 2))
        kill_a_sealing_child(one, chance, losses)
        time.sleep(chance.uniform(0.5, 2))
        kill_perf(one, began, losses)
        again = time.time()
        time.sleep(chance.uniform(0, 3))
        one.kill()
        losses.recorders.append(time.time())
        losses.sampled.append((again, losses.recorders[-1]))
        losses.recorded.append((began, losses.recorders[-1]))
    time.sleep(1)  # a whole second without a recorder


def die_young(store: Path, chance: random.Random) -> None:
    """A recorder that is killed while it starts."""
    with recorder(store, *WORDS) as one:
        time.sleep(chance.uniform(0, 1.5))
        one.kill()


def die_late(store: Path, chance: random.Random, losses: Losses) -> None:
    """A recorder that is killed while it ends."""
    with recording(store, *WORDS) as one:
        began = time.time()
        time.sleep(chance.uniform(1, 3))
        one.process.send_signal(signal.SIGTERM)
        losses.recorded.append((began, time.time()))
        time.sleep(chance.uniform(0, 0.6))
        one.kill()


def require_closed_seconds(store: Path, losses: Losses) -> None:
    there = seconds_with_counters(store)
    for began, ended in losses.recorded:
        wanted = range(int(began) + 1, int(ended))  # the one that was closed last may be on its way
        assert set(wanted) <= there, (sorted(set(wanted) - there), began, ended)
    for began, ended in losses.sampled:
        first, last = int(began) + 2, int(ended) - 2
        counts = samples_by_second(store, first, last + 1) if first <= last else {}
        empty = [
            key
            for second in range(first, last + 1)
            for core in (0, 1)
            if not counts.get(key := (second, core))
        ]
        assert empty == [], (began, ended, counts)


def require_told(store: Path, losses: Losses) -> None:
    """Every hole is an event: one for every perf, one for every recorder."""
    gaps = events_of(store, "capture-gap")
    for rule, times in (("perf", losses.perf), ("recorder", losses.recorders)):
        told = [event.utc_ns / SECOND_NS for event in gaps if event.event.rule == rule]
        assert all(any(-2 < at - time < 2 for at in told) for time in times), (rule, told, times)


@pytest.mark.parametrize("rounds", [3, pytest.param(15, marks=pytest.mark.long)])
def test_closed_seconds_are_there_all_segments_open_and_the_next_start_recovers(
    tmp_path: Path, rounds: int
) -> None:
    seed = int(os.environ.get("NECROSCOPE_SEED") or time.time_ns() % 10**6)
    LOG.info("NECROSCOPE_SEED=%d", seed)
    chance = random.Random(seed)
    store, losses = tmp_path / "store", Losses()
    for _ in range(rounds):
        live_through(store, chance, losses)
    for _ in range(max(rounds // 5, 1)):
        die_young(store, chance)
        die_late(store, chance, losses)
    time.sleep(2)
    with recording(store, *WORDS) as one:
        time.sleep(2)
        code, _ = one.end()
    counts = len(losses.recorders), len(losses.perf), losses.children
    LOG.info("killed: %d recorders, %d perfs, %d sealing children", *counts)
    assert code == 1, one.said()  # the hole before it is a finding
    require_tidy(store)
    require_closed_seconds(store, losses)
    require_all_open(store)
    require_told(store, losses)

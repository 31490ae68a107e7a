"""The driver's line is written when, and only when, the core was in the kernel for the whole threshold."""

from __future__ import annotations

import time

import pytest

from lab.faults import hogs, nic_stalls
from lab.faults.queue_watchers import CoreTimes, KernelRun, WatcherError, core_times, queue_watcher

TICK_NS = 10_000_000


def follow(*stretches: tuple[float, float]) -> list[float]:
    """When a run is told of, of a core with such stretches (seconds, share of kernel time)."""
    run, told, tenths, kernel = KernelRun(), [], 0, 0.0
    for seconds, ratio in stretches:
        for _ in range(round(seconds * 10)):
            tenths, kernel = tenths + 1, kernel + 10 * ratio
            if run.take(CoreTimes(tenths * 10 * TICK_NS, round(kernel), tenths * 10)):
                told.append(tenths / 10)
    return told


def test_five_seconds_in_the_kernel_are_told_once() -> None:
    assert follow((3, 0.0), (9, 1.0), (2, 0.0)) == [pytest.approx(8.0, abs=0.3)]


def test_a_second_run_is_told_again() -> None:
    assert len(follow((2, 0.0), (7, 1.0), (1, 0.0), (7, 1.0))) == 2


@pytest.mark.parametrize(
    "stretches",
    [
        [(4.7, 1.0), (3, 0.0)],  # too short
        [(4, 1.0), (0.3, 0.0), (4, 1.0)],  # interrupted
        [(20, 0.9)],  # not all of it
    ],
)
def test_less_than_that_is_not_told(stretches: list[tuple[float, float]]) -> None:
    assert follow((2, 0.0), *stretches) == []


def test_interrupts_and_softirqs_are_kernel_time_and_what_was_stolen_is_no_time() -> None:
    #                       user nice system idle iowait irq softirq steal guest
    before = core_times(0, [100, 0, 50, 900, 7, 1, 2, 10, 3, 0])
    after = core_times(TICK_NS, [100, 0, 130, 900, 7, 6, 12, 70, 3, 0])
    assert before.kernel_ratio(after) == 1.0
    assert before.busy_ratio(after) == 1.0
    assert after.total - before.total == 95


def test_the_rule_lets_a_twentieth_of_each_second_pass() -> None:
    assert follow((2, 0.0), (7, 0.96)) != []
    assert follow((2, 0.0), (7, 0.94)) == []


@pytest.mark.skipif(nic_stalls.why_not() is not None, reason=str(nic_stalls.why_not()))
def test_a_watcher_that_cannot_go_on_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot_read(core: int) -> CoreTimes:
        raise OSError(f"no core {core}")

    monkeypatch.setattr("lab.faults.queue_watchers.read_core", cannot_read)
    with queue_watcher(nic_stalls.transmit_queues()[0]) as watcher:
        watcher.check()
        time.sleep(0.5)
        with pytest.raises(WatcherError, match="no core"):
            watcher.check()


@pytest.mark.skipif(nic_stalls.why_not() is not None, reason=str(nic_stalls.why_not()))
def test_user_time_never_makes_it_write() -> None:
    queue = nic_stalls.transmit_queues()[0]
    with queue_watcher(queue) as watcher, hogs.user_hog(queue.cores[0]):
        time.sleep(6.5)
    assert watcher.stalls == []
    assert watcher.run.seconds() < 5

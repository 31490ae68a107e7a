"""Events are told as they happen, once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from necroscope.model.event import Event
from necroscope.model.reading import Absence, Reading
from necroscope.signals.thresholds import load_thresholds
from necroscope.signals.watch import MOST_LINES, Watch
from necroscope.sources.cores import CORES
from necroscope.sources.kernel_log import KERNEL_LOG, KernelLog, LogLine
from necroscope.sources.nic_queues import NIC_QUEUES, NicQueue
from necroscope.sources.nic_timeouts import NIC_TIMEOUTS, QueueTimeouts
from necroscope.sources.source import Source
from necroscope.sources.units import UNITS, Unit
from tests.segments import BEGIN_NS, core_seconds
from tests.stored import SECOND_NS, moment_of

PAUSED = "ena 0000:00:05.0 eth0: TX q 5 is paused for too long (threshold 5000000)"
QUEUE = NicQueue("eth7", "ena", "0000:00:07.0", 5, "both", 41, "eth7-Tx-Rx-5", (1,), ())


def watch() -> Watch:
    return Watch(load_thresholds(None))


def see(watch: Watch, second: float, values: dict[Source[Any], Any]) -> list[Event]:
    return watch(moment_of(second, values))


def log(*lines: tuple[float, str], facility: int = 0, trusts_programs: bool = False) -> KernelLog:
    logged = [
        LogLine(BEGIN_NS + int(at * 1e9), text, facility, 100 + n) for n, (at, text) in enumerate(lines)
    ]
    return KernelLog(tuple(logged), 0, "/dev/kmsg", trusts_programs)


def timeouts(count: int, device: str = "eth0", queue: int = 5) -> tuple[QueueTimeouts, ...]:
    return (QueueTimeouts(device, "ena", queue, count),)


def unit(restarts: int, *, result: str = "success", changed_ns: int = 0) -> tuple[Unit, ...]:
    state = ("a.service", "A", "active", "running", restarts, result)
    return (Unit(*state, "always", 0.1, changed_ns, 1, "enabled", "enabled", "/etc/a.service"),)


def test_a_line_is_an_event_at_its_own_time() -> None:
    (event,) = see(watch(), 5, {KERNEL_LOG: log((4.2, PAUSED), (4.3, "an ordinary line"))})
    assert (event.kind, event.device, event.queue, event.sequence) == ("nic-reset", "eth0", 5, 100)
    assert event.time_ns == BEGIN_NS + 4_200_000_000


def test_a_line_without_the_device_gets_it_from_what_was_seen_before() -> None:
    one = watch()
    line = "ena 0000:00:07.0: Device reset completed successfully"
    (unnamed,) = see(one, 0, {KERNEL_LOG: log((0, line))})
    assert (unnamed.device, unnamed.bus) == ("", "0000:00:07.0")
    see(one, 1, {NIC_QUEUES: (QUEUE,)})
    (named,) = see(one, 2, {KERNEL_LOG: log((2, line))})
    assert named.device == "eth7"


def test_a_kernel_that_logs_without_end_does_not_keep_us_busy() -> None:
    lines = [(0.0, PAUSED)] * (MOST_LINES + 50)
    assert len(see(watch(), 1, {KERNEL_LOG: log(*lines)})) == MOST_LINES


def test_lines_of_programs_are_no_events_and_are_counted() -> None:
    one = watch()
    assert one.userspace_lines is None, "no log was read"
    assert see(one, 1, {KERNEL_LOG: log((0, PAUSED), (0.5, PAUSED), facility=1)}) == []
    assert one.userspace_lines == 0, "what was logged before the first moment is history"
    assert see(one, 2, {KERNEL_LOG: log((1.5, PAUSED), (1.6, "an ordinary line"), facility=1)}) == []
    assert one.userspace_lines == 1
    trusted = log((2.5, PAUSED), facility=1, trusts_programs=True)
    (event,) = see(one, 3, {KERNEL_LOG: trusted})
    assert (event.kind, event.device, event.from_user_space) == ("nic-reset", "eth0", True)
    assert one.userspace_lines == 1


def test_a_mark_counts_whoever_wrote_it() -> None:
    one = watch()
    (event,) = see(one, 1, {KERNEL_LOG: log((1, "necroscope mark: the canary begins"), facility=1)})
    assert (event.kind, event.reason) == ("user-mark", "the canary begins")
    assert one.userspace_lines == 0


def test_a_program_that_logs_without_end_hides_no_line_of_the_kernel() -> None:
    one = watch()
    programs = log(*[(0.0, PAUSED)] * (MOST_LINES + 50), facility=1)
    mixed = replace(programs, lines=(*programs.lines, *log((0.1, PAUSED)).lines))
    (event,) = see(one, 0, {KERNEL_LOG: mixed})
    assert not event.from_user_space
    assert one.userspace_lines == MOST_LINES


def test_a_line_of_a_program_does_not_hide_a_stall_that_was_counted() -> None:
    one = watch()
    see(one, 0, {NIC_TIMEOUTS: timeouts(0)})
    (event,) = see(one, 1, {KERNEL_LOG: log((1, PAUSED), facility=1), NIC_TIMEOUTS: timeouts(1)})
    assert event.rule == "tx-timeout-count"


def test_a_line_of_another_driver_than_the_devices_is_marked() -> None:
    one = watch()
    virtio = replace(QUEUE, device="eth0", driver="virtio_net", bus="virtio2")
    (event,) = see(one, 0, {NIC_QUEUES: (virtio,), KERNEL_LOG: log((0, PAUSED))})
    assert (event.driver, event.device_driver) == ("ena", "virtio_net")
    (event,) = see(one, 1, {NIC_TIMEOUTS: timeouts(0), KERNEL_LOG: log((1, PAUSED))})
    assert event.device_driver == "", "the device has got that driver meanwhile"


def test_timeouts_that_nobody_logged_are_told() -> None:
    one = watch()
    assert see(one, 0, {NIC_TIMEOUTS: timeouts(3)}) == [], "what was before is not news"
    assert see(one, 1, {NIC_TIMEOUTS: timeouts(3)}) == []
    (event,) = see(one, 2, {NIC_TIMEOUTS: timeouts(5)})
    assert (event.kind, event.rule, event.phase) == ("nic-reset", "tx-timeout-count", "stall")
    assert (event.device, event.driver, event.queue) == ("eth0", "ena", 5)
    assert "2 transmit timeouts" in event.text
    assert event.time_ns == BEGIN_NS + 2 * SECOND_NS
    assert see(one, 3, {NIC_TIMEOUTS: timeouts(5)}) == []


def test_a_stall_with_a_line_is_told_once() -> None:
    one = watch()
    see(one, 0, {NIC_TIMEOUTS: timeouts(0)})
    (event,) = see(one, 1, {KERNEL_LOG: log((1, PAUSED)), NIC_TIMEOUTS: timeouts(1)})
    assert event.rule == "ena-tx-queue-paused"
    assert see(one, 5, {NIC_TIMEOUTS: timeouts(2)}) == [], "of the same stall"
    assert len(see(one, 30, {NIC_TIMEOUTS: timeouts(3)})) == 1, "of another"


def test_a_line_of_one_device_does_not_hide_the_stall_of_another() -> None:
    one = watch()
    see(one, 0, {NIC_TIMEOUTS: timeouts(0, "eth1")})
    found = see(one, 1, {KERNEL_LOG: log((1, PAUSED)), NIC_TIMEOUTS: timeouts(1, "eth1")})
    assert [event.device for event in found] == ["eth0", "eth1"]


def test_a_counter_that_begins_anew_is_no_stall() -> None:
    one = watch()
    see(one, 0, {NIC_TIMEOUTS: timeouts(9)})
    assert see(one, 1, {NIC_TIMEOUTS: timeouts(0)}) == []
    assert len(see(one, 2, {NIC_TIMEOUTS: timeouts(1)})) == 1


def test_a_unit_that_was_started_again_is_told_at_the_time_it_changed() -> None:
    one = watch()
    assert see(one, 0, {UNITS: unit(3)}) == []
    changed_ns = BEGIN_NS + 42 * SECOND_NS
    (event,) = see(one, 60, {UNITS: unit(5, result="exit-code", changed_ns=changed_ns)})
    assert (event.kind, event.unit, event.reason) == ("unit-restart", "a.service", "exit-code")
    assert event.time_ns == changed_ns
    assert event.text == "a.service was started again 2 times; systemd counts 5"
    assert see(one, 120, {UNITS: unit(5)}) == []


def test_a_change_after_the_moment_is_told_at_the_moment() -> None:
    one = watch()
    see(one, 0, {UNITS: unit(0)})
    (event,) = see(one, 60, {UNITS: unit(1, changed_ns=BEGIN_NS + 61 * SECOND_NS)})
    assert event.time_ns == BEGIN_NS + 60 * SECOND_NS
    assert "started again once" in event.text


def test_saturated_cores_are_told_too() -> None:
    one = watch()
    found = [
        event
        for second, cores in enumerate(core_seconds(["system"] * 4))
        for event in see(one, second, {CORES: cores})
    ]
    assert [(event.kind, event.core) for event in found] == [("core-saturated", 0)]


def test_events_of_counters_are_told_apart_by_their_numbers() -> None:
    one = watch()
    rows = tuple(QueueTimeouts("eth0", "ena", queue, 0) for queue in range(3))
    see(one, 0, {NIC_TIMEOUTS: rows})
    more = tuple(QueueTimeouts("eth0", "ena", queue, 1) for queue in range(3))
    found = see(one, 1, {NIC_TIMEOUTS: more})
    assert [event.queue for event in found] == [0, 1, 2]
    assert len({event.sequence for event in found}) == 3


def test_what_could_not_be_read_is_no_event() -> None:
    absent: Reading[Any] = Reading(absence=Absence.NOT_PERMITTED)
    one = watch()
    sources: tuple[Source[Any], ...] = (KERNEL_LOG, NIC_TIMEOUTS, NIC_QUEUES, UNITS, CORES)
    everything = dict.fromkeys(sources, absent)
    assert see(one, 0, everything) == []
    assert see(one, 1, {}) == []

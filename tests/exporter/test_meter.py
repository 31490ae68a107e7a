"""The numbers are right, bounded, and absent where nothing could be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from necroscope.exporter.families import MAX_DEVICES
from necroscope.exporter.meter import Meter
from necroscope.model.event import EVENT_KINDS, Event
from necroscope.model.finding import Severity
from necroscope.model.node_state import ActiveFinding, NodeState
from necroscope.model.reading import Absence, Reading
from necroscope.signals.cpu_usage import usage_by_cpu
from necroscope.signals.reset_reason import REASONS
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.cores import CORES, Cores
from necroscope.sources.kernel_log import KERNEL_LOG
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, MemoryCgroups
from necroscope.sources.nic_timeouts import NIC_TIMEOUTS, QueueTimeouts
from necroscope.sources.softirq_threads import SOFTIRQ_THREADS, SoftirqThread
from necroscope.sources.units import UNITS, Unit
from necroscope.store.segment import Moment, Segment
from tests.segments import BEGIN_NS, core_seconds, kernel_log, segment_of

REFUSED: Reading[Any] = Reading(absence=Absence.NOT_PERMITTED, detail="no")
RESETS = "necroscope_nic_resets_total"


def observed(segment: Segment, events: Sequence[Event] = (), *, per_core: bool = False) -> Meter:
    """A meter that saw a segment; the events come with its last moment."""
    meter = Meter(load_thresholds(None), per_core=per_core)
    for moment in segment.moments[:-1]:
        meter.observe(moment, ())
    meter.observe(segment.moments[-1], events)
    last_ns = max((event.time_ns for event in events), default=0)
    meter.observe(Moment(max(last_ns + 3 * 10**9, segment.end_ns), {}, {}))  # what a reset's reason waits for
    return meter


def values(meter: Meter, family: str) -> dict[tuple[str, ...], float]:
    return {sample.labels: sample.value for sample in meter.samples() if sample.family == family}


def value(meter: Meter, family: str) -> float:
    return values(meter, family)[()]


def resets(meter: Meter) -> dict[tuple[str, ...], float]:
    """By device and driver, for whatever reason; every reason must be there."""
    by_reason = values(meter, RESETS)
    nics = {labels[:2] for labels in by_reason}
    assert set(by_reason) == {(*nic, reason) for nic in nics for reason in REASONS}
    return {nic: sum(by_reason[(*nic, reason)] for reason in REASONS) for nic in nics}


def unit(name: str, restarts: int | None) -> Unit:
    return Unit(name, "", "active", "running", restarts, "", "always", 0.1, 0, 0, "", "", "")


def reset(second: float, phase: str = "stall", device: str = "eth0", driver: str = "ena") -> Event:
    time_ns = BEGIN_NS + int(second * 1e9)
    return Event("nic-reset", time_ns, "rule", "line", phase=phase, device=device, driver=driver)


def test_saturated_seconds_by_what_filled_them() -> None:
    cores = core_seconds(
        ["system", "system=60,softirq=10,user=30", "idle", "idle"],
        ["user", "user=60,system=35,idle=5", "user=90,idle=10", "user=50,nice=50"],
        ["steal", "steal=50,user=50", "steal=49,user=51", "idle"],
        ["idle", "idle", "iowait", "system=69,idle=31"],
    )
    meter = observed(segment_of({CORES: cores}))
    seconds = values(meter, "necroscope_core_saturated_seconds_total")
    assert seconds == {("kernel",): 2.0, ("user",): 4.0, ("steal",): 2.0}
    assert value(meter, "necroscope_cores_saturated") == 1
    assert value(meter, "necroscope_cores") == 4


def test_the_fullest_core_of_the_last_second_as_recorded_shares_have_it() -> None:
    cores = core_seconds(["system", "softirq=40,user=20,idle=40"], ["user", "irq=30,steal=25,iowait=45"])
    segment = segment_of({CORES: cores})
    meter = observed(segment)
    last = [usages[-1] for usages in usage_by_cpu(segment).values()]
    for what in ("kernel", "busy", "softirq", "steal"):
        most = max(usage.ratio(what) for usage in last)
        assert value(meter, f"necroscope_core_{what}_ratio_max") == pytest.approx(most)
    mean = sum(usage.ratio("busy") for usage in last) / len(last)
    assert value(meter, "necroscope_core_busy_ratio_mean") == pytest.approx(mean)
    assert value(meter, "necroscope_core_busiest") == 0


def test_one_reading_of_the_cores_has_no_rate_and_zero_seconds() -> None:
    meter = observed(segment_of({CORES: core_seconds(["idle"])[:1]}))
    assert values(meter, "necroscope_core_saturated_seconds_total") == {
        ("kernel",): 0,
        ("user",): 0,
        ("steal",): 0,
    }
    assert not values(meter, "necroscope_core_kernel_ratio_max")
    assert not values(meter, "necroscope_cores_saturated")


def test_what_can_no_longer_be_read_is_not_shown_as_it_was() -> None:
    cores = core_seconds(["system"])
    meter = observed(segment_of({CORES: [*cores, REFUSED]}))
    assert {sample.family for sample in meter.samples()} == {
        "necroscope_events_total",
        "necroscope_source_up",
        "necroscope_source_read_seconds_total",
    }
    assert values(meter, "necroscope_source_up") == {("cores", "not_permitted"): 0}
    # Once it is back, the time between is not counted; what was counted is kept.
    for moment in segment_of({CORES: core_seconds(["idle"])}).moments:
        meter.observe(moment, ())
    assert values(meter, "necroscope_core_saturated_seconds_total")[("kernel",)] == 1.0


def test_a_moment_without_the_cores_changes_nothing_about_them() -> None:
    meter = observed(segment_of({CORES: core_seconds(["system"])}))
    before = meter.samples()
    meter.observe(segment_of({KERNEL_LOG: [kernel_log()]}).moments[0], ())
    after = [sample for sample in meter.samples() if "kernel-log" not in sample.labels]
    assert after == before


def test_counters_of_a_core_do_not_step_back() -> None:
    def cores(idle: int, iowait: int) -> Cores:
        return tuple(replace(core, idle=idle, iowait=iowait) for core in core_seconds(["system"])[-1])

    steps = [cores(1000, 500), cores(1100, 499), cores(1099, 500)]
    meter = observed(segment_of({CORES: steps}), per_core=True)
    family = "necroscope_core_seconds_total"
    assert values(meter, family)[("0", "idle")] == 11.0
    assert values(meter, family)[("0", "iowait")] == 5.0
    # A core that begins again is shown as it is.
    meter = observed(segment_of({CORES: [*steps, cores(3, 0)]}), per_core=True)
    assert values(meter, family)[("0", "idle")] == 0.03
    assert not values(observed(segment_of({CORES: steps})), family)


def test_softirq_delay_of_all_threads_and_the_longest() -> None:
    def threads(*delays_ms: int) -> tuple[SoftirqThread, ...]:
        return tuple(
            SoftirqThread(n, f"ksoftirqd/{n}", n, delay * 10**6) for n, delay in enumerate(delays_ms)
        )

    steps = [threads(100, 200), threads(600, 300), threads(700, 300, 9000), threads(700, 100, 9250)]
    meter = observed(segment_of({SOFTIRQ_THREADS: steps}))
    assert value(meter, "necroscope_softirq_delay_seconds_total") == pytest.approx(0.95)
    assert value(meter, "necroscope_softirq_delay_seconds_max") == pytest.approx(0.25)
    assert not values(
        observed(segment_of({SOFTIRQ_THREADS: [*steps, REFUSED]})), "necroscope_softirq_delay_seconds_total"
    )


def test_memory_cgroups_by_state() -> None:
    count = HierarchyCount("memory (v1)", 1, 68680, 680, 68000, "")
    other = HierarchyCount("unified (v2)", 2, 12, 10, 2, "")
    meter = observed(segment_of({MEMORY_CGROUPS: [MemoryCgroups(count, (other,), None)]}))
    assert values(meter, "necroscope_memory_cgroups") == {
        ("memory (v1)", "in_use"): 680,
        ("memory (v1)", "zombie"): 68000,
        ("unified (v2)", "in_use"): 10,
        ("unified (v2)", "zombie"): 2,
    }


def test_the_lines_of_one_reset_count_once() -> None:
    queues = (QueueTimeouts("eth0", "ena", 0, 2), QueueTimeouts("eth0", "ena", 1, 3))
    segment = segment_of({NIC_TIMEOUTS: [queues], KERNEL_LOG: [kernel_log()]})
    assert resets(observed(segment)) == {("eth0", "ena"): 0}
    events = [
        *(reset(1), reset(1.1), reset(1.2, "reset"), reset(2, "done")),
        *(reset(5), reset(6, "failed"), reset(7, "reset", driver="")),
        reset(30),
        *(reset(31, "done"), reset(32, "done")),
        replace(reset(5, device="eth1"), sequence=2),  # of the same instant
    ]
    meter = observed(segment, events)
    assert resets(meter) == {("eth0", "ena"): 2, ("eth1", "ena"): 1}
    assert values(meter, "necroscope_nic_timeouts_total") == {("eth0", "ena"): 5}
    assert values(meter, "necroscope_events_total")[("nic-reset",)] == 11


def test_an_event_that_is_told_again_counts_once() -> None:
    segment = segment_of({CORES: core_seconds(["system"] * 3)})
    told = [
        Event("core-saturated", BEGIN_NS, "cores", "core 0", sequence=1, core=0, seconds=seconds)
        for seconds in (3.0, 6.0, 7.0)
    ]
    assert values(observed(segment, told), "necroscope_events_total")[("core-saturated",)] == 1


def test_a_queue_that_goes_on_to_stall_is_one_episode() -> None:
    events = [reset(second) for second in range(1, 122, 5)]  # as a watchdog does, without ever saying `done`
    counted = resets(observed(segment_of({KERNEL_LOG: [kernel_log()]}), events))
    assert counted == {("eth0", "ena"): 1}, "each line comes within 10 s of the one before"


def test_resets_are_unknown_without_the_kernel_log() -> None:
    queues = (QueueTimeouts("eth0", "ena", 0, 2),)
    meter = observed(segment_of({NIC_TIMEOUTS: [queues], KERNEL_LOG: [REFUSED]}))
    assert not values(meter, RESETS)


def test_made_up_devices_do_not_make_series_without_end() -> None:
    events = [reset(n * 60, device=f"eth{n}") for n in range(1000)]
    counted = resets(observed(segment_of({KERNEL_LOG: [kernel_log()]}), events))
    assert len(counted) == MAX_DEVICES + 1
    assert sum(counted.values()) == 1000
    assert counted[("other", "")] == 1000 - MAX_DEVICES


def test_every_kind_of_event_is_there_and_history_is_not_counted() -> None:
    old = [reset(-1), Event("oom-kill", BEGIN_NS - 1, "rule", "old")]
    new = [Event("oom-kill", BEGIN_NS, "rule", "new"), Event("unheard-of", BEGIN_NS, "", "")]
    meter = observed(segment_of({KERNEL_LOG: [kernel_log()]}), [*old, *new])
    expected = dict.fromkeys(((kind,) for kind in EVENT_KINDS), 0) | {("oom-kill",): 1}
    assert values(meter, "necroscope_events_total") == expected
    assert not values(meter, RESETS)


def test_restarts_of_units() -> None:
    steps = [
        (unit("a.service", 5), unit("b.service", 7), unit("old.service", None)),
        (unit("a.service", 8), unit("b.service", 2), unit("new.service", 1)),
        (unit("a.service", 8),),
        REFUSED,
        (unit("a.service", 9), unit("c.service", 0)),
    ]
    meter = observed(segment_of({UNITS: steps}))
    assert value(meter, "necroscope_unit_restarts_total") == 3 + 2 + 1 + 1
    by_unit = values(meter, "necroscope_unit_restarts_by_unit_total")
    assert by_unit == {("a.service",): 4, ("b.service",): 2, ("new.service",): 1}


def test_units_keep_their_series_and_the_rest_is_other() -> None:
    steps = [tuple(unit(f"{n}.service", second) for n in range(30)) for second in range(3)]
    meter = observed(segment_of({UNITS: steps}))
    by_unit = values(meter, "necroscope_unit_restarts_by_unit_total")
    assert len(by_unit) == 21
    assert by_unit[("other",)] == 20
    assert sum(by_unit.values()) == value(meter, "necroscope_unit_restarts_total") == 60


def test_an_old_systemd_does_not_count_restarts() -> None:
    meter = observed(segment_of({UNITS: [(unit("a.service", None),)] * 2}))
    assert not values(meter, "necroscope_unit_restarts_total")


def test_sources_and_what_they_cost() -> None:
    meter = observed(segment_of({CORES: core_seconds(["idle"] * 4), UNITS: [(), REFUSED]}))
    assert values(meter, "necroscope_source_up") == {("cores", ""): 1, ("units", "not_permitted"): 0}
    cost = values(meter, "necroscope_source_read_seconds_total")
    assert cost == {("cores",): pytest.approx(5e-6), ("units",): pytest.approx(2e-6)}


def test_the_busiest_core_of_the_last_second() -> None:
    cores = core_seconds(["user", "idle"], ["idle", "user=60,idle=40"], ["idle", "iowait"])
    assert value(observed(segment_of({CORES: cores})), "necroscope_core_busiest") == 1
    assert value(observed(segment_of({CORES: cores[:2]})), "necroscope_core_busiest") == 0
    assert not values(observed(segment_of({CORES: cores[:1]})), "necroscope_core_busiest")


def test_a_reset_has_the_strongest_reason_that_its_lines_give() -> None:
    """The kernel's watchdog speaks first, and then the driver says why."""
    watchdog = replace(reset(1), rule="netdev-watchdog")
    starved = replace(reset(1.3), rule="ena-tx-queue-paused", napi_scheduled=True, stall_seconds=5.2)
    begun = replace(reset(1.4, "reset"), rule="ena-resetting")
    device = replace(reset(40), rule="ena-admin-queue-stopped")
    meter = observed(segment_of({KERNEL_LOG: [kernel_log()]}), [watchdog, starved, begun, device])
    assert {labels[2]: count for labels, count in values(meter, RESETS).items()} == {
        "starvation": 1,
        "device": 1,
        "planned": 0,
        "watchdog": 0,
    }


def test_a_reset_is_counted_when_its_reason_must_be_known_and_not_taken_back() -> None:
    meter = observed(segment_of({KERNEL_LOG: [kernel_log()] * 2}))
    late = replace(reset(4), rule="ena-napi-not-run")
    reasons = []
    for second, events in ((1, [reset(1)]), (2, []), (3, []), (4, [late]), (5, [])):
        meter.observe(Moment(BEGIN_NS + second * 10**9, {}, {}), events)
        reasons.append([labels[2] for labels, count in values(meter, RESETS).items() if count])
    assert reasons == [[], [], ["watchdog"], ["watchdog"], ["watchdog"]]


def test_findings_of_detectors_that_could_look() -> None:
    meter = observed(segment_of({KERNEL_LOG: [kernel_log()]}))
    assert not values(meter, "necroscope_findings_active")
    found = [ActiveFinding("nic-reset", Severity.CRITICAL, "eth0", core) for core in ("3", "4")]
    checked, not_checked = ("nic-reset", "kernel-stall"), (("unit-crash-loop", "no systemd"),)
    meter.take_state(NodeState(5_500_000_000, tuple(found), checked, not_checked))
    expected = {(id, severity.value): 0 for id in checked for severity in Severity}
    assert values(meter, "necroscope_findings_active") == expected | {("nic-reset", "critical"): 2}
    assert value(meter, "necroscope_findings_examined_timestamp_seconds") == 5.5
    meter.take_state(None)
    assert not values(meter, "necroscope_findings_active"), "no 0 that looks healthy"

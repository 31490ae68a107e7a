"""Every metric there is: its name, type, labels and meaning. docs/metrics.md is the same list for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

# With series of their own; the rest is "other". Names can be made up, and a node may have hundreds of each.
MAX_UNITS = 20
MAX_OWNERS = 20
MAX_DEVICES = 64


class Sample(NamedTuple):
    """One value of a family; its label values are in the order of the family's labels."""

    family: str
    labels: tuple[str, ...]
    value: float


@dataclass(frozen=True, slots=True)
class Family:
    """One metric. `help` is its HELP line."""

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    labels: tuple[str, ...] = ()


FAMILIES: tuple[Family, ...] = (
    Family("necroscope_build_info", "gauge", "Always 1; the version that runs.", ("version",)),
    # What the node does.
    Family("necroscope_cores", "gauge", "Online cores."),
    Family(
        "necroscope_core_kernel_ratio_max",
        "gauge",
        "The largest share of the last second that one core spent in the kernel (system, softirq, irq).",
    ),
    Family(
        "necroscope_core_busy_ratio_max",
        "gauge",
        "The largest share of the last second that one core was neither idle nor waiting for I/O.",
    ),
    Family(
        "necroscope_core_softirq_ratio_max",
        "gauge",
        "The largest share of the last second that one core spent in softirqs.",
    ),
    Family(
        "necroscope_core_steal_ratio_max",
        "gauge",
        "The largest share of the last second that the hypervisor took from one core.",
    ),
    Family(
        "necroscope_core_busy_ratio_mean",
        "gauge",
        "The share of the last second that cores were busy, averaged over all: what most dashboards show.",
    ),
    Family("necroscope_core_busiest", "gauge", "The number of the core that was busiest in the last second."),
    Family("necroscope_cores_saturated", "gauge", "Cores that were saturated in the last second."),
    Family(
        "necroscope_core_saturated_seconds_total",
        "counter",
        "Core-seconds above the thresholds of core-saturated, by what filled them.",
        ("mode",),
    ),
    Family(
        "necroscope_core_seconds_total",
        "counter",
        "Time that each core spent in each mode since boot; only with per-core metrics switched on.",
        ("core", "mode"),
    ),
    Family(
        "necroscope_memory_cgroups",
        "gauge",
        "Memory cgroups in the kernel: in use, or removed and still held (zombie).",
        ("hierarchy", "state"),
    ),
    Family(
        "necroscope_memory_cgroups_tracked",
        "gauge",
        "All memory cgroups that the kernel keeps, in use or not.",
        ("hierarchy",),
    ),
    Family(
        "necroscope_memory_cgroup_zombie_growth_per_second",
        "gauge",
        "How fast zombies became more in the last 10 minutes; negative where they became fewer.",
    ),
    Family(
        "necroscope_memory_cgroup_zombies_by_owner",
        "gauge",
        "Zombies that came up while we recorded, by owner: the 20 owners with most, and the rest as `other`.",
        ("owner",),
    ),
    Family(
        "necroscope_softirq_delay_seconds_total",
        "counter",
        "Time that softirq threads were runnable but did not run, all threads together.",
    ),
    Family(
        "necroscope_softirq_delay_seconds_max",
        "gauge",
        "The longest such time of one softirq thread in the last second.",
    ),
    Family(
        "necroscope_nic_timeouts_total",
        "counter",
        "Transmit watchdog timeouts of all queues since the device appeared, as the kernel counts them.",
        ("device", "driver"),
    ),
    Family(
        "necroscope_nic_resets_total",
        "counter",
        "Stalls and resets that the kernel log tells of, by reason; the lines of one episode count once.",
        ("device", "driver", "reason"),
    ),
    Family("necroscope_events_total", "counter", "Events since the recorder began.", ("kind",)),
    Family(
        "necroscope_kernel_log_userspace_lines_total",
        "counter",
        "Lines that programs wrote to the kernel log and that read like the kernel's: they are no events.",
    ),
    Family("necroscope_unit_restarts_total", "counter", "Automatic restarts of all systemd services."),
    Family(
        "necroscope_unit_restarts_by_unit_total",
        "counter",
        "The same by unit: the first 20 units that restarted, and all later ones as `other`.",
        ("unit",),
    ),
    Family(
        "necroscope_findings_active",
        "gauge",
        "Findings that stood in the last 10 minutes recorded, of every detector that could look.",
        ("finding", "severity"),
    ),
    Family(
        "necroscope_findings_examined_timestamp_seconds",
        "gauge",
        "The end of the time that was examined for findings, since the epoch.",
    ),
    # What we see of it.
    Family(
        "necroscope_source_up",
        "gauge",
        "1 if the last reading of a source gave a value; else 0, and why.",
        ("source", "reason"),
    ),
    Family("necroscope_source_read_seconds_total", "counter", "Time spent on reading a source.", ("source",)),
    # How the recorder itself is.
    Family("necroscope_recorder_start_time_seconds", "gauge", "When the recorder began, since the epoch."),
    Family("necroscope_recorder_flight", "gauge", "1 if all is kept in memory until an event fires."),
    Family("necroscope_recorder_moments_total", "counter", "Moments recorded."),
    Family("necroscope_segments_sealed_total", "counter", "Segments sealed."),
    Family("necroscope_segments_waiting", "gauge", "Segments closed and not sealed yet."),
    Family(
        "necroscope_segments_incomplete_total",
        "counter",
        "Segments sealed without names of programs or samples: the child that seals hung or died on them.",
    ),
    Family("necroscope_sealing_working", "gauge", "1 if segments can be sealed with all that is in them."),
    Family("necroscope_store_bytes", "gauge", "What all segments of this host take, as of the last sealing."),
    Family("necroscope_store_writable", "gauge", "1 if the store can be written."),
    Family("necroscope_frames_waiting", "gauge", "Frames kept in memory because they cannot be written."),
    Family("necroscope_frames_dropped_total", "counter", "Frames given up because memory is bounded."),
    Family("necroscope_profiling", "gauge", "1 while stacks are sampled."),
    Family("necroscope_perf_starts_total", "counter", "Times that perf was started."),
    Family("necroscope_capture_gaps_total", "counter", "Stretches without samples or counters."),
    Family("necroscope_capture_gap_seconds_total", "counter", "How long they were together."),
    Family("necroscope_ship_interval_seconds", "gauge", "The usual time between two runs of shipping."),
    Family("necroscope_ship_waiting_parts", "gauge", "Parts in the spool that have not arrived yet."),
    Family("necroscope_ship_sent_parts_total", "counter", "Parts that arrived at the fleet's place."),
    Family("necroscope_ship_dropped_parts_total", "counter", "Parts given up because the spool was full."),
    Family("necroscope_ship_errors_total", "counter", "Times that not all of the spool could be sent."),
    Family(
        "necroscope_ship_seconds_since_success", "gauge", "Since all that was recorded had arrived there."
    ),
    Family("necroscope_kubernetes_interval_seconds", "gauge", "The usual time between two reports."),
    Family(
        "necroscope_kubernetes_reports_total",
        "counter",
        "Reports to the Kubernetes API server, by what became of them.",
        ("result",),
    ),
    Family("necroscope_kubernetes_seconds_since_success", "gauge", "Since it was last told how the node is."),
    Family(
        "necroscope_kubernetes_dropped_events_total",
        "counter",
        "Events that it will not be told of: too many, or too old.",
    ),
    Family(
        "necroscope_own_cpu_seconds_total", "counter", "CPU time of each part of the recorder.", ("part",)
    ),
    Family(
        "necroscope_own_resident_bytes", "gauge", "Resident memory of each part of the recorder.", ("part",)
    ),
)

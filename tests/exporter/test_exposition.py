"""The text is what Prometheus reads, and the documentation has every metric."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from necroscope import __version__
from necroscope.exporter.exposition import render
from necroscope.exporter.families import FAMILIES
from necroscope.exporter.meter import Meter
from necroscope.model.event import Event
from necroscope.model.finding import Severity
from necroscope.model.node_state import ActiveFinding, NodeState
from necroscope.model.recorder_status import KubernetesStatus, OwnCost, ShipStatus, Status
from necroscope.model.visible_text import visible_text
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER, CgroupLedger, LedgerGroup
from necroscope.sources.cores import CORES
from necroscope.sources.kernel_log import KERNEL_LOG
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, MemoryCgroups
from necroscope.sources.nic_timeouts import NIC_TIMEOUTS, QueueTimeouts
from necroscope.sources.softirq_threads import SOFTIRQ_THREADS, SoftirqThread
from necroscope.sources.units import UNITS, Unit
from necroscope.store.segment import Moment
from tests.exporter.exposition_parser import parse
from tests.segments import BEGIN_NS, core_seconds, kernel_log, segment_of

DOCS = Path(__file__).parents[2] / "docs/metrics.md"
NASTY = 'a\\b"c\nd{e="f"}é'
STATUS = Status(
    begin_utc_ns=1_776_247_331_500_000_000,
    moments=120,
    segments_sealed=3,
    segments_waiting=1,
    store_bytes=8 << 30,
    store_error="",
    frames_waiting=0,
    frames_dropped=2,
    profiling="cycles at 97 Hz",
    profiling_error="",
    perf_starts=1,
    gaps=2,
    gap_seconds=180 + 1.25e-7,
    gaps_before=1,
    gap_seconds_before=180,
    costs=(OwnCost("recorder", 1.5, 40 << 20), OwnCost("perf", 0.25, 14 << 20)),
    ship=ShipStatus(
        sent=7, given_up=2, failures=1, waiting=3, last_success_us=1_776_247_331_500_000, every_seconds=300
    ),
    kubernetes=KubernetesStatus(ok=5, refused=1, failed=2, last_success_us=1_776_247_331_500_000),
    userspace_lines=4,
)


STATE = NodeState(
    examined_utc_ns=1_776_247_331_500_000_000,
    findings=(ActiveFinding("core-saturated", Severity.WARNING, "core 3", "3"),),
    checked=("core-saturated", "nic-reset"),
    not_checked=(("unit-crash-loop", "no systemd"),),
)
LEDGER = CgroupLedger(
    0, 0, 0, 0, 2, 2, (LedgerGroup(f"/{NASTY}.service", "", "", "", "", "", 2, 2, 0, 2, 2, ""),), (), ()
)


def full_meter() -> Meter:
    """One that has something to say in every family."""
    threads = (SoftirqThread(10, "ksoftirqd/0", 0, 5),)
    restarted = tuple(
        (Unit(NASTY, "", "active", "running", n, "", "always", 0.1, 0, 0, "", "", ""),) for n in range(2)
    )
    count = HierarchyCount("memory (v1)", 1, 3, 2, 1, "")
    segment = segment_of(
        {
            CORES: core_seconds(["system"], ["idle"]),
            SOFTIRQ_THREADS: [threads, threads],
            UNITS: restarted,
            KERNEL_LOG: [kernel_log()] * 2,
            NIC_TIMEOUTS: [(QueueTimeouts("eth0", "ena", 0, 1),)] * 2,
            MEMORY_CGROUPS: [MemoryCgroups(count, (), None)] * 2,
            CGROUP_LEDGER: [LEDGER] * 2,
        }
    )
    meter = Meter(load_thresholds(None), per_core=True)
    meter.observe(segment.moments[0], ())
    meter.observe(segment.moments[1], [Event("nic-reset", BEGIN_NS, "", "", device=NASTY)])
    for seconds in range(2, 100):
        cgroups = {MEMORY_CGROUPS.id: segment.moments[1].readings[MEMORY_CGROUPS.id]}
        meter.observe(Moment(BEGIN_NS + seconds * 10**9, cgroups, {}))
    meter.take_state(STATE)
    return meter


def test_every_family_is_rendered_as_it_is_declared() -> None:
    families = parse(render(full_meter(), STATUS))
    assert list(families) == [family.name for family in FAMILIES]
    for family in FAMILIES:
        parsed = families[family.name]
        assert (parsed.kind, parsed.help, parsed.labels) == (family.kind, family.help, family.labels)


def test_label_values_come_back_as_they_were_but_for_what_cannot_be_seen() -> None:
    families = parse(render(full_meter(), STATUS))
    shown = visible_text(NASTY)
    assert shown == 'a\\b"c\\x0ad{e="f"}é'
    assert families["necroscope_unit_restarts_by_unit_total"].values == {(shown,): 1}
    resets = families["necroscope_nic_resets_total"].values
    assert {labels[:2] for labels in resets} == {("eth0", "ena"), (shown, "")}
    assert families["necroscope_memory_cgroup_zombies_by_owner"].values == {
        (f"{shown}.service",): 2,
        ("other",): 0,
    }
    assert families["necroscope_build_info"].values == {(__version__,): 1}


def test_the_recorder_itself() -> None:
    families = parse(render(full_meter(), STATUS))
    values = {name: parsed.values.get(()) for name, parsed in families.items()}
    assert values["necroscope_recorder_start_time_seconds"] == 1_776_247_331.5
    assert values["necroscope_store_bytes"] == 8 << 30
    assert values["necroscope_store_writable"] == values["necroscope_profiling"] == 1
    assert values["necroscope_capture_gap_seconds_total"] == pytest.approx(1.25e-7)
    assert values["necroscope_capture_gaps_total"] == 1, (
        "that nobody recorded before the start is not counted"
    )
    assert families["necroscope_own_cpu_seconds_total"].values == {("recorder",): 1.5, ("perf",): 0.25}
    shipped = {
        name.removeprefix("necroscope_ship_"): value for name, value in values.items() if "_ship_" in name
    }
    assert (shipped.pop("seconds_since_success") or 0) > 0
    parts = {"waiting_parts": 3, "sent_parts_total": 7, "dropped_parts_total": 2, "errors_total": 1}
    assert shipped == {"interval_seconds": 300, **parts}


def test_reports_to_the_cluster_by_what_became_of_them() -> None:
    families = parse(render(full_meter(), STATUS))
    assert families["necroscope_kubernetes_reports_total"].values == {
        ("ok",): 5,
        ("refused",): 1,
        ("failed",): 2,
    }
    assert families["necroscope_kubernetes_seconds_since_success"].values[()] > 0
    assert "necroscope_kubernetes_" not in render(full_meter(), replace(STATUS, kubernetes=None))
    never = parse(render(full_meter(), replace(STATUS, kubernetes=KubernetesStatus())))
    assert "necroscope_kubernetes_seconds_since_success" not in never


def test_what_is_not_shipped_has_no_series() -> None:
    assert "necroscope_ship_" not in render(full_meter(), replace(STATUS, ship=None))
    never = replace(STATUS, ship=ShipStatus())
    assert "necroscope_ship_seconds_since_success" not in render(full_meter(), never)


def test_without_anything_seen_there_is_no_number_made_up() -> None:
    families = parse(render(Meter(load_thresholds(None))))
    assert set(families) == {"necroscope_build_info", "necroscope_events_total"}


def test_names_follow_the_conventions() -> None:
    for family in FAMILIES:
        assert re.fullmatch(r"necroscope_[a-z_]+", family.name)
        assert family.name.endswith("_total") == (family.kind == "counter")
        assert not re.search(r"_(ms|milliseconds|percent|kb|mb|ns)(_|$)", family.name), "base units"
        assert not {"le", "quantile", "job", "instance"} & set(family.labels)
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)


def test_the_documentation_has_every_metric_and_no_other() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|(.*?)\| (.*) \|$", DOCS.read_text(), re.MULTILINE)
    documented = {name: (kind, tuple(re.findall(r"\w+", labels)), text) for name, kind, labels, text in rows}
    assert documented == {family.name: (family.kind, family.labels, family.help) for family in FAMILIES}
    assert len(rows) == len(documented)
    mentioned = set(re.findall(r"\bnecroscope_\w+", DOCS.read_text()))
    assert mentioned == set(documented)


def test_promtool_finds_nothing_wrong() -> None:
    promtool = shutil.which("promtool")
    if not promtool:
        pytest.skip("promtool is not installed: apt-get install prometheus")
    text = render(full_meter(), STATUS)
    ran = subprocess.run(
        [promtool, "check", "metrics"], input=text, check=False, capture_output=True, text=True
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")

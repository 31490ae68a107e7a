"""Every source on every recorded host; tests/hosts/README.md says what was done to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from necroscope.model.reading import Absence
from necroscope.sources.catalog import SOURCES
from necroscope.sources.hierarchies import read_hierarchies
from necroscope.sources.host import Host
from necroscope.sources.instance import INSTANCE
from necroscope.sources.kernel_log import KERNEL_LOG
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS
from necroscope.sources.nic_queues import NIC_QUEUES
from necroscope.sources.pressure import PRESSURE
from necroscope.sources.softirq_threads import SOFTIRQ_THREADS
from necroscope.sources.source import Source
from necroscope.sources.throttling import THROTTLING

HOSTS = {path.name: Host(path) for path in sorted((Path(__file__).parents[1] / "hosts").glob("debian-*"))}
# What a tree of files cannot have: drivers to ask, a systemd that runs, and tracepoints.
NOT_RECORDED = dict.fromkeys(
    ("nic-counters", "units", "held-back-units", "cgroup-ledger"), Absence.NOT_SUPPORTED
)

each_host = pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)


def test_all_kinds_of_hosts_are_there() -> None:
    assert {"debian-6.1-v2", "debian-5.10-v1", "debian-6.1-hybrid"} <= HOSTS.keys()


@each_host
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.id)
def test_every_source(host: Host, source: Source[Any]) -> None:
    reading = source.open(host)()
    assert reading.absence is NOT_RECORDED.get(source.id), reading.reason
    assert reading.value or reading.detail


@each_host
def test_20_zombies(host: Host) -> None:
    cgroups = MEMORY_CGROUPS.open(host)().value
    assert cgroups
    assert (cgroups.memory.tracked, cgroups.memory.in_use, cgroups.memory.dying) == (26, 6, 20)
    assert cgroups.percpu_bytes


@pytest.mark.parametrize(
    ("name", "version", "hierarchies", "others"),
    [
        ("debian-6.1-v2", 2, 1, []),
        ("debian-5.10-v1", 1, 12, []),
        ("debian-6.1-hybrid", 1, 13, ["unified (v2)"]),
    ],
)
def test_versions_of_cgroups(name: str, version: int, hierarchies: int, others: list[str]) -> None:
    cgroups = MEMORY_CGROUPS.open(HOSTS[name])().value
    assert cgroups
    assert cgroups.memory.version == version
    assert [other.hierarchy for other in cgroups.others] == others
    assert len(read_hierarchies(HOSTS[name]).value or ()) == hierarchies


@each_host
def test_the_one_cgroup_with_a_quota(host: Host) -> None:
    throttling = THROTTLING.open(host)().value
    assert throttling
    assert [cgroup.path for cgroup in throttling] == ["/live-0"]


@each_host
def test_one_pair_of_queues(host: Host) -> None:
    queues = NIC_QUEUES.open(host)().value
    assert queues
    assert [(queue.name, queue.driver, queue.irq, len(queue.cores)) for queue in queues] == [
        ("eth0 rx queue 0", "virtio_net", 25, 1),
        ("eth0 tx queue 0", "virtio_net", 26, 1),
    ]


@each_host
def test_both_cores(host: Host) -> None:
    threads = SOFTIRQ_THREADS.open(host)().value
    assert threads
    assert [(thread.name, thread.core) for thread in threads] == [("ksoftirqd/0", 0), ("ksoftirqd/1", 1)]
    labels = INSTANCE.open(host)().value
    assert labels
    assert (labels.cores_online, labels.cores_possible) == (2, 2)
    assert (labels.hostname.startswith("node-"), labels.provider) == (True, "")


def test_cpu_pressure_has_a_full_line_only_since_5_13() -> None:
    old, new = (PRESSURE.open(HOSTS[name])().value for name in ("debian-5.10-v1", "debian-6.1-v2"))
    assert old
    assert new
    assert (old.cpu.full_us, new.cpu.full_us) == (None, 0)


@each_host
def test_150_records_of_the_log(host: Host) -> None:
    log = KERNEL_LOG.open(host)().value
    assert log
    assert len(log.lines) == 150
    assert log.way == "/dev/kmsg (recorded)"
    assert [line.sequence for line in log.lines] == list(
        range(log.lines[0].sequence, log.lines[0].sequence + 150)
    )

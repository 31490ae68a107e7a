"""Two hosts come and go without a trace, and their network waits for what keeps one core busy."""

import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from lab.faults.hogs import kernel_hog
from lab.training.network import NetworkError, two_hosts, why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
needs_two_cores = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs a core beside the busy one")

CORE = (os.cpu_count() or 1) - 1


def our_threads() -> set[str]:
    """The kernel's threads for links of the lab."""
    names = set()
    for comm in Path("/proc").glob("[0-9]*/comm"):
        with suppress(OSError):
            if comm.read_text().startswith("napi/lab"):
                names.add(comm.parent.name)
    return names


def traces() -> tuple[set[str], set[str], set[str], str]:
    """Links, threads and network namespaces, and the mounts."""
    namespaces = set()
    for link in Path("/proc").glob("[0-9]*/ns/net"):
        with suppress(OSError):
            namespaces.add(str(link.readlink()))
    links = {path.name for path in Path("/sys/class/net").iterdir()}
    return links, our_threads(), namespaces, Path("/proc/self/mounts").read_text()


def test_they_reach_each_other_and_leave_no_trace() -> None:
    before = traces()
    with two_hosts(CORE) as network:
        assert len(network.napi_pids) == 2
        for pid in network.napi_pids:
            assert os.sched_getaffinity(pid) == {CORE}
            assert os.sched_getscheduler(pid) == os.SCHED_IDLE
        seen = subprocess.run(
            [*network.run_prefix("worker"), "ip", "-brief", "address"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert network.address("worker") in seen
        assert network.address("head") not in seen
        assert network.round_trips(0.1).count > 0
        # Nothing of it is in the host's own namespace.
        assert traces()[0] == before[0]
    assert traces() == before


def test_two_networks_do_not_meet() -> None:
    with two_hosts(CORE) as one, two_hosts(CORE) as other:
        assert not {*one.napi_pids} & {*other.napi_pids}
        assert one.round_trips(0.1).count > 0
        assert other.round_trips(0.1).count > 0


def test_an_error_inside_leaves_no_trace() -> None:
    before = traces()
    with pytest.raises(KeyboardInterrupt), two_hosts(CORE):
        raise KeyboardInterrupt
    assert traces() == before


def test_a_core_that_is_not_there_leaves_no_trace() -> None:
    before = traces()
    with pytest.raises((NetworkError, OSError)), two_hosts(100_000):
        pass
    assert traces() == before


@needs_two_cores
@pytest.mark.servers  # compares times
def test_kernel_work_on_the_core_holds_the_network_up() -> None:
    with two_hosts(CORE) as network:
        quiet = network.round_trips(1.0)
        with kernel_hog(CORE):
            time.sleep(0.2)
            delay_before = network.run_delay_seconds()
            starved = network.round_trips(2.0)
            delay = network.run_delay_seconds() - delay_before
        again = network.round_trips(1.0)
    assert starved.mean_seconds > 5 * quiet.mean_seconds
    assert starved.mean_seconds > 5 * again.mean_seconds
    assert delay > 1.5  # of the two seconds, the kernel's threads were kept waiting


@needs_two_cores
@pytest.mark.servers
def test_kernel_work_on_another_core_does_not() -> None:
    with two_hosts(CORE) as network:
        with kernel_hog(0):
            time.sleep(0.2)
            beside = network.round_trips(1.0)
        with kernel_hog(CORE):
            time.sleep(0.2)
            starved = network.round_trips(1.0)
    assert starved.mean_seconds > 5 * beside.mean_seconds

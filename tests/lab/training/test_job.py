"""A job on real Ray trains, fails when its network is held up, trains again, and all of it goes."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from lab.faults.hogs import kernel_hog
from lab.training.cluster import Cluster, starting_cluster, why_not
from lab.training.job import COLLECTIVE_TIMEOUT_SECONDS, Job, run_job, starting_job
from lab.training.network import two_hosts

pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(why_not() is not None, reason=str(why_not())),
    pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs a core beside the busy one"),
]

STARVED_TIMEOUT_SECONDS = 1.0
CORE = (os.cpu_count() or 1) - 1


def ray_processes() -> set[int]:
    """Whatever has Ray in its command line."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if b"ray" in path.read_bytes().replace(b"array", b""):
                found.add(int(path.parent.name))
    return found - {os.getpid(), os.getppid()}


def folders() -> set[Path]:
    return {*Path("/tmp").glob("lab-ray-*"), *Path("/dev/shm").iterdir(), *Path("/tmp").glob("ray")}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    before = ray_processes(), folders()
    with two_hosts(CORE) as network, starting_cluster(network) as started:
        started.wait_until_ready()
        yield started
    assert (ray_processes(), folders()) == before


def test_it_fails_when_its_network_is_held_up_and_only_then(cluster: Cluster) -> None:
    healthy = run_job(cluster, steps=20)
    assert healthy.succeeded, healthy.error
    assert len(healthy.step_seconds) == 20
    assert healthy.losses[-1] < 0.8 * healthy.losses[0]
    assert max(healthy.step_seconds) < COLLECTIVE_TIMEOUT_SECONDS

    # A step takes 2.5 s while the core is busy, and 0.03 s otherwise (measured).
    with starting_job(cluster, steps=10_000, timeout_seconds=STARVED_TIMEOUT_SECONDS) as job:
        wait_for_a_step(job)
        with kernel_hog(CORE):
            starved = job.wait(60)
    assert not starved.succeeded
    assert starved.failed_step == len(starved.step_seconds) + 1
    assert starved.error_kind == "RayTaskError(CollectiveTimeoutError)"
    assert "all-reduce timed out" in starved.error
    assert starved.failed_step_seconds is not None
    assert STARVED_TIMEOUT_SECONDS <= starved.failed_step_seconds < starved.seconds
    assert starved.end <= time.monotonic()

    again = run_job(cluster, steps=20)
    assert again.succeeded, again.error
    # The same data and the same sums: what happened to the network left no trace in what was learnt.
    assert again.losses == healthy.losses


def wait_for_a_step(job: Job) -> None:
    deadline = time.monotonic() + 60
    while "step 0" in job.progress():
        assert time.monotonic() < deadline, job.progress()
        time.sleep(0.1)


def test_a_lost_node_fails_the_job_and_nothing_is_left(cluster: Cluster) -> None:
    with starting_job(cluster, steps=10_000) as job:
        wait_for_a_step(job)
        os.kill(cluster.raylet_pid("worker"), signal.SIGKILL)
        result = job.wait(60)
    assert not result.succeeded
    assert result.error_kind


def test_an_error_while_it_starts_leaves_nothing() -> None:
    before = ray_processes(), folders()
    with pytest.raises(KeyboardInterrupt), two_hosts(CORE) as network, starting_cluster(network):
        time.sleep(1.5)
        raise KeyboardInterrupt
    assert (ray_processes(), folders()) == before

"""A real recorder that reports to a real API server: zombies, a NIC that stalls under a Ray pod, and outages.

The kernel's line is written to /dev/kmsg, as no NIC here stalls; the raylet is a program of that name in a
cgroup with the name of a pod's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from lab.faults import kernel_lines, zombies
from lab.machines.kubernetes import why_not
from lab.recorders import Recorder, recording
from necroscope.store.store import Store
from necroscope.store.stored_events import find_event
from tests.kubernetes.reporting import NODE, Reporting, reporting, wait_for
from tests.real.recorders import metrics

WHY_NOT = why_not() or zombies.why_not() or kernel_lines.why_not() or ""
pytestmark = [pytest.mark.servers, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "can")]
LINES = [
    "ena 0000:27:00.0 enp39s0: TX q 12 is paused for too long (threshold 5000000). usecs since napi 6312000."
    " napi scheduled: 1. napi CPU: 37. msecs since interrupt: 6308",
]
LOGS = Path("/var/log/pods")
ZOMBIES = 2000
REPORTED = 'necroscope_kubernetes_reports_total{result="ok"}'


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reporting]:
    with reporting(tmp_path_factory.mktemp("reporting")) as made:
        yield made


@contextmanager
def reporting_recorder(one: Reporting, warning: int = 1_000_000) -> Iterator[Recorder]:
    """A recorder with the token of its pod; zombies are a finding from so many on."""
    config = one.store.parent / "config.toml"
    files = f"token_file = '{one.token_file}'\nca_file = '{one.cluster.ca_file}'\n"
    config.write_text(
        f"[thresholds.zombie-memory-cgroups]\nwarning = {warning}\ncritical = {10**7}\n"
        f"[thresholds.memory-cgroup-leak]\nzombies = {10**6}\n"  # others may leak, too
        "[kernel_log]\ntrust_kmsg = true\n"
        f"[kubernetes]\nreport = true\nnode = '{NODE}'\nevery = '5s'\n"
        f"address = '{one.cluster.address}'\n{files}"
    )
    words = ("--segment", "5s", "--rate", "0", "--config", str(config), "--listen", "127.0.0.1:0")
    with recording(one.store, *words, samples=False) as made:
        yield made


@contextmanager
def raylet_of(uid: str, folder: Path) -> Iterator[None]:
    """A process called raylet in a cgroup that is called as a pod's, and the kubelet's folder of its logs."""
    pods = zombies.HIERARCHY / f"kubepods-of-test-{os.getpid()}"
    cgroup = pods / f"pod{uid}" / "0123abc"
    program = folder / "raylet"
    shutil.copy(str(shutil.which("sleep")), program)
    logs = LOGS / f"rays_ray-worker-0_{uid}"
    is_ours = not LOGS.exists()
    logs.mkdir(parents=True)
    cgroup.mkdir(parents=True)
    process = subprocess.Popen([program, "600"])
    try:
        (cgroup / "cgroup.procs").write_text(str(process.pid))
        yield
    finally:
        process.kill()
        process.wait()
        logs.rmdir()
        if is_ours:
            LOGS.rmdir()
        for each in (cgroup, cgroup.parent, pods):
            wait_for(lambda each=each: _removed(each), 10, f"{each} is empty")


def _removed(cgroup: Path) -> bool:
    with suppress(OSError):
        cgroup.rmdir()
    return not cgroup.exists()


def dying() -> int:
    return zombies.tracked() - zombies.in_use()


def leak(one: Reporting) -> dict[str, str]:
    found: dict[str, str] = one.conditions().get("MemoryCgroupLeak", {"status": ""})
    return found


def test_zombies_set_a_condition_that_outlives_a_restart_and_their_purge_clears_it(one: Reporting) -> None:
    ready = one.conditions()["Ready"]
    warning = dying() + ZOMBIES // 2
    with ExitStack() as stack:
        purge = stack.enter_context(ExitStack())
        purge.enter_context(zombies.zombies(ZOMBIES))
        with reporting_recorder(one, warning) as first:
            wait_for(lambda: leak(one)["status"] == "True", 60, "a condition that is True")
            found = leak(one)
            assert found["reason"] == "ZombieMemoryCgroups"
            assert "zombie memory cgroups" in found["message"]
            first.kill()
        second = stack.enter_context(reporting_recorder(one, warning))
        wait_for(lambda: is_told_again(one, found), 90, "a report of the second recorder")
        assert leak(one)["lastTransitionTime"] == found["lastTransitionTime"]
        purge.close()
        wait_for(lambda: leak(one)["status"] == "False", 60, "a condition that is False again")
        cleared = leak(one)
        assert cleared["reason"] == "NoMemoryCgroupLeak"
        assert cleared["lastTransitionTime"] > found["lastTransitionTime"]
        wait_for(lambda: metrics(second)[REPORTED] >= 2, 20, "the end of the second report")
        seen = metrics(second)
        assert seen['necroscope_kubernetes_reports_total{result="failed"}'] == 0
        assert seen["necroscope_kubernetes_seconds_since_success"] < 60
        code, body = second.end()
    assert code in (0, 1)
    assert (body["kubernetes"]["ok"] >= 2, body["kubernetes"]["error"]) == (True, "")
    assert one.conditions()["Ready"] == ready
    assert one.conditions()["RecorderImpaired"]["status"] == "False", "conditions stay when the recorder ends"


def stalled(one: Reporting) -> dict[str, str]:
    found: dict[str, str] = one.conditions().get("KernelStalled", {"status": ""})
    return found


def test_a_line_of_the_kernel_is_a_condition_within_five_seconds_that_outlives_a_restart(
    one: Reporting,
) -> None:
    with reporting_recorder(one) as first:
        wait_for(lambda: stalled(one)["status"] == "False", 60, "a first report")
        wrote = time.monotonic()
        kernel_lines.write_lines(["watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [kubelet:4711]"])
        wait_for(lambda: stalled(one)["status"] == "True", 30, "a condition that is True")
        assert time.monotonic() - wrote < 5
        found = stalled(one)
        first.kill()
    with reporting_recorder(one):
        wait_for(
            lambda: stalled(one)["lastHeartbeatTime"] > found["lastHeartbeatTime"], 60, "a report of the next"
        )
        assert stalled(one)["lastTransitionTime"] == found["lastTransitionTime"]


def is_told_again(one: Reporting, before: dict[str, str]) -> bool:
    """Whether there was another report; in no moment is a condition healthy because nobody has looked yet."""
    now = leak(one)
    assert now["status"] == "True", now
    return now["lastHeartbeatTime"] > before["lastHeartbeatTime"]


def test_a_nic_that_stalls_is_an_event_on_the_node_and_on_the_ray_pod_though_the_api_server_was_away(
    one: Reporting, tmp_path: Path
) -> None:
    one.cluster.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "rays"}})
    pod = one.cluster.add_pod("rays", "ray-worker-0", NODE)
    with raylet_of(pod["metadata"]["uid"], tmp_path), reporting_recorder(one) as recorder:
        one.cluster.stop()
        kernel_lines.write_lines(LINES)
        recorder.wait_for("reporting to the cluster: ", 30)
        one.cluster.start()
        wait_for(lambda: one.events("rays"), 60, "an event on the pod")
        nic = wait_for(lambda: one.conditions().get("NICResetting"), 30, "a condition")
        wait_for(lambda: "reporting to the cluster: well again" in recorder.said(), 30, "well again")
        recorder.end()
    (on_pod,) = one.events("rays")
    (on_node,) = [event for event in one.events() if event["reason"] == "NICReset"]
    assert on_pod["involvedObject"] == {
        "kind": "Pod",
        "apiVersion": "v1",
        "namespace": "rays",
        "name": "ray-worker-0",
        "uid": pod["metadata"]["uid"],
    }
    assert on_node["involvedObject"]["name"] == NODE
    assert on_pod["message"] == on_node["message"]
    for words in ("enp39s0 (ena) queue 12 stalled", "6.3 s without progress", "core 37 behind it"):
        assert words in on_node["message"]
    # The id in the message is the one that `flame --around` finds.
    told = find_event(Store(one.store).segments(), on_node["message"].rpartition(" ")[2])
    assert told.event.text == LINES[0]
    assert nic["type"] == "necroscope.dev/NICResetting"

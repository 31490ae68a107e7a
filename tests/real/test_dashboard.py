"""What the dashboard shows is what was done to the node: real recorder, real Prometheus, real faults.

A unit that crashes and leaks memory cgroups, in a container whose systemd the recorder sees; a core that is
kept in the kernel; and the lines of a driver and of the kernel about a queue that stands still, which are all
that is not real.
Every query is asked as Grafana asks it. Prometheus reads every 2 s instead of every 15.
"""

from __future__ import annotations

import os
import re
import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from lab.faults import crash_loops, nic_stalls
from lab.faults.hogs import kernel_hog
from lab.faults.kernel_lines import TRUST
from lab.running.incident_play import seeing_systemd
from lab.scenarios.full_core_served.make import write_watchdog_line
from necroscope.cli.rules import DOCS
from necroscope.exporter import rule_files
from tests.exporter.dashboard_queries import Asked, all_queries, as_grafana_asks
from tests.real.alert_servers import AlertServers, alert_servers, get, why_no_servers
from tests.real.recorders import Recorder, recording, wait_until, why_not

SCRAPE_SECONDS = 2
STEP_SECONDS = 15
CGROUPS_PER_START = 5
HOG_SECONDS = 10
GROWTH_SECONDS = 100  # eight points, one every ten seconds, and a margin
GROWTH = "necroscope_memory_cgroup_zombie_growth_per_second"
# Nothing is shown of these here, and why.
WITHOUT_DATA = {
    "Recorder health: Shipped, ago": "nothing is shipped",
    "Recorder health: Told Kubernetes, ago": "there is no cluster",
    "NIC resets: {{device}} watchdog timeouts": "the line of the driver is not real: the kernel counts none",
    "variables: cluster": "the target has no such label",
}
reasons = [
    reason for reason in (why_not(), crash_loops.why_not(), nic_stalls.why_not(), why_no_servers()) if reason
]

pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(bool(reasons), reason=", ".join(reasons)),
]


@dataclass
class Shown:
    """What each query gives, and what was done."""

    results: dict[str, list[dict[str, Any]]]
    zombies: int  # by the kernel's word, when the queries were asked
    leaked_per_second: float
    restarts: int  # by systemd's word, since the recorder began
    core: int  # that was kept in the kernel
    device: str  # that was said to be reset
    instance: str

    def now(self, panel: str, name: str) -> float:
        """The one value of a query for the last value."""
        (series,) = self.results[f"{panel}: {name}"]
        return float(series["value"][1])

    def lines(self, panel: str, name: str, label: str = "") -> dict[str, list[float]]:
        """The values of each series, by a label."""
        return {
            series["metric"].get(label, ""): [float(value) for _, value in series["values"]]
            for series in self.results[f"{panel}: {name}"]
        }


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    folder = tmp_path_factory.mktemp("dashboard")
    words = ("--listen", "127.0.0.1:0", "--segment", "10s", TRUST)
    with (
        crash_loops.crash_looping(CGROUPS_PER_START) as loop,
        recording(folder / "store", *words, wrapper=seeing_systemd(loop.machine)) as recorder,
    ):
        instance = address_of(recorder)
        restarts, began = loop.restarts(), time.monotonic()
        rules = rule_files.prometheus(DOCS)[0].text
        with alert_servers(folder, rules, [instance], every_seconds=SCRAPE_SECONDS) as servers:
            queue = nic_stalls.transmit_queues()[0]
            wait_until(lambda: servers.query("necroscope_nic_resets_total"), 60, "devices are known")
            time.sleep(3 * SCRAPE_SECONDS)  # so that increase() has seen the 0
            core = max(os.sched_getaffinity(0))
            with kernel_hog(core) as hog:
                os.setpriority(os.PRIO_PROCESS, hog, -20)  # before what other tests do on this CPU
                time.sleep(HOG_SECONDS)
                nic_stalls.write_stall(queue)  # of ENA, which the device may not have: a warning at most
                write_watchdog_line(queue)
            wait_until(lambda: servers.query(GROWTH), GROWTH_SECONDS, "the growth is known")
            wait_until(lambda: servers.query("necroscope_findings_active"), 60, "findings are known")
            loop.stop()
            restarts = loop.restarts() - restarts
            per_second = CGROUPS_PER_START * restarts / (time.monotonic() - began)
            time.sleep(3 * SCRAPE_SECONDS)  # a scrape after the last second with a change
            results = {query.where: ask(servers, query, instance) for query in all_queries()}
            zombies = crash_loops.leaked()
            yield Shown(results, zombies, per_second, restarts, core, queue.device, instance)


def address_of(recorder: Recorder) -> str:
    """Where its metrics are."""
    port = re.search(r"metrics on port (\d+)", recorder.said())
    assert port, recorder.said()
    return f"127.0.0.1:{port[1]}"


def ask(servers: AlertServers, query: Asked, instance: str) -> list[dict[str, Any]]:
    """A query as Grafana sends it: for now, or for the last minutes."""
    text = as_grafana_asks(query.ask, instance=instance, rate_interval=f"{STEP_SECONDS + SCRAPE_SECONDS}s")
    if query.at_once:
        return servers.query(text)
    end = time.time()
    words = {"query": text, "start": end - 300, "end": end, "step": STEP_SECONDS}
    answer = get(f"{servers.prometheus}/api/v1/query_range?{urllib.parse.urlencode(words)}")
    found: list[dict[str, Any]] = answer["data"]["result"]
    return found


def test_every_query_gives_data(shown: Shown) -> None:
    empty = {where for where, result in shown.results.items() if not result}
    assert empty - WITHOUT_DATA.keys() == set()


def test_the_fleet_has_this_node(shown: Shown) -> None:
    for query in all_queries():
        if query.panel == "Nodes, the worst first":
            (row,) = shown.results[query.where]
            assert row["metric"] == {"instance": shown.instance}, "one row: Grafana merges by labels"
    assert shown.now("Nodes", "Recorded") == 1
    assert shown.now("Nodes", "Recorder down") == 0
    assert shown.now("Nodes", "With a NIC reset in 24 h") == 1
    assert shown.now("Nodes", "With a critical finding") == 1
    assert shown.now("Nodes", "At the wall within a day") == 1


def test_zombies_are_those_of_the_kernel(shown: Shown) -> None:
    zombies = shown.now("Now", "Zombies")
    assert zombies == pytest.approx(shown.zombies, abs=20)
    per_second = shown.now("Nodes, the worst first", "Growth") / 3600
    assert per_second == pytest.approx(shown.leaked_per_second, rel=0.3)
    seconds = shown.now("Nodes, the worst first", "Time to the wall")
    assert seconds == pytest.approx((20_000 - zombies) / per_second, rel=0.01)
    owners = shown.lines("Whose they are", "{{owner}}", "owner")
    assert owners[crash_loops.UNIT][-1] == pytest.approx(CGROUPS_PER_START * shown.restarts, rel=0.1)


def test_the_hogged_core_stands_out(shown: Shown) -> None:
    panel = "Busiest core against the average"
    (busiest,), (kernel,), (average,) = (
        shown.lines(panel, name).values()
        for name in ("busiest core", "most in the kernel", "average of all cores")
    )
    assert max(kernel) >= 0.7 and max(busiest) >= 0.95
    saturated = shown.lines("Saturated core time", "{{mode}}", "mode")
    # Every second of the hog counts, in windows of 17 s that may cut it in two.
    assert max(saturated["kernel"]) > 0.5 * HOG_SECONDS / (STEP_SECONDS + SCRAPE_SECONDS)
    (cores,) = shown.lines("Which core was saturated", "core").values()
    if max(average) < 0.9:  # else another core was as full, by the load of others
        assert shown.core in cores


def test_the_reset_is_shown_with_its_reason(shown: Shown) -> None:
    assert shown.now("Now", "NIC resets, 24 h") >= 1
    bars = shown.lines("NIC resets", "{{device}} {{reason}}", "device")
    assert max(bars[shown.device]) == 1
    marked = [series["metric"] for series in shown.results["annotations: NIC resets"]]
    assert {"device": shown.device, "reason": "starvation"} in marked
    alerts = {series["metric"]["alertname"] for series in shown.results["annotations: Alerts"]}
    assert "NecroscopeNicResetStarvation" in alerts
    assert "nic-reset" in shown.lines("Events", "{{kind}}", "kind")


def test_the_failing_unit_is_named(shown: Shown) -> None:
    bars = shown.lines("Automatic restarts", "{{unit}}", "unit")
    assert bars.keys() == {crash_loops.UNIT}
    # Units are read with every segment: the last ten seconds may be missing.
    assert 0.5 * shown.restarts < shown.now("Now", "Unit restarts, 1 h") <= 1.2 * shown.restarts


def test_findings_stand_at_their_severity(shown: Shown) -> None:
    findings = {
        name: values[-1] for name, values in shown.lines("Findings", "{{finding}}", "finding").items()
    }
    assert findings["nic-reset"] == 3, findings
    assert findings["unit-crash-loop"] >= 2 and findings["memory-cgroup-leak"] >= 2
    assert findings["kernel-stall"] == 0
    assert shown.now("Now", "Findings, age") < 120

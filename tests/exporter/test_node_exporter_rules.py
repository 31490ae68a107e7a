"""A real node_exporter, started as the manual says, has every metric that the rules ask it for."""

from __future__ import annotations

import re
import shlex
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.exporter.alert_rules import OTHERS, RECORDED
from tests.exporter.test_alert_rules import MANUAL

PROGRAM = "prometheus-node-exporter"
METRIC = re.compile(r"\bnode_\w+")
ENA = "a counter of the ENA driver"
# What a machine may not have, and why; where it has it, it must be as the rules call it.
NOT_EVERYWHERE = {
    "node_ethtool_info": "needs a network device with a driver",
    "node_ethtool_suspected_poll_starvation": ENA,
    "node_ethtool_total_resets": ENA,
    "node_ethtool_transmitted_timeout": ENA,
    "node_ethtool_transmitted_tx_timeouts": "a counter of virtio_net",
    "node_schedstat_waiting_seconds_total": "needs /proc/schedstat",
    "node_systemd_service_restart_total": "needs systemd",
}

pytestmark = pytest.mark.skipif(
    not shutil.which(PROGRAM), reason=f"{PROGRAM} is not installed: apt-get install {PROGRAM}"
)


@contextmanager
def node_exporter() -> Iterator[str]:
    """One that runs with the flags of the manual: its address."""
    command = re.search(rf"^{PROGRAM} .*$", MANUAL, re.MULTILINE)
    assert command
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [*shlex.split(command[0]), f"--web.listen-address=127.0.0.1:{port}"]
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def metrics_at(address: str) -> set[str]:
    deadline = time.monotonic() + 20
    while True:
        try:
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=20) as answer:
                return set(METRIC.findall(answer.read().decode()))
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def test_it_has_what_the_rules_ask_for() -> None:
    asked = {
        name
        for text in OTHERS.texts
        for name in METRIC.findall(RECORDED.sub("", text))
        if name != "node_scrape_collector_success"  # in a text for people
    }
    with node_exporter() as address:
        there = metrics_at(address)
    missing = asked - there - NOT_EVERYWHERE.keys()
    if not Path("/proc/cgroups").read_text().count("\nmemory"):
        missing.discard("node_cgroups_cgroups")  # Linux since 6.12 without CONFIG_MEMCG_V1
    assert not missing
    assert NOT_EVERYWHERE.keys() <= asked, "what is no longer asked for needs no excuse"


def test_where_the_machine_has_it_node_exporter_has_it() -> None:
    with node_exporter() as address:
        there = metrics_at(address)
    if Path("/proc/schedstat").exists():
        assert "node_schedstat_waiting_seconds_total" in there
    if Path("/run/systemd/private").exists():
        assert "node_systemd_service_restart_total" in there
    assert "node_vmstat_pgscan_direct" in there, "only with the flag"

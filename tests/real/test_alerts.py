"""The zombie alerts fire on a real leak and the fix resolves them, with Prometheus and Alertmanager.

Nobody waits for an hour in CI, so every duration in the shipped rules is divided by one number, SPEEDUP: the
windows in brackets, `offset`, `for` and `keep_firing_for`. Thresholds are as shipped: 1 zombie a minute,
1,000 zombies. Prometheus reads the recorder every second instead of every 15 s. What the recorder itself
looks back on is not sped up: its growth needs 8 points, one every 10 s. With NECROSCOPE_ALERTS_SPEEDUP=1 the
rules are those that are shipped, and the test takes 25 minutes.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.faults import zombies
from lab.faults.steady_leaks import steady_leak
from necroscope.cli.rules import DOCS
from necroscope.exporter import rule_files
from tests.exporter.test_node_exporter_rules import PROGRAM, node_exporter
from tests.real.alert_servers import AlertServers, alert_servers, why_no_servers
from tests.real.recorders import ask, recording, wait_until, why_not

SPEEDUP = int(os.environ.get("NECROSCOPE_ALERTS_SPEEDUP", "60"))
EVERY_SECONDS = 1 if SPEEDUP > 1 else 15
GROWTH, MANY = "NecroscopeZombieGrowth", "NecroscopeManyZombies"
LEAKS_PER_SECOND = 20 if SPEEDUP > 1 else 10
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
DURATION = re.compile(r"(?<=\[)(\d+)([smhd])(?=\])|(?<=offset )(\d+)([smhd])")
RULES = (rule_files.prometheus, rule_files.prometheus_node_exporter)
no_exporter = None if shutil.which(PROGRAM) else f"needs {PROGRAM}"
reasons = [why for why in (why_not(), zombies.why_not(), why_no_servers(), no_exporter) if why]

pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(bool(reasons), reason=", ".join(reasons)),
]


def shorter(duration: str) -> str:
    return f"{int(duration[:-1]) * UNITS[duration[-1]] / SPEEDUP:g}s"


def sped_up(*texts: str) -> str:
    """Several files of rules as one, with all durations divided."""
    groups = [group for text in texts for group in yaml.safe_load(text)["groups"]]
    for rule in (rule for group in groups for rule in group["rules"]):
        rule["expr"] = DURATION.sub(lambda found: shorter(found[0]), rule["expr"])
        rule.update({name: shorter(rule[name]) for name in ("for", "keep_firing_for") if name in rule})
    return yaml.safe_dump({"groups": groups})


def wait_for_alert(servers: AlertServers, name: str, seconds: float) -> dict[str, Any]:
    """The alert, once it is active in Alertmanager."""
    wait_until(lambda: servers.firing(name), seconds, f"{name} fires")
    return servers.firing(name)[0]


def wait_for_end(servers: AlertServers, name: str, seconds: float) -> None:
    """Wait until an alert is no longer active in Alertmanager, and its receiver was told."""
    wait_until(lambda: not servers.firing(name), seconds, f"{name} clears")
    wait_until(lambda: servers.told_of(name)[-1:] == ["resolved"], 30, f"{name} is resolved")


@contextmanager
def watched(folder: Path) -> Iterator[AlertServers]:
    """A recorder and a node_exporter, and Prometheus with the rules for both."""
    with recording(
        folder / "store", "--listen", "127.0.0.1:0", "--segment", "30s", samples=False
    ) as recorder:
        port = re.search(r"metrics on port (\d+)", recorder.said())
        assert port, recorder.said()
        with node_exporter() as exporter:
            rules = sped_up(*(make(DOCS)[0].text for make in RULES))
            recorders, others = [f"127.0.0.1:{port[1]}"], {"node": exporter}
            with alert_servers(
                folder / "servers", rules, recorders, others=others, every_seconds=EVERY_SECONDS
            ) as servers:
                yield servers


def test_a_leak_fires_and_the_fix_resolves(tmp_path: Path) -> None:
    with watched(tmp_path) as servers:
        seen = "necroscope_build_info and on () node_exporter_build_info"
        wait_until(lambda: servers.query(seen), 60, "Prometheus reads both")
        assert not servers.firing(GROWTH) and not servers.firing(MANY)
        with steady_leak(LEAKS_PER_SECOND, where=str(tmp_path)) as leak:
            many = wait_for_alert(servers, MANY, 120 + 1000 / SPEEDUP)
            growth = wait_for_alert(servers, GROWTH, 120 + 1200 / SPEEDUP)
            leak.stop()
            # Below the leak's own parent: the page cache of all else that runs here is not this test's.
            subject = f"/steady-leak-{leak.process.pid}"
            ask("fix", "purge-zombies", subject, "--apply", "-d", "2s", "--store", str(tmp_path / "store"))
            for name in (MANY, GROWTH):
                wait_for_end(servers, name, 60 + 900 / SPEEDUP)
        assert servers.rules_in_trouble() == {}
    assert "a minute" in growth["annotations"]["summary"]
    assert growth["annotations"]["runbook_url"] == f"{DOCS}/alerts.md#necroscopezombiegrowth"
    assert "holds" in many["annotations"]["description"], "whose they are"
    assert servers.told_of(GROWTH)[0] == servers.told_of(MANY)[0] == "firing"

"""The real node-problem-detector with our rules: real kernel lines, real zombies, a real API server."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import tomllib
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from lab.faults import kernel_lines
from lab.faults import zombies as zombie_faults
from lab.faults.zombies import in_use, tracked, zombies
from lab.machines import kubernetes
from lab.machines.go_programs import go_program, missing
from lab.machines.kubernetes import Cluster, api_server
from lab.recorders import wait_until
from necroscope.cli.rules import DOCS
from necroscope.kubernetes import npd
from necroscope.model.finding import Severity
from necroscope.model.node_state import ActiveFinding
from tests.kubernetes.recorder_textfile import textfile

WHY_NOT = (
    missing("nodeproblemdetector")
    or kubernetes.why_not()
    or kernel_lines.why_not()
    or zombie_faults.why_not()
    or ""
)
pytestmark = [pytest.mark.servers, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)]

TABLES: dict[str, dict[str, Any]] = tomllib.loads(
    files("necroscope.signals").joinpath("rules/kernel_log.toml").read_text()
)
NODE = "node-a"
SERIES = re.compile(r'^problem_(?:counter|gauge)\{reason="(\w+)".*\} (\d+)$', re.MULTILINE)
ZOMBIES = 300
SECONDS = 30.0


@dataclass(frozen=True)
class Detector:
    port: int

    def metrics(self, kind: str) -> dict[str, int]:
        """problem_counter or problem_gauge, by reason."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=5) as answer:
            lines = [line for line in answer.read().decode().splitlines() if line.startswith(kind)]
        return {reason: int(value) for reason, value in SERIES.findall("\n".join(lines))}


def our_files(folder: Path, most: int) -> Path:
    """What `rules npd` writes, for this machine in place of a pod, every second, with another limit."""
    folder.mkdir()
    monitor = npd.memory_cgroups_monitor()
    monitor["rules"][0]["args"] = [str(folder / npd.ZOMBIES_PROGRAM), str(most), "/"]
    monitor["pluginConfig"]["invoke_interval"] = "1s"
    (folder / "memory-cgroups.json").write_text(json.dumps(monitor))
    log = npd.kernel_monitor(DOCS) | {"lookback": "0"}  # not what other tests wrote
    (folder / "kernel-monitor.json").write_text(json.dumps(log))
    recorder = json.dumps(npd.recorder_monitor(str(folder))).replace('"60s"', '"1s"')
    (folder / "recorder.json").write_text(recorder.replace(npd.TEXTFILE, str(textfile(folder))))
    for program in (npd.ZOMBIES_PROGRAM, npd.FINDINGS_PROGRAM):
        (folder / program).write_text(npd.program_text(program))
    return folder


def kubeconfig(folder: Path, cluster: Cluster) -> Path:
    def named(key: str, body: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"name": "test", key: body}]

    server = {"server": cluster.address, "certificate-authority": str(cluster.ca_file)}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": named("cluster", server),
        "users": named("user", {"token": kubernetes.ADMIN}),
        "contexts": named("context", {"cluster": "test", "user": "test"}),
        "current-context": "test",
    }
    (folder / "kubeconfig").write_text(json.dumps(document))
    return folder / "kubeconfig"


@contextmanager
def detector(folder: Path, cluster: Cluster) -> Iterator[Detector]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    config = kubeconfig(folder, cluster)
    command = [
        str(go_program("nodeproblemdetector")),
        *("--port", "0", "--prometheus-port", str(port), "--hostname-override", NODE),
        f"--apiserver-override={cluster.address}?inClusterConfig=false&auth={config}",
        f"--config.system-log-monitor={folder / 'kernel-monitor.json'}",
        f"--config.custom-plugin-monitor={folder / 'memory-cgroups.json'},{folder / 'recorder.json'}",
    ]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield Detector(port)
        finally:
            process.terminate()
            process.wait(10)


def condition_of(cluster: Cluster, type: str = npd.ZOMBIES) -> dict[str, Any]:
    node = cluster.ask("GET", f"/api/v1/nodes/{NODE}")[1]
    found = {row["type"]: row for row in node["status"]["conditions"]}
    assert found["Ready"]["status"] == "True", "another agent's condition is untouched"
    condition: dict[str, Any] = found.get(type, {})
    return condition


def wait_for(what: Callable[[], object], wanted: object) -> None:
    wait_until(lambda: what() == wanted, SECONDS, lambda: f"{what()} is to be {wanted}")


def test_lines_become_events_and_zombies_a_condition_that_clears(tmp_path: Path) -> None:
    before = tracked() - in_use()
    folder = our_files(tmp_path / "npd", before + ZOMBIES // 2)
    with api_server(tmp_path / "cluster") as cluster:
        cluster.add_node(NODE)
        with detector(folder, cluster) as one:
            wait_for(lambda: condition_of(cluster).get("status"), "False")
            check_lines(one, cluster)
            with zombies(ZOMBIES):
                wait_for(lambda: condition_of(cluster)["status"], "True")
                assert one.metrics("problem_gauge")["ManyZombieMemoryCgroups"] == 1
                condition = condition_of(cluster)
                assert condition["reason"] == "ManyZombieMemoryCgroups"
                assert re.match(r"\d+ zombie memory cgroups \(limit \d+\)$", condition["message"])
            wait_for(lambda: condition_of(cluster)["status"], "False")
            assert one.metrics("problem_gauge")["ManyZombieMemoryCgroups"] == 0
            assert condition_of(cluster)["reason"] == "FewZombieMemoryCgroups"
            check_recorder(folder, cluster)


def check_recorder(folder: Path, cluster: Cluster) -> None:
    """What the file of a recorder says becomes a condition, and is taken back."""

    def leak() -> Any:
        return condition_of(cluster, "necroscope.dev/MemoryCgroupLeak").get("status")

    unknown = condition_of(cluster, "necroscope.dev/UnitCrashLooping")
    assert (unknown["status"], unknown["message"]) == ("Unknown", "unknown: not looked for: unit-crash-loop")
    wait_for(leak, "False")
    textfile(folder, ActiveFinding("memory-cgroup-leak", Severity.CRITICAL, "a service leaks"))
    wait_for(leak, "True")
    textfile(folder)
    wait_for(leak, "False")


def as_written(line: str) -> str:
    """Some examples are as a reader of /dev/kmsg gets them."""
    return line.replace(r"\x09", "\t").replace(r"\x0a", "\n")


def check_lines(one: Detector, cluster: Cluster) -> None:
    """All examples of all rules, through /dev/kmsg; what may not match first."""
    reasons = {rule.id: reason.name for reason in npd.npd_reasons() for rule in reason.rules}
    lines = [as_written(line) for id in reasons for line in TABLES[id]["match"]]
    kernel_lines.write_lines(f"node-agent[4711]: {line}" for line in lines)
    kernel_lines.write_lines(lines)
    expected = Counter(reasons[id] for id in reasons for _ in TABLES[id]["match"])

    def counted() -> Counter[str]:
        return Counter({name: one.metrics("problem_counter")[name] for name in reasons.values()})

    wait_for(counted, expected)
    events = cluster.ask("GET", "/api/v1/events")[1]["items"]
    starved = [event for event in events if event["reason"] == "NicStarved"]
    assert starved
    assert starved[0]["involvedObject"]["name"] == NODE
    assert "napi handler hasn't been called" in starved[0]["message"]
    assert f"{DOCS}/npd.md" in starved[0]["message"]

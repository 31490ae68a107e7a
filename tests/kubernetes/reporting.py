"""A real API server with the rights and policies that we ship, two nodes, a recorder's pod on the first."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import yaml

from lab.machines.kubernetes import Cluster, api_server
from necroscope.cli.main import main
from necroscope.kubernetes.conditions import conditions_of
from necroscope.kubernetes.event_series import EventSeries
from necroscope.kubernetes.report_payload import Handover
from necroscope.kubernetes.unsent_reports import KeptReports
from necroscope.model.finding import Severity
from necroscope.model.node_state import ActiveFinding, NodeState
from necroscope.sources.host import Host
from necroscope.store.store import Store
from necroscope.store.store_place import host_name

BASE = Path(__file__).parents[2] / "deploy/kubernetes/base"
NODE, OTHER = "node-a", "node-b"
STRATEGIC = "application/strategic-merge-patch+json"
SECONDS = 30.0
CHECKED = ("zombie-memory-cgroups", "core-saturated", "softirq-starved", "nic-reset", "kernel-stall")


@dataclass(slots=True)
class Reporting:
    """A cluster, and what a recorder in it has: its token as a file, and its store."""

    cluster: Cluster
    token_file: Path
    store: Path
    pod: Any

    def run(self, action: str, *words: str) -> tuple[int, dict[str, Any]]:
        """The verb's exit code and JSON."""
        options = ["--store", str(self.store), "--address", self.cluster.address, "--node", NODE]
        options += ["--token-file", str(self.token_file), "--ca-file", str(self.cluster.ca_file)]
        text = StringIO()
        with redirect_stdout(text), redirect_stderr(StringIO()):
            code = main(["kubernetes", action, *options, *words, "--json"])
        return code, json.loads(text.getvalue())

    def report(self, *findings: str, events: Sequence[EventSeries] = (), words: Sequence[str] = ()) -> Any:
        """What the verb answers when the recorder has said this just now."""
        keep_last(self.store, *findings)
        kept = KeptReports(folder(self.store))
        for series in events:
            from necroscope.kubernetes.unsent_reports import Waiting

            kept.put(Waiting(series, ()))
        return self.run("report", *words)

    def as_recorder(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Ask with the recorder's own token."""
        token = self.token_file.read_text()
        kind = STRATEGIC if method == "PATCH" else "application/json"
        return self.cluster.ask(method, path, body, content_type=kind, token=token)

    def conditions(self, node: str = NODE) -> dict[str, Any]:
        """The conditions of a node, by type; ours without their domain."""
        _, document = self.cluster.ask("GET", f"/api/v1/nodes/{node}")
        rows = document["status"]["conditions"]
        return {row["type"].removeprefix("necroscope.dev/"): row for row in rows}

    def events(self, namespace: str = "default") -> list[Any]:
        """The Events of a namespace."""
        items: list[Any] = self.cluster.ask("GET", f"/api/v1/namespaces/{namespace}/events")[1]["items"]
        return items

    def new_pod(self, name: str) -> None:
        """Another pod of the recorder, and its token."""
        self.pod = self.cluster.add_pod("necroscope", name, NODE, account="necroscope")
        self.token_file.write_text(self.cluster.account_token("necroscope", "necroscope", self.pod))


def folder(store: Path) -> Path:
    """Where the recordings of this host are."""
    return Store(store).host_folder(host_name(Host()))


def keep_last(store: Path, *findings: str) -> None:
    """As if the recorder had just said what it found."""
    found = tuple(ActiveFinding(id, Severity.WARNING, f"{id} it is") for id in findings)
    state = NodeState(time.time_ns(), found, CHECKED)
    folder(store).mkdir(parents=True, exist_ok=True)
    kept = KeptReports(folder(store))
    kept.prepare()
    kept.keep_last(Handover(time.time_ns(), conditions_of(state, (), {})))


def documents() -> list[Any]:
    """Rights and policies, as they are shipped."""
    names = ("namespace", "service-account", "cluster-role", "admission-policies")
    return [one for name in names for one in yaml.safe_load_all((BASE / f"{name}.yaml").read_text()) if one]


@contextmanager
def reporting(place: Path) -> Iterator[Reporting]:
    """All of it, with the policies in force."""
    with api_server(place / "cluster") as cluster:
        cluster.apply(documents())
        for node in (NODE, OTHER):
            cluster.add_node(node)
        one = Reporting(cluster, place / "token", place / "store", None)
        one.new_pod("necroscope-1")
        _wait_for_policies(one)
        yield one


def _wait_for_policies(one: Reporting) -> None:
    """A policy is in force some moments after it was made."""
    deadline = time.monotonic() + SECONDS
    nothing: dict[str, Any] = {"status": {"conditions": []}}
    while one.as_recorder("PATCH", f"/api/v1/nodes/{OTHER}/status", nothing)[0] != 422:
        assert time.monotonic() < deadline, "the policy is not in force"
        time.sleep(0.2)


def wait_for(condition: Any, seconds: float, what: str) -> Any:
    """What a condition gives when it gives something."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
        time.sleep(0.2)
    return found

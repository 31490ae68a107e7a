"""Conditions and events against a real API server, with the rights and policies that are shipped."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.machines.kubernetes import why_not
from necroscope.cli.main import main
from necroscope.errors import ClusterError
from necroscope.fleet.jobs import nodes_of_ray_pods
from necroscope.fleet.jobs.nodes_of_ray_pods import IN_CLUSTER, kubernetes_api, read_pods
from necroscope.kubernetes import access
from necroscope.kubernetes.access import Access
from necroscope.kubernetes.api_server import TRIES, ApiServer
from necroscope.kubernetes.conditions import condition_rules
from necroscope.kubernetes.event_series import EventSeries
from necroscope.model.labels import Label
from necroscope.sources import kubernetes_node
from necroscope.sources.kubernetes_node import ask_node
from tests.kubernetes.conflicts import conflicts
from tests.kubernetes.reporting import NODE, OTHER, STRATEGIC, Reporting, keep_last, reporting, wait_for
from tests.kubernetes.too_many_requests import too_many_requests

pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "can"),
]
NPD = {"type": "KernelDeadlock", "status": "False", "reason": "KernelHasNoDeadlock", "message": "none"}


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reporting]:
    with reporting(tmp_path_factory.mktemp("reporting")) as made:
        body = {"status": {"conditions": [NPD], "capacity": {"cpu": "96"}}}
        made.cluster.ask("PATCH", f"/api/v1/nodes/{NODE}/status", body, content_type=STRATEGIC)
        yield made


def series(number: int, count: int = 1) -> EventSeries:
    now_ns = time.time_ns()
    id = f"nic-reset-20260415T100211.250Z-{number}"
    return EventSeries(id, "NICReset", "eth0 (ena) queue 5 stalled", now_ns, now_ns, count)


def named(one: Reporting, number: int) -> list[Any]:
    return [row for row in one.events() if row["metadata"]["name"].endswith(f"z-{number}")]


def test_conditions_are_set_and_cleared_and_others_stay_as_they_are(one: Reporting) -> None:
    before = one.conditions()
    assert one.report("zombie-memory-cgroups")[0] == 0
    set_at = one.conditions()
    assert set_at["MemoryCgroupLeak"]["status"] == "True"
    assert set_at["MemoryCgroupLeak"]["reason"] == "ZombieMemoryCgroups"
    assert set_at["CoreSaturated"]["status"] == "False"
    assert set_at["UnitCrashLooping"]["status"] == "Unknown", "that detector could not look"
    assert {name: set_at[name] for name in before} == before, "Ready and that of another agent"
    time.sleep(1.1)
    assert one.report("zombie-memory-cgroups")[0] == 0  # by a process that knows nothing of the first
    again = one.conditions()["MemoryCgroupLeak"]
    assert again["lastTransitionTime"] == set_at["MemoryCgroupLeak"]["lastTransitionTime"]
    assert again["lastHeartbeatTime"] > set_at["MemoryCgroupLeak"]["lastHeartbeatTime"]
    assert one.report()[0] == 0
    cleared = one.conditions()
    assert cleared["MemoryCgroupLeak"]["status"] == "False"
    assert cleared["MemoryCgroupLeak"]["lastTransitionTime"] >= again["lastHeartbeatTime"]
    assert {name: cleared[name] for name in before} == before


def test_show_and_remove(one: Reporting) -> None:
    one.report("zombie-memory-cgroups")
    code, shown = one.run("show")
    assert code == 1
    assert {row["type"] for row in shown["standing"]} == {rule.type for rule in condition_rules()}
    assert [row["type"] for row in shown["wanted"]] == [rule.type for rule in condition_rules()]
    assert one.run("remove") == (
        0,
        {"schema": 1, "verb": "kubernetes", "ok": True, "node": NODE, "removed": 7},
    )
    assert {"Ready", "KernelDeadlock"} == set(one.conditions())
    assert one.run("remove")[1]["removed"] == 0


def test_it_cannot_do_anything_else(one: Reporting) -> None:
    """The rights are RBAC's, the rest is the policy's."""

    def patch(node: str, status: dict[str, Any]) -> int:
        return one.as_recorder("PATCH", f"/api/v1/nodes/{node}/status", {"status": status})[0]

    before = one.conditions(), one.conditions(OTHER)
    own = {"type": "necroscope.dev/NICResetting", "status": "True"}
    assert one.as_recorder("GET", "/api/v1/nodes")[0] == 403
    assert one.as_recorder("GET", "/api/v1/pods")[0] == 403
    assert patch(OTHER, {"conditions": [own]}) == 422
    assert patch(NODE, {"conditions": [{"type": "Ready", "status": "False"}]}) == 422
    assert patch(NODE, {"conditions": [{**NPD, "status": "True"}]}) == 422
    assert patch(NODE, {"conditions": [{"$patch": "delete", "type": "Ready"}]}) == 422
    assert patch(NODE, {"capacity": {"cpu": "1"}}) == 422
    taint = {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}], "unschedulable": True}}
    assert one.as_recorder("PATCH", f"/api/v1/nodes/{NODE}", taint)[0] == 403
    assert (one.conditions(), one.conditions(OTHER)) == before


def test_a_report_about_another_node_is_refused_with_what_to_do(one: Reporting) -> None:
    one.report()
    code, body = one.run("report", "--node", OTHER)
    assert (code, body["result"], body["error"]["slug"]) == (3, "refused", "kubernetes-refused")
    assert "NODE_NAME" in body["error"]["hint"]
    code, body = one.run("report", "--node", "node-z")
    assert (code, body["result"]) == (3, "refused")
    assert "spec.nodeName" in body["error"]["hint"]


def test_a_series_that_goes_on_is_counted_up_in_its_event(one: Reporting) -> None:
    first = series(1)
    assert one.report(events=[first])[1]["events"] == 1
    (event,) = named(one, 1)
    _, node = one.cluster.ask("GET", f"/api/v1/nodes/{NODE}")
    assert event["involvedObject"]["uid"] == node["metadata"]["uid"]
    assert (event["type"], event["reason"], event["count"]) == ("Warning", "NICReset", 1)
    assert event["reportingInstance"] == NODE
    later = replace(first, count=3, last_utc_ns=first.last_utc_ns + 30 * 10**9, message="again")
    one.report(events=[later])
    (event,) = named(one, 1)
    assert (event["count"], event["message"]) == (3, "again")
    assert event["lastTimestamp"] > event["firstTimestamp"]
    one.report(events=[first])  # after a restart that read the line anew: it is there already
    assert [row["count"] for row in named(one, 1)] == [1]
    one.report(events=[series(2, count=5)])  # of which the API server has forgotten the first
    assert [row["count"] for row in named(one, 2)] == [5]


def test_what_is_to_be_told_while_the_api_server_is_away_is_told_later(one: Reporting) -> None:
    one.report()
    one.cluster.stop()
    try:
        code, body = one.report("nic-reset", events=[series(3)])
        assert (code, body["result"], body["waiting"]) == (3, "failed", 1)
        assert body["error"]["slug"] == "kubernetes-away"
    finally:
        one.cluster.start()
    code, body = one.run("report")
    assert (code, body["result"], body["waiting"], body["events"]) == (0, "ok", 0, 1)
    assert one.conditions()["NICResetting"]["status"] == "True"
    assert named(one, 3)


def test_a_token_that_was_replaced(one: Reporting) -> None:
    assert one.report()[0] == 0
    old = one.pod["metadata"]["name"]
    one.cluster.ask("DELETE", f"/api/v1/namespaces/necroscope/pods/{old}", {"gracePeriodSeconds": 0})
    # The API server remembers for 10 s that a token was good.
    wait_for(lambda: one.run("report")[0] == 3, 30, "the token of a pod that is gone is refused")
    code, body = one.run("report")
    assert (code, body["result"]) == (3, "refused")
    assert str(one.token_file) in body["error"]["hint"]
    one.new_pod("necroscope-2")  # the kubelet replaces the file
    assert one.run("report")[0] == 0


def test_too_many_requests_are_heeded(one: Reporting) -> None:
    one.report()
    with too_many_requests(one):
        with ApiServer(Access(one.cluster.address, one.token_file, one.cluster.ca_file)) as server:
            reply = server.ask("GET", f"/api/v1/nodes/{NODE}")
        assert (reply.status, reply.retry_after_seconds) == (429, 1)
        began = time.monotonic()
        code, body = one.run("report", "--seconds", "2s")
        assert (code, body["result"]) == (3, "failed")
        assert body["retry_after_seconds"] >= 1, "the recorder is told how long to wait"
        assert time.monotonic() - began < 5
    assert one.run("report")[1]["result"] == "ok"


def test_a_report_waits_as_long_as_it_is_asked_to(one: Reporting) -> None:
    one.report()
    with too_many_requests(one) as release:
        timer = threading.Timer(1.0, release)
        timer.start()
        assert one.run("report")[0] == 0, "one run sees it through"
        timer.join()


def test_conflicts_are_asked_again_and_told_when_they_do_not_end(one: Reporting) -> None:
    with conflicts(one) as made:
        made.left = 2
        assert one.report("nic-reset")[1]["result"] == "ok"
        assert made.met == 2
        assert one.conditions()["NICResetting"]["status"] == "True"
        made.left = 1000
        code, body = one.report()
        assert (code, body["result"], made.met - 2) == (3, "failed", TRIES)
        assert "409" in body["error"]["what"]
    assert one.report()[1]["result"] == "ok"
    assert one.conditions()["NICResetting"]["status"] == "False"


def test_others_who_write_to_the_same_node_neither_keep_us_out_nor_lose_anything(one: Reporting) -> None:
    """The API server settles such conflicts within itself."""
    with writers(one, 6) as turns:
        codes = [one.report(*(["nic-reset"] if turn % 2 else []))[0] for turn in range(10)]
    assert codes == [0] * 10
    conditions = one.conditions()
    assert conditions["NICResetting"]["status"] == "True"
    for number, last in turns.items():
        assert last > 2
        assert conditions[f"example.com/Writer{number}"]["reason"] == f"Turn{last}"


@contextmanager
def writers(one: Reporting, count: int) -> Iterator[dict[int, int]]:
    """Other agents that patch a condition each of our node, as fast as they can; their last turns."""
    ending = threading.Event()
    turns: dict[int, int] = {}

    def write(number: int) -> None:
        while not ending.is_set():
            turn = turns.get(number, 0) + 1
            row = {"type": f"example.com/Writer{number}", "status": "False", "reason": f"Turn{turn}"}
            body = {"status": {"conditions": [row]}}
            path = f"/api/v1/nodes/{NODE}/status"
            assert one.cluster.ask("PATCH", path, body, content_type=STRATEGIC)[0] == 200
            turns[number] = turn

    threads = [threading.Thread(target=write, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield turns
    finally:
        ending.set()
        for thread in threads:
            thread.join()


@pytest.fixture
def in_a_pod(one: Reporting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a pod has: the files of its account, and the environment."""
    (tmp_path / "token").write_text(one.token_file.read_text())
    (tmp_path / "ca.crt").write_bytes(one.cluster.ca_file.read_bytes())
    monkeypatch.setattr(kubernetes_node, "ACCOUNT", tmp_path)
    monkeypatch.setattr(access, "ACCOUNT", tmp_path)
    monkeypatch.setattr(nodes_of_ray_pods, "SERVICE_ACCOUNT", tmp_path)
    monkeypatch.setenv("NODE_NAME", NODE)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(one.cluster.ports["api"]))
    return tmp_path


@pytest.mark.usefixtures("in_a_pod")
def test_in_a_pod_nothing_has_to_be_said(one: Reporting) -> None:
    keep_last(one.store, "core-saturated")
    assert main(["kubernetes", "report", "--store", str(one.store)]) == 0
    assert one.conditions()["CoreSaturated"]["status"] == "True"


@pytest.mark.usefixtures("in_a_pod")
def test_the_labels_of_the_node_by_the_same_account(one: Reporting) -> None:
    labels = {"topology.kubernetes.io/zone": "eu-west-1b", "example.com/pool": "training"}
    body = {"metadata": {"labels": labels}, "spec": {"providerID": "aws:///eu-west-1b/i-0123456789abcdef0"}}
    one.cluster.ask("PATCH", f"/api/v1/nodes/{NODE}", body, content_type=STRATEGIC)
    found = wait_for(lambda: (node := ask_node()[0]) and node.identity.zone and node, 10, "the node's labels")
    assert found.identity.zone == "eu-west-1b"
    assert found.identity.instance_id == "i-0123456789abcdef0"
    assert Label("kubernetes/example.com/pool", "training") in found.labels


def test_the_pods_of_a_ray_cluster_by_an_account_that_may_list_pods(one: Reporting, in_a_pod: Path) -> None:
    """As docs/jobs.md says: pods list in that namespace, and nothing else."""
    cluster = one.cluster
    cluster.apply(pod_reader("rays"))
    pod = cluster.add_pod("rays", "ray-worker-0", NODE, **{"ray.io/cluster": "train"})
    cluster.add_pod("rays", "web-0", NODE)
    status = {"phase": "Running", "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}]}
    path = f"/api/v1/namespaces/rays/pods/{pod['metadata']['name']}/status"
    cluster.ask("PATCH", path, {"status": status}, content_type=STRATEGIC)
    with pytest.raises(ClusterError, match="does not accept our token"):
        read_pods(kubernetes_api(IN_CLUSTER, None, None), "rays")
    (in_a_pod / "token").write_text(cluster.account_token("rays", "jobs"))
    found = read_pods(kubernetes_api(IN_CLUSTER, None, None), "rays")
    (its,) = found.by_address["10.1.2.3"]
    assert (its.name, its.node) == ("ray-worker-0", NODE)
    assert list(found.by_address) == ["10.1.2.3"]


def pod_reader(namespace: str) -> list[dict[str, Any]]:
    """An account in a namespace that may list its pods."""
    group, name = "rbac.authorization.k8s.io", "jobs"
    metadata = {"name": name, "namespace": namespace}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        {
            "apiVersion": f"{group}/v1",
            "kind": "Role",
            "metadata": metadata,
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}],
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
            "subjects": [subject],
        },
    ]

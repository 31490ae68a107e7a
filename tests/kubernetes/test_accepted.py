"""A real API server takes all manifests, and holds the recorder's account to what they say."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.kubernetes.render import LEVELS
from lab.machines.kubernetes import Cluster, api_server, why_not
from tests.deploy.renderings import NEEDS_PROGRAMS, helm_template, kustomize_build, overlay, renamed_overlay

pytestmark = [
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
    *NEEDS_PROGRAMS,
]
STRATEGIC = "application/strategic-merge-patch+json"
COMPONENT = "necroscope.dev/recorder"
PAGE = (Path(__file__).parents[2] / "docs/kubernetes.md").read_text()
OURS = {"type": "necroscope.dev/CoreSaturated", "status": "True", "reason": "CoreFull", "message": "core 5"}
# By level, as the page has it: what the level `baseline` of Pod Security holds against a pod.
VIOLATIONS = {
    "minimal": {"hostPath volumes"},
    "perf": {"hostPath volumes", "host namespaces", "non-default capabilities"},
    "full": {"hostPath volumes", "host namespaces", "non-default capabilities", "forbidden AppArmor profile"},
}


class Account:
    """The recorder of node-a, by the token that its kubelet would have asked for."""

    def __init__(self, cluster: Cluster, namespace: str = "necroscope", name: str = "necroscope") -> None:
        self.cluster = cluster
        self.pod = cluster.add_pod(namespace, "necroscope-a", "node-a", account=name)
        self.token = cluster.account_token(namespace, name, self.pod)

    def ask(self, method: str, path: str, body: Any = None, kind: str = STRATEGIC) -> tuple[int, Any]:
        """A request in its name."""
        content_type = kind if method == "PATCH" else "application/json"
        return self.cluster.ask(method, path, body, content_type=content_type, token=self.token)

    def patch_status(self, body: Any, node: str = "node-a", kind: str = STRATEGIC) -> tuple[int, str]:
        """The answer to a patch of a node's status."""
        status, answer = self.ask("PATCH", f"/api/v1/nodes/{node}/status", body, kind)
        return status, str(answer.get("message", ""))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with api_server(tmp_path_factory.mktemp("cluster")) as cluster:
        cluster.apply(overlay("perf").values())
        cluster.add_node("node-a")
        cluster.add_node("node-b")
        yield cluster


@pytest.fixture(scope="module")
def account(cluster: Cluster) -> Account:
    account = Account(cluster)
    wait_for_the_policy(account)
    return account


def wait_for_the_policy(account: Account) -> None:
    """It is in force some moments after it was made."""
    deadline = time.monotonic() + 30
    while account.patch_status({"status": {"conditions": [OURS]}}, "node-b")[0] != 422:
        assert time.monotonic() < deadline, "the policy does not come into force"
        time.sleep(0.2)


@pytest.mark.parametrize("level", LEVELS)
def test_every_overlay_is_accepted(cluster: Cluster, level: str) -> None:
    cluster.warnings.clear()
    cluster.apply(overlay(level).values())
    assert cluster.warnings == []


@pytest.mark.parametrize("level", LEVELS)
def test_every_rendering_of_the_chart_is_accepted(cluster: Cluster, level: str) -> None:
    cluster.warnings.clear()
    cluster.apply(helm_template("--set", f"level={level},namespace.create=true").values())
    assert cluster.warnings == []


@pytest.mark.parametrize("level", LEVELS)
def test_what_pod_security_holds_against_a_level(cluster: Cluster, level: str) -> None:
    name = f"judged-{level}"
    labels = {"pod-security.kubernetes.io/warn": "baseline"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    daemon_set = overlay(level)["DaemonSet", "necroscope"]
    daemon_set["metadata"]["namespace"] = name
    cluster.warnings.clear()
    cluster.apply([namespace, daemon_set])
    (warning,) = cluster.warnings
    # `would violate PodSecurity "baseline:latest": KIND (details), KIND (details)`
    kinds = re.sub(r"\([^()]*\)", "", warning.partition("latest")[2]).strip('\\": ').split(" , ")
    assert {kind.strip('\\" ,') for kind in kinds} == VIOLATIONS[level]
    for kind in VIOLATIONS[level]:
        assert kind in PAGE


def test_a_namespace_with_another_level_refuses_the_pods(cluster: Cluster) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "baseline"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "strict", "labels": labels}}
    cluster.apply([namespace])
    spec = overlay("minimal")["DaemonSet", "necroscope"]["spec"]["template"]["spec"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": spec}
    spec.pop("priorityClassName")
    status, answer = cluster.ask("POST", "/api/v1/namespaces/strict/pods", pod)
    assert status == 403 and "violates PodSecurity" in answer["message"]


def test_it_sets_and_removes_its_own_condition(account: Account) -> None:
    assert account.patch_status({"status": {"conditions": [OURS]}})[0] == 200
    assert account.patch_status({"status": {"conditions": [{**OURS, "status": "False"}]}})[0] == 200
    gone = {"type": OURS["type"], "$patch": "delete"}
    assert account.patch_status({"status": {"conditions": [gone]}})[0] == 200
    _, node = account.ask("GET", "/api/v1/nodes/node-a")
    assert [one["type"] for one in node["status"]["conditions"]] == ["Ready"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
            "conditions below necroscope.dev/",
        ),
        (
            {"status": {"conditions": [{"type": "Ready", "$patch": "delete"}]}},
            "conditions below necroscope.dev/",
        ),
        (
            {"status": {"conditions": [{"type": "Mine", "status": "True"}]}},
            "conditions below necroscope.dev/",
        ),
        ({"status": {"capacity": {"example.com/gpu": "8"}}}, "nothing else in it"),
        ({"status": {"addresses": [{"type": "Hostname", "address": "x"}]}}, "nothing else in it"),
        ({"metadata": {"labels": {"pool": "mine"}}}, "labels, annotations"),
        ({"metadata": {"annotations": {"a": "b"}}}, "labels, annotations"),
        ({"metadata": {"finalizers": ["necroscope.dev/stay"]}}, "labels, annotations"),
    ],
)
def test_nothing_else_of_its_node_changes(account: Account, body: Any, says: str) -> None:
    status, message = account.patch_status(body)
    assert status == 422 and says in message


def test_a_patch_that_would_replace_all_conditions_is_refused(account: Account) -> None:
    kind = "application/merge-patch+json"
    status, message = account.patch_status({"status": {"conditions": [OURS]}}, kind=kind)
    assert status == 422 and "conditions below necroscope.dev/" in message


def test_another_node_is_out_of_reach(account: Account) -> None:
    status, message = account.patch_status({"status": {"conditions": [OURS]}}, "node-b")
    assert status == 422 and "its token is of node-a" in message


def test_under_another_name_it_is_held_to_the_same(tmp_path: Path) -> None:
    with api_server(tmp_path / "cluster") as cluster:
        cluster.apply(kustomize_build(renamed_overlay(tmp_path)).values())
        for node in ("node-a", "node-b"):
            cluster.add_node(node)
        renamed = Account(cluster, "elsewhere", "x-necroscope")
        wait_for_the_policy(renamed)
        assert renamed.patch_status({"status": {"conditions": [OURS]}})[0] == 200
        assert (
            renamed.patch_status({"status": {"conditions": [{"type": "Ready", "status": "False"}]}})[0] == 422
        )


def test_a_token_that_names_no_node_is_good_for_nothing(account: Account) -> None:
    cluster = account.cluster
    token = cluster.account_token("necroscope", "necroscope")
    status, answer = cluster.ask(
        "PATCH",
        "/api/v1/nodes/node-a/status",
        {"status": {"conditions": [OURS]}},
        content_type=STRATEGIC,
        token=token,
    )
    assert status == 422 and "its token is of no node" in answer["message"]
    assert cluster.ask("POST", EVENTS, event("bare"), token=token)[0] == 422


def test_rights_that_it_does_not_have(account: Account) -> None:
    refused = [
        account.ask("GET", "/api/v1/nodes"),
        account.ask("GET", "/api/v1/nodes?watch=1"),
        account.ask("GET", "/api/v1/pods"),
        account.ask("PATCH", "/api/v1/nodes/node-a", {"spec": {"unschedulable": True}}),
        account.ask("DELETE", "/api/v1/nodes/node-a"),
    ]
    assert [status for status, _ in refused] == [403] * len(refused)


def event(
    name: str, host: str = "node-a", component: str = COMPONENT, about: str = "node-a"
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "default"},
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": about},
        "type": "Warning",
        "reason": "NICReset",
        "message": "eth0 was reset",
        "source": {"component": component, "host": host},
        "reportingComponent": component,
        "reportingInstance": host,
    }


POD = {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "ray-worker-0", "uid": "1-2-3"}


def about_a_pod(name: str, **changes: Any) -> dict[str, Any]:
    """An event on a pod, and what is different in it; of the pod with `uid=None`, say."""
    pod = {key: changes.pop(key, value) for key, value in POD.items()}
    about = {key: value for key, value in pod.items() if value is not None}
    return {**event(name), "involvedObject": about, **changes}


EVENTS = "/api/v1/namespaces/default/events"


def test_it_writes_events_of_its_own(account: Account) -> None:
    assert account.ask("POST", EVENTS, event("mine"))[0] == 201
    assert account.ask("PATCH", f"{EVENTS}/mine", {"count": 2})[0] == 200


def test_it_writes_events_about_pods(account: Account) -> None:
    assert account.ask("POST", EVENTS, about_a_pod("of-a-pod"))[0] == 201
    assert account.ask("PATCH", f"{EVENTS}/of-a-pod", {"count": 2, "message": "again"})[0] == 200


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"uid": None}, "only with its uid"),
        ({"reason": "Evicted"}, "the reasons that it knows"),
        ({"reason": "SoftLockup"}, "the reasons that it knows"),
        ({"kind": "Deployment", "apiVersion": "apps/v1"}, "about nothing else"),
        ({"kind": "ConfigMap"}, "about nothing else"),
        ({"apiVersion": "example.com/v1"}, "about nothing else"),
        ({"related": {"apiVersion": "v1", "kind": "Node", "name": "node-b"}}, "about nothing else"),
        ({"reportingInstance": "node-b"}, "on its own node only"),
        ({"source": {"component": COMPONENT, "host": "node-b"}}, "on its own node only"),
    ],
    ids=str,
)
def test_events_about_pods_are_held_to_what_can_be_seen(
    account: Account, wrong: dict[str, Any], says: str
) -> None:
    """That the pod runs on its node cannot be seen: docs/kubernetes.md."""
    status, answer = account.ask("POST", EVENTS, about_a_pod("wrong", **wrong))
    assert status == 422 and says in answer["message"]


def test_an_event_about_the_node_has_one_of_its_reasons(account: Account) -> None:
    assert account.ask("POST", EVENTS, {**event("locked-up"), "reason": "SoftLockup"})[0] == 201
    status, answer = account.ask("POST", EVENTS, {**event("gone"), "reason": "NodeNotReady"})
    assert status == 422 and "the reasons that it knows" in answer["message"]


@pytest.mark.parametrize(
    "change",
    [{"involvedObject": {"name": "another"}}, {"involvedObject": {"uid": "4-5-6"}}, {"reason": "Other"}],
    ids=str,
)
def test_an_event_of_its_own_stays_about_what_it_was(account: Account, change: dict[str, Any]) -> None:
    status, _ = account.ask("POST", EVENTS, about_a_pod("to-be-moved"))
    assert status in (201, 409)
    status, answer = account.ask("PATCH", f"{EVENTS}/to-be-moved", change)
    assert status == 422 and "what an event is about" in answer["message"]


@pytest.mark.parametrize(
    "wrong",
    [{"host": "node-b"}, {"component": "kubelet"}, {"about": "node-b"}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_it_writes_no_event_of_others(account: Account, wrong: dict[str, str]) -> None:
    assert account.ask("POST", EVENTS, event("wrong", **wrong))[0] == 422


def test_it_does_not_take_over_an_event_of_another(account: Account, cluster: Cluster) -> None:
    cluster.create(EVENTS, event("of-the-kubelet", component="kubelet"))
    takeover = {"reportingComponent": COMPONENT, "source": {"component": COMPONENT, "host": "node-a"}}
    assert account.ask("PATCH", f"{EVENTS}/of-the-kubelet", takeover)[0] == 422

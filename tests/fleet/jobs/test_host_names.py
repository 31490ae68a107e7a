from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from necroscope.errors import ClusterError, UsageError
from necroscope.fleet.jobs import nodes_of_ray_pods
from necroscope.fleet.jobs.host_names import (
    HostNames,
    cluster_name,
    hosts_of_nodes,
    jobs_of,
    known_hosts,
    read_hosts_file,
)
from necroscope.fleet.jobs.nodes_of_ray_pods import Pod, Pods, kubernetes_api, parse_pod, read_pods
from necroscope.fleet.jobs.ray_api import read_cluster
from necroscope.fleet.jobs.ray_rows import RayNode
from necroscope.fleet.jobs.web_api import WebApi
from tests.fleet.jobs.answers import TOKEN, Said, serving

KNOWN = known_hosts(
    ["node-1", "node-2.example.com", "gpu-7", "a.one", "a.two"],
    [("192.0.2.1", "node-1"), ("i-0abc", "gpu-7"), ("10.0.0.9", "node-1"), ("10.0.0.9", "gpu-7")],
)
BEGIN_MS = 1_794_968_517_000


def node(**fields: str | int | None) -> RayNode:
    return RayNode(**{"id": "n1", "address": "", "name": "", **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("its", "host"),
    [
        (node(host_name="node-1"), "node-1"),
        (node(host_name="NODE-1.eu.internal"), "node-1"),
        (node(host_name="node-2"), "node-2.example.com"),
        (node(name="gpu-7"), "gpu-7"),
        (node(name="192.0.2.1", address="192.0.2.1"), "node-1"),
        (node(instance_id="i-0abc", address="192.0.2.1"), "gpu-7"),
        (node(address="10.0.0.9"), ""),  # two hosts have it
        (node(host_name="a"), ""),
        (node(host_name="stranger", address="10.1.1.1"), ""),
        (node(), ""),
    ],
)
def test_a_node_is_the_host_of_its_names(its: RayNode, host: str) -> None:
    assert HostNames(KNOWN).host_of(its) == host


def test_a_file_goes_first_then_what_was_seen_before_then_pods() -> None:
    pods = Pods({"10.0.0.5": (Pod("ray-worker", "gpu-7", ("10.0.0.5",), BEGIN_MS),)})
    its = node(address="10.0.0.5", host_name="node-1", begin_ms=BEGIN_MS + 20_000)
    assert HostNames(KNOWN, pods=pods).host_of(its) == "gpu-7"
    assert HostNames(KNOWN, pods=pods, remembered={"n1": "node-2"}).host_of(its) == "node-2"
    assert HostNames(KNOWN, {"10.0.0.5": "NODE-1"}, pods, {"n1": "node-2"}).host_of(its) == "node-1"
    assert HostNames(KNOWN, {"10.0.0.5": "elsewhere"}).host_of(its) == "elsewhere"


def test_the_hosts_file(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text("# which is which\n\n192.0.2.7 = node-7\nRay-Head='gpu-1'\n")
    assert read_hosts_file(path) == {"192.0.2.7": "node-7", "ray-head": "gpu-1"}
    path.write_text('"192.0.2.7" = "node-7"\nhead = "gpu-1"\n')
    assert read_hosts_file(path) == {"192.0.2.7": "node-7", "head": "gpu-1"}
    path.write_text("192.0.2.7 node-7\n")
    with pytest.raises(UsageError, match="line 1"):
        read_hosts_file(path)
    with pytest.raises(UsageError, match="No such file"):
        read_hosts_file(tmp_path / "none")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError):
        read_hosts_file(path)


def test_real_answers_become_jobs_of_hosts() -> None:
    with serving() as server:
        told = read_cluster(WebApi(server.address, str, ""), 0, 2**62)
    names = HostNames(known_hosts(["vm"], []), {"worker-a": "gpu-7"})
    jobs = {job.id: job for job in jobs_of("ray", told, names)}
    assert jobs["lost"].hosts == ("gpu-7", "vm")
    assert jobs["exit3"].hosts == ("vm",)
    assert jobs["lost"].end_us == 1_794_968_585_440_000
    assert {*hosts_of_nodes(told, names).values()} == {"gpu-7", "vm"}
    unknown = {job.id: job for job in jobs_of("ray", told, HostNames(known_hosts([], [])))}
    assert unknown["lost"].hosts == ()
    assert unknown["lost"].unknown_nodes == ("vm",)


def test_the_name_of_a_cluster() -> None:
    assert cluster_name("http://ray.example.com:8265/x") == "ray.example.com-8265"
    assert cluster_name("https://ray") == "ray"


# --- Kubernetes


def pod_row(name: str, node_name: str | None, address: str, begin: str | None) -> dict[str, object]:
    status = {"podIP": address, "podIPs": [{"ip": address}, {"ip": "fd00::5"}], "startTime": begin}
    return {"metadata": {"name": name}, "spec": {"nodeName": node_name}, "status": status}


def test_a_pod_that_began_later_is_another() -> None:
    """Addresses are given again: of a node that is gone, the pod of that address now says nothing."""
    pods = Pods({"10.0.0.5": (Pod("later", "gpu-7", ("10.0.0.5",), BEGIN_MS),)})
    assert pods.node_of(node(address="10.0.0.5", begin_ms=BEGIN_MS + 20_000)) == "gpu-7"
    assert pods.node_of(node(address="10.0.0.5", begin_ms=BEGIN_MS - 600_000, end_ms=BEGIN_MS - 9_000)) == ""
    assert pods.node_of(node(address="10.0.0.6", begin_ms=BEGIN_MS)) == ""
    assert pods.node_of(node(address="10.0.0.5", end_ms=BEGIN_MS)) == ""  # when it began is not known


def test_pods_of_one_address_are_told_apart_by_name() -> None:
    """With the host's own network all pods of a host have its address; with another's, they differ."""
    both = tuple(Pod(name, host, ("10.0.0.5",), 0) for name, host in (("one", "gpu-1"), ("two", "gpu-2")))
    pods = Pods({"10.0.0.5": both})
    assert pods.node_of(node(address="10.0.0.5", begin_ms=BEGIN_MS)) == ""
    assert pods.node_of(node(address="10.0.0.5", host_name="two", begin_ms=BEGIN_MS)) == "gpu-2"


@pytest.mark.parametrize(
    "row",
    [
        None,
        {},
        {"spec": 5, "status": []},
        pod_row("pending", None, "10.0.0.1", None),
        {"status": {"podIPs": [7]}},
    ],
)
def test_what_is_no_placed_pod(row: object) -> None:
    assert parse_pod(row) is None


def test_pods_are_listed_page_by_page_with_a_token_that_is_renewed(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(TOKEN)
    pages = {
        "": ([pod_row("head", "gpu-1", "10.0.0.1", "2026-11-18T02:00:00Z")], "next page"),
        "next page": ([pod_row("worker", "gpu-2", "10.0.0.2", "not a time")], ""),
    }

    def say(path: str) -> Said:
        query = parse_qs(urlsplit(path).query)
        assert urlsplit(path).path == "/api/v1/namespaces/ray/pods"
        assert query["labelSelector"] == ["ray.io/cluster"]
        items, following = pages[query.get("continue", [""])[0]]
        token.write_text("renewed")
        return Said(json.dumps({"items": items, "metadata": {"continue": following}}).encode())

    with serving(say) as server:
        pods = read_pods(kubernetes_api(server.address, token, None), "ray")
        assert [given for _, given in server.asked] == [f"Bearer {TOKEN}", "Bearer renewed"]
    assert {address: [pod.node for pod in some] for address, some in pods.by_address.items()} == {
        "10.0.0.1": ["gpu-1"],
        "10.0.0.2": ["gpu-2"],
        "fd00::5": ["gpu-1", "gpu-2"],
    }
    assert pods.node_of(node(address="10.0.0.2")) == "gpu-2"


def test_pods_that_may_not_be_listed(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("of-another")
    with serving(token=TOKEN) as server, pytest.raises(ClusterError) as caught:
        read_pods(kubernetes_api(server.address, token, None), "ray")
    assert "pods list" in caught.value.hint
    with serving(lambda _: Said(b"[]")) as server, pytest.raises(ClusterError, match="pods"):
        read_pods(kubernetes_api(server.address, None, None), "ray")


def test_inside_of_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes_of_ray_pods, "SERVICE_ACCOUNT", tmp_path)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(UsageError, match="no pod"):
        kubernetes_api("in-cluster", None, None)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "namespace").write_text("ray\n")
    api = kubernetes_api("in-cluster", None, None)
    assert (api.address, api.token(), api.ca_file) == ("https://[fd00::1]:6443", TOKEN, tmp_path / "ca.crt")
    assert nodes_of_ray_pods.own_namespace() == "ray"
    with pytest.raises(ClusterError, match=re.escape(str(tmp_path / "ca.crt"))):
        read_pods(api, "ray")

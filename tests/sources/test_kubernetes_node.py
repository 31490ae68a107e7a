"""The labels of a node, by a real HTTPS service with a certificate of its own."""

from __future__ import annotations

import json
import ssl
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from necroscope.model.labels import Label
from necroscope.sources import http_client, kubernetes_node
from necroscope.sources.cloud import Identity
from necroscope.sources.host import Host
from necroscope.sources.http_client import UnansweredError
from necroscope.sources.instance import INSTANCE
from necroscope.sources.kubernetes_node import ask_node, parse_node
from tests.sources.metadata_services import Answer, Answers, always, serving, trickling

NAME = "ip-10-0-1-7.eu-west-1.compute.internal"
NODE: dict[str, Any] = {
    "kind": "Node",
    "apiVersion": "v1",
    "metadata": {
        "name": NAME,
        "labels": {
            "kubernetes.io/hostname": NAME,
            "kubernetes.io/arch": "amd64",
            "alpha.eksctl.io/instance-id": "i-0123456789abcdef0",
            "node.kubernetes.io/instance-type": "g4dn.12xlarge",
            "topology.kubernetes.io/region": "eu-west-1",
            "topology.kubernetes.io/zone": "eu-west-1b",
            "example.com/api-token": "hunter2",
            "example.com/pool": "training",
        },
    },
    "spec": {"providerID": "aws:///eu-west-1b/i-0123456789abcdef0"},
    "status": {
        "addresses": [{"type": "Hostname", "address": NAME}, {"type": "InternalIP", "address": "10.0.1.7"}]
    },
}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a service account, and the key of a server with it."""
    folder = tmp_path_factory.mktemp("account")
    subject = ("-subj", "/CN=kubernetes", "-addext", "subjectAltName=IP:127.0.0.1")
    kind = ("-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    files = ("-keyout", str(folder / "server.key"), "-out", str(folder / "ca.crt"))
    subprocess.run(["openssl", "req", *kind, *subject, *files], check=True, capture_output=True)
    (folder / "token").write_text("the-token\n")
    return folder


def context_of(folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "ca.crt", folder / "server.key")
    return context


@pytest.fixture
def in_a_pod(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kubernetes_node, "ACCOUNT", certificate)
    monkeypatch.setattr(http_client, "BRIEF_SECONDS", 10.0)  # the machine may be busy
    monkeypatch.setenv("NODE_NAME", NAME)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    return certificate


def node(method: str, path: str, headers: Mapping[str, str]) -> Answer:
    if headers.get("authorization") != "Bearer the-token":
        return 401, b"{}", {}
    is_right = (method, path) == ("GET", f"/api/v1/nodes/{NAME}?resourceVersion=0")
    return (200 if is_right else 404), json.dumps(NODE).encode(), {}


def test_a_node_and_its_labels(in_a_pod: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(node, context_of(in_a_pod)) as service:
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(service.server_port))
        labels = INSTANCE.open(Host())().value
        assert len(service.asked) == 1
    assert labels
    assert (labels.provider, labels.instance_id, labels.instance_type, labels.machine_image) == (
        *("ec2", "i-0123456789abcdef0", "g4dn.12xlarge", ""),
    )
    assert (labels.region, labels.zone, labels.address) == ("eu-west-1", "eu-west-1b", "10.0.1.7")
    # Without those that are of this node alone, and without what is called a secret.
    assert [label for label in labels.others if label.name.startswith("kubernetes/")] == [
        Label("kubernetes/example.com/pool", "training"),
        Label("kubernetes/kubernetes.io/arch", "amd64"),
        Label("kubernetes/node.kubernetes.io/instance-type", "g4dn.12xlarge"),
        Label("kubernetes/topology.kubernetes.io/region", "eu-west-1"),
        Label("kubernetes/topology.kubernetes.io/zone", "eu-west-1b"),
    ]


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        (always(403, b'{"kind": "Status"}'), "403"),
        (always(200, b'{"kind": "Status"}'), "no description"),
        (always(200, b"<html>"), "cut or damaged"),
        (always(200, b"x" * (2 << 20)), "more than 1 MiB"),
        (always(307, b"", Location="https://127.0.0.1:1/"), "307"),
    ],
    ids=["refused", "another kind", "html", "huge", "elsewhere"],
)
def test_an_answer_that_does_not_help(
    in_a_pod: Path, monkeypatch: pytest.MonkeyPatch, answers: Answers, why: str
) -> None:
    with serving(answers, context_of(in_a_pod)) as service:
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(service.server_port))
        found, reason = ask_node()
    assert found is None
    assert why in reason


def test_a_server_that_we_do_not_trust_gets_no_token(
    in_a_pod: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = context_of(in_a_pod)
    other = tmp_path / "account"
    other.mkdir()
    (other / "token").write_text("the-token")
    (other / "ca.crt").write_bytes(Path(ssl.get_default_verify_paths().openssl_cafile).read_bytes())
    monkeypatch.setattr(kubernetes_node, "ACCOUNT", other)
    with serving(node, context) as service:
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(service.server_port))
        found, reason = ask_node()
        assert service.asked == []
    assert found is None
    assert "CERTIFICATE_VERIFY_FAILED" in reason


@pytest.mark.parametrize("head", [b"", b"\x16\x03\x03\x40\x00"], ids=["no TLS", "a slow handshake"])
def test_half_a_second_and_no_more(in_a_pod: Path, monkeypatch: pytest.MonkeyPatch, head: bytes) -> None:
    monkeypatch.setattr(http_client, "BRIEF_SECONDS", 0.5)
    with trickling(head, b"\x02") as place:
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", place.rpartition(":")[2])
        began = time.monotonic()
        found, reason = ask_node()
        assert time.monotonic() - began < 5
    assert found is None
    assert NAME in reason


@pytest.mark.parametrize("missing", ["NODE_NAME", "KUBERNETES_SERVICE_HOST", "token"])
def test_outside_of_a_pod_nobody_is_asked(
    in_a_pod: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    if missing == "token":
        monkeypatch.setattr(kubernetes_node, "ACCOUNT", tmp_path)
    else:
        monkeypatch.delenv(missing)
    assert ask_node() == (None, "")


@pytest.mark.parametrize(("file", "content"), [("token", b"\xff\xfe"), ("ca.crt", b"no certificate")])
def test_an_account_that_is_none(
    in_a_pod: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, content: bytes
) -> None:
    for name in ("token", "ca.crt"):
        (tmp_path / name).write_bytes(content if name == file else (in_a_pod / name).read_bytes())
    monkeypatch.setattr(kubernetes_node, "ACCOUNT", tmp_path)
    found, reason = ask_node()
    assert found is None
    assert reason


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"metadata": None, "spec": None, "status": None}, Identity()),
        (
            {"metadata": {"labels": ["a"]}, "spec": {}, "status": {"addresses": [1, {"type": "InternalIP"}]}},
            Identity(),
        ),
        ({"metadata": {"labels": {"a": 1}}, "spec": {"providerID": 7}, "status": {}}, Identity()),
        (
            {"metadata": {}, "spec": {"providerID": "gce://project/europe-west1-b/gke-1"}, "status": {}},
            Identity(provider="gcp"),
        ),
        ({"metadata": {}, "spec": {"providerID": "kind://docker/a/b"}, "status": {}}, Identity()),
        (
            {
                "metadata": {"labels": {"failure-domain.beta.kubernetes.io/zone": "z"}},
                "spec": {},
                "status": {},
            },
            Identity(zone="z"),
        ),
    ],
)
def test_odd_nodes(change: dict[str, Any], expected: Identity) -> None:
    assert parse_node({**NODE, **change}).identity == expected


@pytest.mark.parametrize("document", [None, [], "text", {}, {"kind": "NodeList"}])
def test_what_is_no_node(document: Any) -> None:
    with pytest.raises(UnansweredError):
        parse_node(document)

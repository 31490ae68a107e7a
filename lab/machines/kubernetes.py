"""A real API server of Kubernetes with its etcd, on free ports of 127.0.0.1, with RBAC and admission.

    with api_server(tmp_path) as cluster:
        cluster.apply(documents)
        status, node = cluster.ask("GET", "/api/v1/nodes/node-a")

There is no kubelet, scheduler or controller: nodes and pods are what is posted, and stay so. `stop` and
`start` again: the data is still there, and so is the port.

Needs    etcd (Debian: etcd-server), kube-apiserver and openssl (scripts/go-programs kube-apiserver)
Costs    3 s to start, 350 MB
"""

from __future__ import annotations

import json
import shutil
import signal
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lab.machines.go_programs import go_program, missing

START_SECONDS = 90.0
ADMIN = "admin-of-this-test"
APPLY = "application/apply-patch+yaml"  # JSON is YAML
# Objects whose address is not /apis/GROUP/VERSION/<kind in lower case>s.
PLURALS = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "NetworkPolicy": "networkpolicies",
    "PriorityClass": "priorityclasses",
}
CLUSTER_WIDE = {
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "Namespace",
    "Node",
    "PriorityClass",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
}


class ClusterError(RuntimeError):
    """A server did not start, or refused what a test set out from."""


def why_not() -> str:
    """What is missing on this machine; empty: nothing."""
    programs = [name for name in ("etcd", "openssl") if not shutil.which(name)]
    return f"needs {', '.join(programs)}" if programs else missing("kube-apiserver")


@dataclass(slots=True)
class Cluster:
    """The servers; `folder` keeps their keys and data."""

    folder: Path
    options: Sequence[str] = ()  # further ones of kube-apiserver
    ports: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)  # what the API server warned of since the start
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Where the API server listens."""
        return f"https://127.0.0.1:{self.ports['api']}"

    @property
    def ca_file(self) -> Path:
        """What its certificate is checked with."""
        return self.folder / "certificates/apiserver.crt"

    @property
    def pids(self) -> dict[str, int]:
        """The processes, by name."""
        return {name: process.pid for name, process in self._processes.items()}

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        token: str = ADMIN,
    ) -> tuple[int, Any]:
        """The status and the document of an answer, whatever the status is. OSError: there is none."""
        request = urllib.request.Request(
            f"{self.address}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": content_type},
        )
        context = ssl.create_default_context(cafile=str(self.ca_file))
        try:
            with urllib.request.urlopen(request, timeout=30, context=context) as answer:
                self.warnings += answer.headers.get_all("Warning") or []
                return answer.status, _document(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, _document(error.read())

    def apply(self, documents: Iterable[Mapping[str, Any]]) -> list[Any]:
        """As `kubectl apply --server-side --validate=strict` does. ClusterError: one is refused."""
        made = []
        for document in documents:
            path = f"{object_path(document)}?fieldManager=test&fieldValidation=Strict&force=true"
            status, answer = self.ask("PATCH", path, document, content_type=APPLY)
            if status not in (200, 201):
                name = f"{document['kind']} {document['metadata']['name']}"
                raise ClusterError(f"{name}: {status}: {answer.get('message', answer)}")
            made.append(answer)
        return made

    def create(self, path: str, body: Mapping[str, Any]) -> Any:
        """Post an object. ClusterError: it is refused."""
        status, answer = self.ask("POST", path, body)
        if status not in (200, 201):
            raise ClusterError(f"{path}: {status}: {answer.get('message', answer)}")
        return answer

    def add_node(self, name: str, **labels: str) -> Any:
        """A node, as its kubelet would have registered it: Ready."""
        node = self.create(
            "/api/v1/nodes",
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}},
        )
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "posting ready"}
        self.ask(
            "PATCH",
            f"/api/v1/nodes/{name}/status",
            {"status": {"conditions": [ready]}},
            content_type="application/strategic-merge-patch+json",
        )
        return node

    def add_pod(self, namespace: str, name: str, node: str, account: str = "default", **labels: str) -> Any:
        """A pod that is placed on a node."""
        spec = {
            "nodeName": node,
            "serviceAccountName": account,
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": "none"}],
        }
        metadata = {"name": name, "labels": labels}
        return self.create(
            f"/api/v1/namespaces/{namespace}/pods",
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec},
        )

    def account_token(
        self, namespace: str, account: str, pod: Mapping[str, Any] | None = None, seconds: int = 3600
    ) -> str:
        """A token of a service account; with a pod, bound to it and its node, as a kubelet asks for it."""
        spec: dict[str, Any] = {"expirationSeconds": seconds}
        if pod:
            metadata = pod["metadata"]
            spec["boundObjectRef"] = {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": metadata["name"],
                "uid": metadata["uid"],
            }
        path = f"/api/v1/namespaces/{quote(namespace)}/serviceaccounts/{quote(account)}/token"
        answer = self.create(path, {"spec": spec})
        return str(answer["status"]["token"])

    def start(self) -> None:
        """Start what does not run, and wait until it answers."""
        if "etcd" not in self._processes:
            self._start("etcd", self._etcd_command())
        self._start("kube-apiserver", self._api_server_command())
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if (code := self._processes["kube-apiserver"].poll()) is not None:
                raise ClusterError(f"kube-apiserver ended with {code}: {self._last_words('kube-apiserver')}")
            if self._is_ready():
                return
            time.sleep(0.1)
        raise ClusterError(f"kube-apiserver is not ready: {self._last_words('kube-apiserver')}")

    def stop(self, name: str = "kube-apiserver", how: signal.Signals = signal.SIGTERM) -> None:
        """End the API server, or etcd; the data stays."""
        process = self._processes.pop(name, None)
        if process:
            process.send_signal(how)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def close(self) -> None:
        """End both."""
        self.stop()
        self.stop("etcd")

    def _is_ready(self) -> bool:
        try:
            # RBAC's own roles are made by a hook; a test that is too early is refused.
            return self.ask("GET", "/readyz")[0] == 200
        except (OSError, ValueError):
            return False

    def _start(self, name: str, command: Sequence[str]) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def _last_words(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")[-800:]

    def _etcd_command(self) -> list[str]:
        client, peer = (f"http://127.0.0.1:{self.ports[name]}" for name in ("etcd", "peer"))
        return [
            *("etcd", "--data-dir", str(self.folder / "etcd")),
            *("--listen-client-urls", client, "--advertise-client-urls", client),
            *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
            *("--initial-cluster", f"default={peer}", "--unsafe-no-fsync"),
        ]

    def _api_server_command(self) -> list[str]:
        key = str(self.folder / "account.key")
        return [
            str(go_program("kube-apiserver")),
            f"--etcd-servers=http://127.0.0.1:{self.ports['etcd']}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.ports['api']}",
            "--endpoint-reconciler-type=none",  # which refuses an address of the machine itself
            f"--cert-dir={self.folder / 'certificates'}",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--authorization-mode=Node,RBAC",
            "--disable-admission-plugins=ServiceAccount",  # needs a controller that makes accounts
            "--service-cluster-ip-range=10.0.0.0/24",
            *self.options,
        ]


def object_path(document: Mapping[str, Any]) -> str:
    """Where the API server keeps an object."""
    version, kind, metadata = document["apiVersion"], document["kind"], document["metadata"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    if kind not in CLUSTER_WIDE:
        root += f"/namespaces/{metadata.get('namespace', 'default')}"
    return f"{root}/{PLURALS.get(kind, f'{kind.lower()}s')}/{quote(metadata['name'])}"


@contextmanager
def api_server(folder: Path, options: Sequence[str] = ()) -> Iterator[Cluster]:
    """A new cluster without any node."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokens.csv").write_text(f'{ADMIN},admin,admin,"system:masters"\n')
    key = folder / "account.key"
    subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
    cluster = Cluster(folder, options, _free_ports("etcd", "peer", "api"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()


def _free_ports(*names: str) -> dict[str, int]:
    sockets = {name: socket.create_server(("127.0.0.1", 0)) for name in names}
    ports = {name: int(one.getsockname()[1]) for name, one in sockets.items()}
    for one in sockets.values():
        one.close()
    return ports


def _document(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return {"message": data.decode(errors="replace")}

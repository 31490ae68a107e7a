"""An API server that answers with 409 Conflict: a webhook of the cluster refuses the recorder's patches so.

Of its own accord the API server never does: a patch without a resourceVersion that loses a race is made again
on the newer object, inside of the server, until it wins.
"""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.kubernetes.reporting import NODE, OTHER, Reporting, wait_for

HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
NAME = "conflicts"
ACCOUNT = "system:serviceaccount:necroscope:necroscope"
REFUSAL = {"code": 409, "reason": "Conflict", "message": "the object has been modified"}
SECONDS = 30.0


@dataclass(slots=True)
class Conflicts:
    """How many more there will be, and how many there were."""

    left: int = 0
    met: int = 0

    def answer(self) -> dict[str, Any]:
        """What the webhook says to a patch."""
        if not self.left:
            return {"allowed": True}
        self.left -= 1
        self.met += 1
        return {"allowed": False, "status": REFUSAL}


@contextmanager
def conflicts(one: Reporting) -> Iterator[Conflicts]:
    """A webhook that refuses as many patches of our node's status as it is told to."""
    made = Conflicts()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = {"uid": review["request"]["uid"], **made.answer()}
            content = json.dumps({**review, "request": None, "response": answer}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    certificate = one.cluster.ca_file
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_suffix(".key"))
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            one.cluster.create(HOOKS, _hook(one, server.server_address[1]))
            _wait(one, made)
            yield made
        finally:
            one.cluster.ask("DELETE", f"{HOOKS}/{NAME}")
            server.shutdown()
            thread.join()


def _wait(one: Reporting, made: Conflicts) -> None:
    """Until the webhook is asked: it is in force some moments after it was made."""
    path, nothing = f"/api/v1/nodes/{NODE}/status", {"status": {"conditions": list[Any]()}}

    def is_refused() -> bool:
        made.left = 1
        return one.as_recorder("PATCH", path, nothing)[0] == 409

    wait_for(is_refused, SECONDS, "a conflict")
    assert one.as_recorder("PATCH", path.replace(NODE, OTHER), nothing)[0] == 422, "the policies still hold"
    made.left = made.met = 0


def _hook(one: Reporting, port: int) -> dict[str, Any]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["nodes/status"]}
    authority = base64.b64encode(one.cluster.ca_file.read_bytes()).decode()
    webhook = {
        "name": "conflicts.example.com",
        "clientConfig": {"url": f"https://127.0.0.1:{port}/", "caBundle": authority},
        "rules": [rule],
        "matchConditions": [
            {"name": "recorder", "expression": f"request.userInfo.username == '{ACCOUNT}'"},
        ],
        "failurePolicy": "Fail",
        "timeoutSeconds": 5,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {"metadata": {"name": NAME}, "webhooks": [webhook]}

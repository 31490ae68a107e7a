"""An API server that has no room for the recorder: it answers with 429 and Retry-After, of its own accord.

All requests of the recorder's account get a priority level with one seat, and a request of that account sits
on it: a webhook that never answers holds it up. When the webhook hangs up, the seat is free.
"""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tests.kubernetes.reporting import NODE, Reporting, wait_for

FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
NAME = "one-seat"
SITTER = "sitter"
SECONDS = 30.0


@contextmanager
def too_many_requests(one: Reporting) -> Iterator[Callable[[], None]]:
    """Every other request is refused until the end, or until what is yielded is called."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(SECONDS)
    is_over = threading.Event()
    made = [
        (f"{FLOW}/prioritylevelconfigurations", _level()),
        (f"{FLOW}/flowschemas", _flow()),
        (HOOKS, _hook(one, listener.getsockname()[1])),
    ]
    for path, document in made:
        one.cluster.create(path, document)
    sitter = threading.Thread(target=_sit, args=(one, is_over))
    sitter.start()
    sockets = [listener]

    def release() -> None:
        is_over.set()
        for each in sockets:
            with suppress(OSError):
                each.close()

    try:
        sockets.append(listener.accept()[0])
        wait_for(lambda: one.as_recorder("GET", f"/api/v1/nodes/{NODE}")[0] == 429, SECONDS, "429")
        yield release
    finally:
        release()
        sitter.join()
        for path, _ in reversed(made):
            one.cluster.ask("DELETE", f"{path}/{NAME}")


def _sit(one: Reporting, is_over: threading.Event) -> None:
    """Post events: the first that the webhook gets sits there. Those before were faster than the webhook."""
    number = 0
    while not is_over.wait(0.1):
        number += 1
        one.as_recorder(
            "POST", "/api/v1/namespaces/default/events", _event(f"{SITTER}-{id(is_over)}-{number}")
        )


def _event(name: str) -> dict[str, Any]:
    component = "necroscope.dev/recorder"
    return {
        "metadata": {"name": name},
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": NODE},
        "reason": "NICReset",
        "reportingComponent": component,
        "reportingInstance": NODE,
        "source": {"component": component, "host": NODE},
    }


def _level() -> dict[str, Any]:
    limited = {
        "nominalConcurrencyShares": 0,
        "lendablePercent": 0,
        "borrowingLimitPercent": 0,
        "limitResponse": {"type": "Reject"},
    }
    return {"metadata": {"name": NAME}, "spec": {"type": "Limited", "limited": limited}}


def _flow() -> dict[str, Any]:
    account = {"kind": "ServiceAccount", "serviceAccount": {"name": "necroscope", "namespace": "necroscope"}}
    every = {
        "verbs": ["*"],
        "apiGroups": ["*"],
        "resources": ["*"],
        "clusterScope": True,
        "namespaces": ["*"],
    }
    return {
        "metadata": {"name": NAME},
        "spec": {
            "matchingPrecedence": 2,  # 1 is that of those who are never held up
            "priorityLevelConfiguration": {"name": NAME},
            "rules": [{"subjects": [account], "resourceRules": [every]}],
        },
    }


def _hook(one: Reporting, port: int) -> dict[str, Any]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["events"]}
    authority = base64.b64encode(one.cluster.ca_file.read_bytes()).decode()
    webhook = {
        "name": "never.example.com",
        "clientConfig": {"url": f"https://127.0.0.1:{port}/", "caBundle": authority},
        "rules": [rule],
        "matchConditions": [{"name": "sitter", "expression": f"request.name.startsWith('{SITTER}')"}],
        "failurePolicy": "Ignore",
        "timeoutSeconds": int(SECONDS),
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {"metadata": {"name": NAME}, "webhooks": [webhook]}

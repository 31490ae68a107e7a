"""The API server of the Kubernetes cluster that we run in, as a pod is told of it.

Every pod gets the address in its environment, and as files the token and the authority of its account.
The token changes hourly: whoever uses it reads it anew each time.
"""

from __future__ import annotations

import os
from pathlib import Path

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def in_cluster_address() -> str:
    """The API server's address; empty: this is no pod."""
    host, port = (os.environ.get(f"KUBERNETES_SERVICE_{name}", "") for name in ("HOST", "PORT"))
    return f"https://{f'[{host}]' if ':' in host else host}:{port or 443}" if host else ""


def own_node() -> str:
    """The name of the node, where the pod's `env` has it as NODE_NAME (spec.nodeName); else empty."""
    return os.environ.get("NODE_NAME", "")

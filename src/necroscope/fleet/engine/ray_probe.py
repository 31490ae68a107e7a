"""Ask a Ray cluster for a sign of life, in a process of its own, and tell what it said in one line of JSON.

    python -m necroscope.fleet.engine.ray_probe auto

Ray itself does not come back from a server that is none of its own, and ends the process that joins from a
machine that is no node of the cluster: neither is to happen to a question. Where another version of Ray lacks
what is asked here, joining shows what there is to see.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from necroscope.store.child import PYTHON

CLIENT = "ray://"
ANSWER_SECONDS = 10
PROBE_SECONDS = 30.0  # with the start of Python and Ray on a busy machine


@dataclass(frozen=True, slots=True)
class Sign:
    """What a cluster said. Where nothing is wrong, `error` is empty."""

    error: str = ""
    is_node: bool = True  # whether this machine is one of its nodes; always true for ray://


def probe(address: str) -> Sign:
    """The sign of life of a cluster, in bounded time."""
    command = [*PYTHON, "-m", __name__, address]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Sign(f"it does not answer as a Ray cluster does, within {PROBE_SECONDS:g} s")
    try:
        return Sign(**json.loads(done.stdout.splitlines()[-1]))
    except (ValueError, TypeError, IndexError):
        said = done.stderr.strip().splitlines()
        return Sign(f"asking it ended with {done.returncode}: {said[-1] if said else ''}")


def ask(address: str) -> dict[str, Any]:
    """The same in this process, which may not come back."""
    try:
        if address.startswith(CLIENT):
            return _ask_client_server(address.removeprefix(CLIENT))
        return _ask_head(address)
    except (ImportError, AttributeError, TypeError):
        return {}


def _ask_client_server(address: str) -> dict[str, Any]:
    import grpc
    from ray._private.grpc_utils import init_grpc_channel
    from ray.core.generated import ray_client_pb2, ray_client_pb2_grpc

    request = ray_client_pb2.ClusterInfoRequest(type=ray_client_pb2.ClusterInfoType.PING)
    try:
        stub = ray_client_pb2_grpc.RayletDriverStub(init_grpc_channel(address, asynchronous=False))
        stub.ClusterInfo(request, timeout=ANSWER_SECONDS, wait_for_ready=True)
    except grpc.RpcError as error:
        return {"error": f"{error.code().name}: {error.details()}"}
    return {}


def _ask_head(address: str) -> dict[str, Any]:
    import ray
    from ray._private import services

    try:
        found = services.canonicalize_bootstrap_address_or_die(address)
        nodes = ray._raylet.GcsClient(address=found).get_all_node_info(timeout=ANSWER_SECONDS)
    except (ray.exceptions.RayError, ConnectionError, RuntimeError, ValueError, OSError) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"is_node": any(_is_ours(node.node_manager_address) for node in nodes.values())}


def _is_ours(address: str) -> bool:
    """Whether an address is one of this machine."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as one:
        try:
            one.bind((address, 0))
        except OSError:
            return False
    return True


if __name__ == "__main__":
    from necroscope.fleet.engine.ray_connection import use_token

    use_token()
    sys.stdout.write(json.dumps(ask(sys.argv[1])) + "\n")

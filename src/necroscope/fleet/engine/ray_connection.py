"""Joining the users' own Ray cluster: none is ever started, none is stopped.

The token is found as Ray finds it: RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH, ~/.ray/auth_token. Workers that have
our code use their own; to others it is sent as it is here. The packages that it needs (DuckDB, pyarrow, ...)
they must have.
"""

from __future__ import annotations

import io
import logging
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import necroscope
from necroscope.errors import ClusterError, UsageError
from necroscope.fleet.engine.ray_errors import ADDRESS_HINT, cluster_error, translate_errors
from necroscope.fleet.engine.ray_probe import probe
from necroscope.fleet.engine.ray_token import ray_token
from necroscope.fleet.engine.ray_work import code_digest

REACH_SECONDS = 5.0
PROBE_SECONDS = 120.0  # a cluster that grows by itself takes that long for its first worker
ADDRESS = re.compile(r"(?P<client>ray://)?(?P<host>\[[0-9a-fA-F:.]+\]|[^\s:/@]+):(?P<port>\d{1,5})")
# The page and what Python makes by itself are of no use to workers.
LEFT_OUT = ["**/__pycache__/", "server/static/"]


@contextmanager
def joined(address: str) -> Iterator[None]:
    """Be a driver of the cluster. ClusterError: it is away, it refuses us, or its workers lack packages."""
    use_token()
    import ray

    if ray.is_initialized():  # by whoever calls us, who also leaves it
        _require_packages(_look_at_worker()[1])
        yield
        return
    check_address(address)
    try:
        _join(address, None)
        digest, missing = _look_at_worker()
        if digest != code_digest():
            leave()
            _join(address, {"py_modules": [str(Path(necroscope.__file__).parent)], "excludes": LEFT_OUT})
            _, missing = _look_at_worker()
        _require_packages(missing)
        yield
    finally:
        leave()


def leave() -> None:
    """Leave the cluster, which goes on; what we have submitted ends."""
    import ray

    with redirect_stdout(io.StringIO()):  # where it would print what it had held back about lost nodes
        ray.shutdown()


def use_token() -> None:
    """Have Ray show its token to any cluster, where there is one. It looks for that just once."""
    if "RAY_AUTH_MODE" not in os.environ and ray_token(None)():
        os.environ["RAY_AUTH_MODE"] = "token"


def check_address(address: str) -> None:
    """UsageError: it is none. ClusterError: no cluster answers there, or it refuses us."""
    if address != "auto":
        _reach(address)
    sign = probe(address)
    if sign.error:
        raise cluster_error(address, sign.error)
    if not sign.is_node:
        hint = "from elsewhere, --ray-address ray://HOST:10001"
        raise ClusterError(f"{address}: this machine is no node of the cluster", hint=hint)


def _reach(address: str) -> None:
    parts = ADDRESS.fullmatch(address)
    if not parts:  # `local` would start a cluster
        raise UsageError(f"'{address}' is not the address of a Ray cluster", hint=ADDRESS_HINT)
    where = parts["host"].strip("[]"), int(parts["port"])
    try:
        socket.create_connection(where, timeout=REACH_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise ClusterError(f"no Ray cluster at {address}: {error}", hint=ADDRESS_HINT) from error


def _join(address: str, runtime_env: dict[str, Any] | None) -> None:
    import ray

    with translate_errors(address):
        ray.init(
            address=address,
            namespace="necroscope",
            runtime_env=runtime_env,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )


def _look_at_worker() -> tuple[str, list[str]]:
    """Which code a worker has, and which packages it lacks."""
    import ray

    def look() -> tuple[str, list[str]]:  # not by name: the worker may have no module of ours
        try:
            from necroscope.fleet.engine import ray_work
        except ImportError:
            return "", []
        return ray_work.code_digest(), ray_work.missing_packages()

    with translate_errors("the cluster"):
        try:
            found = ray.get(ray.remote(num_cpus=1, max_retries=5)(look).remote(), timeout=PROBE_SECONDS)
        except ray.exceptions.GetTimeoutError as error:
            what = f"the cluster has had no free CPU for {PROBE_SECONDS:g} s"
            raise ClusterError(what, hint="ray status shows who uses it") from error
    digest, missing = found
    return str(digest), list(missing)


def _require_packages(missing: list[str]) -> None:
    if missing:
        hint = "pip install 'necroscope[fleet]' in the image of the workers"
        raise ClusterError(f"the workers of the cluster lack: {', '.join(missing)}", hint=hint)

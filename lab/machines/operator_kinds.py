"""The kinds of the Prometheus operator (PodMonitor, PrometheusRule), as its own module defines them.

Needs    Go, and its module proxy once; the module stays in Go's cache
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from lab.machines.kubernetes import Cluster, ClusterError

MODULE = "github.com/prometheus-operator/prometheus-operator"
HERE = Path(__file__).with_name("go-operator")
DEFINITIONS = "example/prometheus-operator-crd/monitoring.coreos.com_{}.yaml"
GROUP = "/apis/monitoring.coreos.com/v1"
KINDS = ("podmonitors", "prometheusrules")
SECONDS = 30.0


@cache
def _folder() -> tuple[Path | None, str]:
    """Where Go keeps the module, and why it does not."""
    if not shutil.which("go"):
        return None, "needs Go"
    command = ["go", "-C", str(HERE), "mod", "download", "-json", MODULE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return None, f"needs the module {MODULE}: {(done.stderr or done.stdout).strip()[-200:]}"
    return Path(json.loads(done.stdout)["Dir"]), ""


def why_not() -> str:
    """What is missing; empty: nothing."""
    return _folder()[1]


def install(cluster: Cluster) -> None:
    """Teach a cluster these kinds, and wait until it knows them."""
    folder, reason = _folder()
    if folder is None:
        raise ClusterError(reason)
    cluster.apply(_read(folder / DEFINITIONS.format(kind)) for kind in KINDS)
    deadline = time.monotonic() + SECONDS
    while not {*KINDS} <= _known(cluster):
        if time.monotonic() > deadline:
            raise ClusterError(f"the API server does not come to know {', '.join(KINDS)}")
        time.sleep(0.1)


def _known(cluster: Cluster) -> set[str]:
    status, answer = cluster.ask("GET", GROUP)
    return {row["name"] for row in answer["resources"]} if status == 200 else set()


def _read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())

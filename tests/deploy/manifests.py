"""The manifests as they are shipped, and what each level of privilege is meant to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from deploy.kubernetes.render import CHART, KUSTOMIZE

VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
USER: int = VALUES["user"]
VERSION: str = yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"]
Objects = dict[tuple[str, str], dict[str, Any]]


@dataclass(frozen=True)
class Level:
    """How a recorder runs."""

    name: str
    owner: int  # whom the recorder runs as in the end, and whom the store belongs to
    capabilities: tuple[str, ...] = ()  # of the recorder
    has_samples: bool = True
    has_tracefs: bool = False


ALL_LEVELS = (
    Level("minimal", USER, has_samples=False),
    Level("perf", USER, ("PERFMON", "SYSLOG")),
    Level("full", 0, ("DAC_READ_SEARCH", "PERFMON", "SYSLOG", "SYS_PTRACE"), has_tracefs=True),
)


def objects_in(text: str) -> Objects:
    """The objects of a YAML stream by kind and name; none is there twice."""
    documents = [document for document in yaml.safe_load_all(text) if document]
    objects = {(one["kind"], one["metadata"]["name"]): one for one in documents}
    assert len(objects) == len(documents)
    return objects


def shipped(level: Level) -> Objects:
    """What the files of the base and of a level have."""
    base = KUSTOMIZE / "base"
    names = yaml.safe_load((base / "kustomization.yaml").read_text())["resources"]
    files = [*(base / name for name in names), KUSTOMIZE / f"daemon-sets/{level.name}/daemon-set.yaml"]
    return objects_in("---\n".join(file.read_text() for file in files))


def pod_of(level: Level) -> dict[str, Any]:
    """The specification of its pods."""
    spec: dict[str, Any] = shipped(level)["DaemonSet", "necroscope"]["spec"]["template"]["spec"]
    return spec

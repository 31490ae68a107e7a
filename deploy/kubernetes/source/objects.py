"""All objects, in the order in which they are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deploy.kubernetes.source.access import cluster_role, cluster_role_binding, namespace, service_account
from deploy.kubernetes.source.admission import policies
from deploy.kubernetes.source.levels import ALL_LEVELS
from deploy.kubernetes.source.recorder import config_map, daemon_set, network_policy, pod_monitor
from deploy.kubernetes.source.values import VALUES


@dataclass(frozen=True, slots=True)
class Part:
    """A file of both trees."""

    name: str
    objects: tuple[dict[str, Any], ...]
    condition: str = ""  # of the chart; empty: always


REPORTS = f"if {VALUES['kubernetes.report'].template}"
NAMESPACE = Part("namespace", (namespace(),), f"if {VALUES['namespace.create'].template}")
BASE = (
    NAMESPACE,
    Part("service-account", (service_account(),)),
    Part("cluster-role", (cluster_role(), cluster_role_binding()), REPORTS),
    Part("admission-policies", tuple(policies()), REPORTS),
    Part("config", (config_map(),)),
    Part("network-policy", (network_policy(),), f"if {VALUES['networkPolicy.enabled'].template}"),
)
POD_MONITOR = Part("pod-monitor", (pod_monitor(),), f"if {VALUES['podMonitor.enabled'].template}")
DAEMON_SETS = {
    level.name: Part(
        f"daemon-set-{level.name}", (daemon_set(level),), f'if eq {VALUES["level"].template} "{level.name}"'
    )
    for level in ALL_LEVELS
}

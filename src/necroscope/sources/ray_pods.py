"""The Ray pods of this node, found without asking anybody: by the processes that run in them.

Reads    /proc/PID/comm and /proc/PID/cgroup of the host, the names in /var/log/pods or, where that is root's
         alone, where the links in /var/log/containers lead
Needs    the host's /proc and /var/log (--root /host in a pod); no right in the cluster
Costs    one small read per process: about 12 us each

Every Ray node is a process called `raylet`. The path of its cgroup has the uid of its pod, with dashes or,
with systemd's driver, underscores; the kubelet's folder of logs says whose that is. A raylet that died with
the reset is not found.

    /kubepods/burstable/pod0f1e2d3c-.../0123abc                        cgroupfs
    /kubepods.slice/kubepods-pod0f1e2d3c_....slice/cri-containerd-0123abc.scope    systemd
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from necroscope.model.reading import Reading
from necroscope.sources.host import Host
from necroscope.sources.processes import process_ids

RAYLET = "raylet"
LOGS = "/var/log/pods"  # 0750 by the kubelet of 1.36
# 0755: POD_NAMESPACE_CONTAINER-ID.log -> /var/log/pods/NAMESPACE_POD_UID/CONTAINER/0.log
LINKS = "/var/log/containers"
POD_UID = re.compile(r"pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12})(?=[./]|$)", re.MULTILINE)
MOST_PODS = 50  # the kubelet's own limit is 110 pods of any kind


@dataclass(frozen=True, slots=True)
class NodePod:
    """A pod that runs here."""

    namespace: str
    name: str
    uid: str


def find_ray_pods(host: Host) -> Reading[list[NodePod]]:
    """The pods with a raylet in them, in the order of their names; a raylet in no pod has none.

    An absence: there are such pods, and their names could not be read.
    """
    uids = {
        uid
        for pid in process_ids(host)
        if host.word(f"/proc/{pid}/comm") == RAYLET
        and (uid := pod_uid(host.read(f"/proc/{pid}/cgroup", errors="replace").value or ""))
    }
    if not uids:
        return Reading([])
    folders = _log_folders(host)
    if folders.value is None:
        return Reading(absence=folders.absence, detail=folders.detail)
    pods = [pod for folder in folders.value if (pod := parse_log_folder(folder)) and pod.uid in uids]
    return Reading(sorted(pods, key=lambda pod: (pod.namespace, pod.name))[:MOST_PODS])


def _log_folders(host: Host) -> Reading[set[str]]:
    listed = host.names(LOGS)
    if listed.value is not None:
        return Reading(set(listed.value))
    linked = host.names(LINKS)
    if linked.value is None:
        return Reading(absence=listed.absence, detail=listed.detail)
    targets = [_target(host.path(LINKS) / name) for name in linked.value]
    return Reading({Path(target).parts[-3] for target in targets if target.startswith(f"{LOGS}/")})


def _target(link: Path) -> str:
    """Where a link leads, in the words of the machine that made it; empty: it is none."""
    try:
        return str(link.readlink())
    except OSError:
        return ""


def pod_uid(cgroup: str) -> str:
    """The uid of a pod in a /proc/PID/cgroup file; empty: it is in none."""
    match = POD_UID.search(cgroup)
    return match[1].replace("_", "-") if match else ""


def parse_log_folder(name: str) -> NodePod | None:
    """NAMESPACE_NAME_UID: none of them can have an underscore in it."""
    parts = name.split("_")
    return NodePod(*parts) if len(parts) == 3 and all(parts) else None

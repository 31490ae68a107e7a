"""A container of a pod, run by podman as the kubelet and containerd would: as whom, and how confined.

What is not the same: the network is a namespace without a way out, the token of the account is missing, and
the profile of seccomp is podman's with what containerd has else in it (`runtime_default`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
PODMANS_PROFILE = Path("/usr/share/containers/seccomp.json")
# System calls that containerd (since 1.6.9) and Docker (since 23) give with a capability alone.
BY_CAPABILITY = {
    "perf_event_open": "CAP_PERFMON",
    "syslog": "CAP_SYSLOG",
    "mbind": "CAP_SYS_NICE",
    "get_mempolicy": "CAP_SYS_NICE",
    "set_mempolicy": "CAP_SYS_NICE",
}
EPERM = 1


def pod_of(level: str) -> dict[str, Any]:
    """The pod of the shipped DaemonSet."""
    text = (ROOT / f"deploy/kubernetes/daemon-sets/{level}/daemon-set.yaml").read_text()
    pod: dict[str, Any] = yaml.safe_load(text)["spec"]["template"]["spec"]
    return pod


def runtime_default(folder: Path) -> Path:
    """A seccomp profile as containerd's."""
    profile = json.loads(PODMANS_PROFILE.read_text())
    for rule in profile["syscalls"]:
        rule["names"] = [name for name in rule["names"] if name not in BY_CAPABILITY]
    profile["syscalls"] = [rule for rule in profile["syscalls"] if rule["names"]]
    profile["syscalls"] += [
        {
            "names": [name],
            "action": "SCMP_ACT_ALLOW",
            "args": [],
            "includes": {"caps": [capability]},
            "excludes": {},
        }
        for name, capability in BY_CAPABILITY.items()
    ]
    path = folder / "seccomp.json"
    path.write_text(json.dumps({**profile, "defaultErrnoRet": EPERM, "defaultErrno": "EPERM"}))
    return path


def options(pod: Mapping[str, Any], container: Mapping[str, Any], folders: Mapping[str, Path]) -> list[str]:
    """podman's options for a container; `folders` are there for volumes that are not of the host."""
    security = container["securityContext"]
    assert security["readOnlyRootFilesystem"]
    assert not security["allowPrivilegeEscalation"]
    assert not security["privileged"]
    line = ["--network=none", "--read-only", "--read-only-tmpfs=false", "--cgroupns=private"]
    line += [
        "--security-opt=no-new-privileges",
        "--cap-drop=ALL",
        f"--security-opt=seccomp={folders['seccomp']}",
    ]
    line += [f"--cap-add={name}" for name in security["capabilities"].get("add", ())]
    line += [f"--user={security['runAsUser']}:{security['runAsGroup']}"]
    line += ["--pid=host"] if pod.get("hostPID") and container in pod["containers"] else []
    limits = container["resources"]["limits"]
    line += [
        f"--memory={limits['memory'].replace('Mi', 'm')}",
        f"--cpus={int(limits['cpu'].rstrip('m')) / 1000}",
    ]
    line += [f"--workdir={container['workingDir']}"] if "workingDir" in container else []
    line += [f"--env={one['name']}={one['value']}" for one in container.get("env", ()) if "value" in one]
    return line + _mounts(pod, container, folders)


def _mounts(pod: Mapping[str, Any], container: Mapping[str, Any], folders: Mapping[str, Path]) -> list[str]:
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    line = []
    for mount in container["volumeMounts"]:
        volume = volumes[mount["name"]]
        source = folders.get(mount["name"]) or volume.get("hostPath", {}).get("path")
        if source:
            how = ["ro" if mount.get("readOnly") else "rw"]
            how += ["rslave"] if mount.get("mountPropagation") == "HostToContainer" else ["rprivate"]
            line.append(f"--volume={source}:{mount['mountPath']}:{','.join(how)}")
    return line


def command(container: Mapping[str, Any], image: str) -> list[str]:
    """The image and what runs in it."""
    program, *arguments = container["command"]
    return [f"--entrypoint={program}", image, *arguments, *container.get("args", ())]

"""Whether a machine is a Kubernetes node, and its name there."""

from __future__ import annotations

from itertools import pairwise

from necroscope.sources.host import Host
from necroscope.sources.processes import process_ids

KUBECONFIGS = ("/etc/kubernetes/kubelet.conf", "/var/lib/kubelet/kubeconfig")  # the first is kubeadm's
OVERRIDE = "--hostname-override"


def node_name(host: Host) -> str:
    """The name of the node, as kubelet registers it; empty where this is none."""
    arguments = _kubelet_arguments(host)
    if arguments is None and not any(host.path(name).exists() for name in KUBECONFIGS):
        return ""
    name = host.name()
    return _overridden(arguments or []) or name.lower()  # kubelet writes it in small letters


def _kubelet_arguments(host: Host) -> list[str] | None:
    """Of the kubelet that runs; None where none does."""
    for pid in process_ids(host):
        if host.word(f"/proc/{pid}/comm") == "kubelet":
            text = host.read(f"/proc/{pid}/cmdline", errors="replace").value or ""
            return text.split("\0")
    return None


def _overridden(arguments: list[str]) -> str:
    for argument, following in pairwise([*arguments, ""]):
        if argument == OVERRIDE:
            return following
        if argument.startswith(f"{OVERRIDE}="):
            return argument.partition("=")[2]
    return ""


def drain_commands(node: str) -> tuple[str, ...]:
    """Before something that takes the node away."""
    return (
        f"kubectl get node {node}  # a cloud may have given it another name",
        f"kubectl drain {node} --ignore-daemonsets --delete-emptydir-data",
    )


def return_commands(node: str) -> tuple[str, ...]:
    """Once the node is back."""
    return (f"kubectl uncordon {node}",)

"""Whether a machine is a Kubernetes node, its name there, and what the operator may do about it.

All of it is printed for a person. Nothing of ours runs kubectl, or may cordon, taint or drain.
"""

from __future__ import annotations

import re
from itertools import pairwise

from necroscope.model.plan import ByHand
from necroscope.model.shell_command import shell_command
from necroscope.sources.host import Host
from necroscope.sources.in_cluster import own_node
from necroscope.sources.processes import process_ids

KUBECONFIGS = ("/etc/kubernetes/kubelet.conf", "/var/lib/kubelet/kubeconfig")  # the first is kubeadm's
OVERRIDE = "--hostname-override"
NODE_NAME = re.compile(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")  # it goes into commands that a person pastes
# The pool of deploy/kubernetes/repro.
RESERVE = "necroscope.dev/repro=:NoSchedule"
POOL = "necroscope.dev/pool=repro"
DRAIN = "drain --ignore-daemonsets --delete-emptydir-data"


def node_name(host: Host) -> str:
    """The name of the node: as a pod on it is told, or as kubelet registers it; empty where this is none."""
    if host.is_live and (own := own_node()):
        return _valid(own)
    arguments = _kubelet_arguments(host)
    if arguments is None and not any(host.path(name).exists() for name in KUBECONFIGS):
        return ""
    # kubelet writes its own name in small letters
    return _valid(_overridden(arguments or [])) or _valid(host.name().lower())


def _valid(name: str) -> str:
    """A name that a node can have, else nothing: any program may call itself kubelet."""
    return name if NODE_NAME.fullmatch(name) else ""


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
    return (*_check_name(node), _kubectl(DRAIN, node))


def return_commands(node: str) -> tuple[str, ...]:
    """Once the node is back."""
    return (_kubectl("uncordon", node),)


def advise_cordon(host: Host) -> tuple[ByHand, ...]:
    """For steps that pods can stand, and had better not start amid; nothing where this is no node."""
    if not (node := node_name(host)):
        return ()
    commands = (
        *_check_name(node),
        f"{_kubectl('cordon', node)}  # before the steps",
        f"{_kubectl('uncordon', node)}  # after them",
    )
    why = (
        "pods that start during the purge read all their files from disk. A drain is not needed; where jobs"
        f" may not be slower for a while: {_kubectl(DRAIN, node)}"
    )
    return (ByHand(commands, why, "no new pods come meanwhile; those that run go on"),)


def advise_reservation(host: Host) -> tuple[ByHand, ...]:
    """For steps that end what could still be looked at; nothing where this is no node."""
    if not (node := node_name(host)):
        return ()
    commands = (
        *_check_name(node),
        _kubectl("taint node", node, RESERVE),
        _kubectl("label node", node, POOL),
        f"{_kubectl('taint node', node, RESERVE.partition('=')[0] + '-')}  # to give it back",
        _kubectl("label node", node, POOL.partition("=")[0] + "-"),
    )
    why = (
        "as long as the cause is not known, a node that has it is worth more than its room: keep one of them"
    )
    return (
        ByHand(
            commands, why, "pods that do not tolerate the taint do not come any more; those that run go on"
        ),
    )


def _check_name(node: str) -> tuple[str, ...]:
    """Where the name is kubelet's and not the cluster's own word."""
    certain = node == own_node()
    return () if certain else (f"{_kubectl('get node', node)}  # a cloud may have given it another name",)


def _kubectl(verb: str, *names: str) -> str:
    return shell_command(["kubectl", *verb.split()], names)

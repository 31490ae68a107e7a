"""Which host of the fleet a node of a Ray cluster is; and jobs of a cluster by these hosts.

In this order: a file that says so; what was known of the node when it was seen before; the Kubernetes node of
its pod; its names, where a host of the fleet is called so; the id of its instance; its address. A name or an
address that two hosts have says nothing. What stays unknown is listed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from necroscope.errors import UsageError
from necroscope.fleet.jobs.nodes_of_ray_pods import Pods
from necroscope.fleet.jobs.ray_api import RanJob, RayCluster
from necroscope.fleet.jobs.ray_rows import RayNode
from necroscope.model.fleet.job import Job
from necroscope.sources.plain_files import MAX_LIST_BYTES, read_named
from necroscope.store.store import safe_name

EXAMPLE = "lines such as 192.0.2.7 = node-7"


@dataclass(frozen=True, slots=True)
class KnownHosts:
    """The hosts of a fleet, by what others may call them."""

    names: Mapping[str, str]  # in lower case, also without the domain
    identities: Mapping[str, str]  # address or id of the instance

    def named(self, name: str) -> str:
        """The host of a name; empty: none, or several."""
        lower = name.lower()
        return self.names.get(lower) or self.names.get(lower.partition(".")[0], "")


@dataclass(frozen=True, slots=True)
class HostNames:
    """What is known about which host a node is."""

    known: KnownHosts
    from_file: Mapping[str, str] = field(default_factory=dict)
    pods: Pods | None = None
    remembered: Mapping[str, str] = field(default_factory=dict)  # by the id of the node

    def host_of(self, node: RayNode) -> str:
        """The host of a node; empty: not known."""
        for name in (node.id, node.address, node.name, node.host_name):
            if name and (named := self.from_file.get(name.lower())):
                return self.known.named(named) or named
        if earlier := self.remembered.get(node.id):
            return earlier
        if self.pods and (placed := self.pods.node_of(node)):
            return self.known.named(placed) or placed
        return self._by_itself(node)

    def _by_itself(self, node: RayNode) -> str:
        """By what a node calls itself. Ray calls a node by its address where nobody gave it a name."""
        for name in (node.host_name, node.name if node.name != node.address else ""):
            if name and (host := self.known.named(name)):
                return host
        by_identity = (self.known.identities.get(one, "") for one in (node.instance_id, node.address) if one)
        return next(filter(None, by_identity), "")


def known_hosts(hosts: Iterable[str], identities: Iterable[tuple[str, str]]) -> KnownHosts:
    """The hosts of a fleet, and (identity, host) pairs; what two hosts have is left out."""
    hosts = sorted(hosts)
    short = _of_one((host.lower().partition(".")[0], host) for host in hosts)
    return KnownHosts(short | {host.lower(): host for host in hosts}, _of_one(identities))


def read_hosts_file(path: Path) -> dict[str, str]:
    """The hosts that a file names: TOML, or `address or name = host` lines. UsageError: it is neither."""
    try:
        text = read_named(path, MAX_LIST_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}", hint=EXAMPLE) from error
    try:
        rows = tomllib.loads(text)
        if all(isinstance(value, str) for value in rows.values()):
            return {name.lower(): value for name, value in rows.items()}
    except tomllib.TOMLDecodeError:
        pass  # an address is no key of TOML unless it is quoted
    return dict(_row(path, number, line) for number, line in enumerate(text.splitlines(), 1) if _is_row(line))


def _is_row(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _row(path: Path, number: int, line: str) -> tuple[str, str]:
    name, equals, host = (part.strip().strip("\"'") for part in line.partition("="))
    if not (name and equals and host):
        raise UsageError(f"{path}, line {number}: '{line.strip()}' names no host", hint=EXAMPLE)
    return name.lower(), host


def _of_one(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Names of one host only."""
    found: dict[str, set[str]] = {}
    for name, host in pairs:
        found.setdefault(name, set()).add(host)
    return {name: hosts.pop() for name, hosts in found.items() if name and len(hosts) == 1}


def jobs_of(cluster: str, answer: RayCluster, names: HostNames) -> list[Job]:
    """All jobs of a cluster."""
    nodes = {node.id: node for node in answer.nodes}
    by_address: dict[str, list[RayNode]] = {}
    for node in answer.nodes:
        by_address.setdefault(node.address, []).append(node)
    return [_job(cluster, ran, nodes, by_address, names) for ran in answer.jobs]


def hosts_of_nodes(answer: RayCluster, names: HostNames) -> dict[str, str]:
    """The hosts of all nodes that are known, by the id of the node."""
    return {node.id: host for node in answer.nodes if (host := names.host_of(node))}


def cluster_name(address: str) -> str:
    """What to call a cluster whose address is all that is known of it."""
    parts = urlsplit(address)
    return safe_name(f"{parts.hostname}-{parts.port}" if parts.port else parts.hostname or address)


def _job(
    cluster: str,
    ran: RanJob,
    nodes: Mapping[str, RayNode],
    by_address: Mapping[str, list[RayNode]],
    names: HostNames,
) -> Job:
    job = ran.job
    found = [nodes.get(id) or RayNode(id, "", "") for id in ran.nodes]
    if not found and job.driver_address:
        same = by_address.get(job.driver_address, [])
        found = [same[0] if len(same) == 1 else RayNode("", job.driver_address, "")]
    hosts = [(node, names.host_of(node)) for node in found]
    return Job(
        cluster=cluster,
        id=job.id,
        status=job.status,
        begin_us=None if job.begin_ms is None else job.begin_ms * 1000,
        end_us=None if job.end_ms is None else job.end_ms * 1000,
        hosts=tuple(sorted({host for _, host in hosts if host})),
        unknown_nodes=tuple(sorted({node.shown() for node, host in hosts if not host})),
        error_type=job.error_type,
        exit_code=job.exit_code,
        message=ran.message,
    )

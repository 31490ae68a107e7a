"""What a cluster has told, as jobs of the fleet: nodes are hosts, times are UTC microseconds."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from necroscope.fleet.jobs.host_names import HostNames
from necroscope.fleet.jobs.ray_api import RanJob, RayCluster
from necroscope.fleet.jobs.ray_rows import RayNode
from necroscope.model.fleet.job import Job
from necroscope.store.store import safe_name


def jobs_of(cluster: str, told: RayCluster, names: HostNames) -> list[Job]:
    """All jobs of a cluster."""
    nodes = {node.id: node for node in told.nodes}
    by_address: dict[str, list[RayNode]] = {}
    for node in told.nodes:
        by_address.setdefault(node.address, []).append(node)
    return [_job(cluster, ran, nodes, by_address, names) for ran in told.jobs]


def hosts_of_nodes(told: RayCluster, names: HostNames) -> dict[str, str]:
    """The hosts of all nodes that are known, by the id of the node."""
    return {node.id: host for node in told.nodes if (host := names.host_of(node))}


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

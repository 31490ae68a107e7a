"""Jobs that are kept: Ray forgets them with its head node, and after ten thousand others.

    clusters/CLUSTER/inbox/jobs-HOUR-SHA.json   jobs that have ended, until `fleet ingest` has them
    clusters/CLUSTER/nodes.json                 which host a node was: pods are gone when one asks

A job is written again as long as it is not in the table; it is there once all the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from necroscope.errors import StoreError
from necroscope.fleet.place.place import Place
from necroscope.fleet.tables.index import hour_of
from necroscope.model.fleet.job import Job
from necroscope.store.store import safe_name

SCHEMA = 1
KIND = "jobs"
JOBS_PER_PART = 2_000
FORGET_US = 90 * 86400 * 10**6


def keep_jobs(place: Place, jobs: Iterable[Job], kept: set[tuple[str, str]]) -> int:
    """Write the jobs that have ended and are not in `kept`, (cluster, id) of those in the table; how many."""
    by_cluster: dict[str, list[Job]] = {}
    for job in sorted(jobs, key=lambda job: (job.end_us or 0, job.id)):
        if job.end_us is not None and (job.cluster, job.id) not in kept:
            by_cluster.setdefault(job.cluster, []).append(job)
    for cluster, ended in by_cluster.items():
        for begin in range(0, len(ended), JOBS_PER_PART):
            name, content = jobs_part(cluster, ended[begin : begin + JOBS_PER_PART])
            place.write(name, content)
    return sum(map(len, by_cluster.values()))


def jobs_part(cluster: str, jobs: Sequence[Job]) -> tuple[str, bytes]:
    """The name and the content of a part with jobs of one cluster that have ended."""
    rows = [{name: value for name, value in asdict(job).items() if name != "cluster"} for job in jobs]
    document = {"schema": SCHEMA, "kind": KIND, "cluster": cluster, "jobs": rows}
    content = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    digest = hashlib.sha256(content).hexdigest()[:16]
    hour = hour_of(max(job.end_us or 0 for job in jobs))
    return f"{_below(cluster)}/inbox/{KIND}-{hour}-{digest}.json", content


def remembered_nodes(place: Place, cluster: str) -> dict[str, str]:
    """The hosts of nodes that were seen before, by the id of the node."""
    return {node: str(row["host"]) for node, row in _read_nodes(place, cluster).items()}


def remember_nodes(place: Place, cluster: str, hosts: Mapping[str, str], now_us: int) -> None:
    """Keep which host each node is; what was not seen for long is forgotten."""
    before = _read_nodes(place, cluster)
    rows = {node: row for node, row in before.items() if row["seen_us"] > now_us - FORGET_US}
    rows |= {node: {"host": host, "seen_us": now_us} for node, host in hosts.items()}
    document = {"schema": SCHEMA, "cluster": cluster, "nodes": rows}
    place.write(f"{_below(cluster)}/nodes.json", json.dumps(document, sort_keys=True).encode())


def _read_nodes(place: Place, cluster: str) -> dict[str, dict[str, Any]]:
    name = f"{_below(cluster)}/nodes.json"
    content = place.read(name)
    if content is None:
        return {}
    try:
        rows: dict[str, dict[str, Any]] = json.loads(content)["nodes"]
        return {node: {"host": row["host"], "seen_us": int(row["seen_us"])} for node, row in rows.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{place.address}: {name} is damaged", hint="remove it: it is made anew") from error


def _below(cluster: str) -> str:
    return f"clusters/{safe_name(cluster)}"

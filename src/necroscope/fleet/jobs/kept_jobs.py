"""Jobs that are kept: Ray forgets them with its head node, and after ten thousand others.

    clusters/CLUSTER/inbox/jobs-HOUR-SHA.json   jobs that have ended, until `fleet ingest` has them
    clusters/CLUSTER/nodes.json                 which host a node was: pods are gone when one asks

A job is written again as long as it is not in the table; it is there once all the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from necroscope.errors import StoreError
from necroscope.fleet.place.canonical import SHORT, canonical, digest_of
from necroscope.fleet.place.place import Place
from necroscope.fleet.tables.columns import JOBS
from necroscope.fleet.tables.duck import connected
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.model.fleet.job import Job
from necroscope.model.timestamp import hour_of
from necroscope.store.store import safe_name

SCHEMA = 1
KIND = "jobs"
JOBS_PER_PART = 2_000
FORGET_US = 90 * 86400 * 10**6
LISTS = ("hosts", "unknown_nodes")


def read_kept_jobs(
    tables: FleetTables, begin_us: int, end_us: int, clusters: Iterable[str] = ()
) -> list[Job]:
    """The jobs in the table that ended in a range; of some clusters, if any are named."""
    paths = [str(path) for path in tables.paths("jobs", begin_us, end_us)]
    if not paths:
        return []
    wanted = list(clusters)
    with connected() as connection:
        rows = connection.read_parquet(paths)  # noqa: F841 - the query's table
        found = connection.execute(
            f"SELECT {', '.join(JOBS.names)} FROM rows WHERE end_us >= ? AND end_us < ? "
            "AND (len(?) = 0 OR list_contains(?, cluster)) ORDER BY end_us, cluster, id",
            [begin_us, end_us, wanted, wanted],
        ).fetchall()
    return [_job(dict(zip(JOBS.names, row, strict=True))) for row in found]


def join_jobs(kept: Iterable[Job], told: Iterable[Job]) -> list[Job]:
    """Each job once: of two rows, that of the cluster, unless it knows fewer hosts."""
    jobs = {(job.cluster, job.id): job for job in kept}
    for job in told:
        before = jobs.get((job.cluster, job.id))
        if before is None or len(job.hosts) >= len(before.hosts):
            jobs[job.cluster, job.id] = job
    return sorted(jobs.values(), key=lambda job: (job.end_us or 0, job.cluster, job.id))


def _job(row: dict[str, object]) -> Job:
    for name in LISTS:
        row[name] = tuple(row[name] or ())  # type: ignore[arg-type]
    for name in ("error_type", "message"):
        row[name] = row[name] or ""
    return Job(**row)  # type: ignore[arg-type]


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
    content = canonical({"schema": SCHEMA, "kind": KIND, "cluster": cluster, "jobs": rows})
    hour = hour_of(max(job.end_us or 0 for job in jobs))
    return f"{_below(cluster)}/inbox/{KIND}-{hour}-{digest_of(content)[:SHORT]}.json", content


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

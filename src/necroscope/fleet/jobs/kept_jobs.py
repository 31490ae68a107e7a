"""Jobs that were kept, from the tables of the fleet; and together with what clusters say now."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb

from necroscope.fleet.tables.columns import JOBS
from necroscope.fleet.tables.opened import FleetTables
from necroscope.model.fleet.job import Job

LISTS = ("hosts", "unknown_nodes")


def read_kept_jobs(
    tables: FleetTables, begin_us: int, end_us: int, clusters: Iterable[str] = ()
) -> list[Job]:
    """The jobs in the table that ended in a range; of some clusters, if any are named."""
    paths = [str(path) for path in tables.paths("jobs", begin_us, end_us)]
    if not paths:
        return []
    wanted = list(clusters)
    with duckdb.connect() as connection:
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

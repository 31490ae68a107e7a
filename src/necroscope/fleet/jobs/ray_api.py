"""What a Ray cluster knows of its jobs: on which nodes they ran, how they ended, and what they said last.

Reads    GET /api/jobs/, /api/v0/nodes, /nodes?view=summary; of each job that has ended in the range
         /api/v0/tasks and /api/v0/actors; of each that failed /api/jobs/ID/logs
Needs    the token of the cluster, where it wants one
Costs    two or three small requests a job, 5 to 40 ms each (measured); tasks of at most 2,000 jobs are asked

Ray's own `message` of a failed job is the last ten lines of its log, and what Ray itself had to say may have
pushed out the exception: so the log is asked for, too, and shortened here.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

from necroscope.errors import ClusterError
from necroscope.fleet.jobs.ray_rows import (
    RayJob,
    RayNode,
    is_truncated,
    parse_jobs,
    parse_nodes,
    parse_summary,
    state_rows,
)
from necroscope.fleet.jobs.web_api import WebApi
from necroscope.inventory.redaction.redact import redact_text
from necroscope.model.fleet.job import FAILED

COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# "    [2026-11-18 02:22:40,929 I 27489 27489] (raylet) node_manager.cc:621: ...": the daemons' own log, which
# Ray prints to a job when a raylet ends. It is full of connections that ended, of other jobs too.
DAEMON_LINE = re.compile(
    r"^\s*\[\d{4}-\d\d-\d\d [\d:,]+ [A-Z] \d+ \d+\] \((?:raylet|gcs_server|core_worker)\)"
)
# By its name it would be a key, and what follows a secret; the stand-in is a character that nobody writes.
KEY_ERROR, STAND_IN = "KeyError: ", "\ue000"
MAX_CHARACTERS = 4_000
MAX_LINE = 1_000
MAX_READ_CHARACTERS = 200_000
MOST_ROWS = 10_000  # that the State API gives at once
MOST_JOBS_ASKED = 2_000
MAX_LOG_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class RanJob:
    """A job, the ids of the nodes that it ran on, and what it said."""

    job: RayJob
    nodes: tuple[str, ...]
    message: str


@dataclass(frozen=True, slots=True)
class RayCluster:
    """All that a cluster has told, and what it could not tell."""

    jobs: tuple[RanJob, ...]
    nodes: tuple[RayNode, ...]
    asked: frozenset[str]  # ids of the jobs whose nodes were asked for; of others, only the driver's is known
    notes: tuple[str, ...]


def read_cluster(api: WebApi, begin_us: int, end_us: int) -> RayCluster:
    """Ask a cluster. ClusterError: it cannot be asked for its jobs; what else is missing is noted."""
    now_ms = time.time_ns() // 10**6
    asked = _Asked(api)
    jobs = parse_jobs(api.get("/api/jobs/"), now_ms)
    nodes = asked.nodes(now_ms)
    wanted = _to_ask(jobs, begin_us, end_us)
    if len(wanted) > MOST_JOBS_ASKED:
        asked.note(f"of {len(wanted)} jobs, only {MOST_JOBS_ASKED} were asked where they ran")
    details = {job.id: asked.detail(job) for job in wanted[:MOST_JOBS_ASKED]}
    ran = tuple(details.get(job.id) or RanJob(job, _driver_nodes(job), "") for job in jobs)
    return RayCluster(ran, tuple(nodes), frozenset(details), tuple(asked.notes))


def _to_ask(jobs: Iterable[RayJob], begin_us: int, end_us: int) -> list[RayJob]:
    """The jobs that ended in a range: those that failed first, then the newest."""
    ended = [job for job in jobs if job.end_ms is not None and begin_us <= job.end_ms * 1000 < end_us]
    return sorted(ended, key=lambda job: (job.status != FAILED, -(job.end_ms or 0), job.id))


def _driver_nodes(job: RayJob) -> tuple[str, ...]:
    return (job.driver_node,) if job.driver_node else ()


class _Asked:
    """Questions to the State API, which may fail; the first failure of each kind is noted."""

    def __init__(self, api: WebApi) -> None:
        self.api = api
        self.notes: list[str] = []
        self._failed: set[str] = set()

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def nodes(self, now_ms: int) -> list[RayNode]:
        """All nodes, also those that are gone, as far as Ray remembers them."""
        answer = self._try("nodes", f"/api/v0/nodes?detail=1&limit={MOST_ROWS}")
        try:
            nodes = parse_nodes(answer, now_ms) if answer is not None else []
        except ClusterError as error:
            self.note(f"its nodes are not known: {error.what}")
            return []
        named = parse_summary(self._try("names of hosts", "/nodes?view=summary"))
        empty = ("", "")
        return [
            replace(node, host_name=named.get(node.id, empty)[0], instance_id=named.get(node.id, empty)[1])
            for node in nodes
        ]

    def detail(self, job: RayJob) -> RanJob:
        """Where a job ran, and if it failed, what it said."""
        tasks = self._rows("tasks", job)
        nodes = {*_driver_nodes(job), *_nodes_of(tasks), *_nodes_of(self._rows("actors", job))}
        if job.status != FAILED:
            return RanJob(job, tuple(sorted(nodes)), "")
        said = self._log(job) or job.message
        return RanJob(job, tuple(sorted(nodes)), shorten_output(said, _task_errors(tasks)))

    def _rows(self, kind: str, job: RayJob) -> list[dict[str, Any]]:
        if not job.number:
            return []
        query = {
            "limit": MOST_ROWS,
            "filter_keys": "job_id",
            "filter_predicates": "=",
            "filter_values": job.number,
        }
        answer = self._try(kind, f"/api/v0/{kind}?{urlencode(query)}")
        if answer is None:
            return []
        if is_truncated(answer):
            self.note(f"some jobs have more than {MOST_ROWS} {kind}: not all of their nodes may be known")
        try:
            return list(state_rows(answer))
        except ClusterError as error:
            self.note(f"{kind} of jobs are not known: {error.what}")
            return []

    def _log(self, job: RayJob) -> str:
        if not job.submitted:
            return ""
        api = replace(self.api, max_bytes=MAX_LOG_BYTES)
        try:
            answer = api.get(f"/api/jobs/{quote(job.id, safe='')}/logs")
        except ClusterError:  # on a node that is gone, or too large: Ray's own message is there
            return ""
        said = answer.get("logs") if isinstance(answer, dict) else None
        return said if isinstance(said, str) else ""

    def _try(self, kind: str, path: str) -> Any:
        if kind in self._failed:
            return None
        try:
            return self.api.get(path)
        except ClusterError as error:
            self._failed.add(kind)
            self.note(f"{kind} are not known: {error.what}")
            return None


def _nodes_of(rows: Sequence[dict[str, Any]]) -> set[str]:
    return {node for row in rows if isinstance(node := row.get("node_id"), str) and node}


def _task_errors(tasks: Sequence[dict[str, Any]]) -> list[str]:
    """How tasks ended that failed, each kind once, in order."""
    kinds = {kind for row in tasks if isinstance(kind := row.get("error_type"), str) and kind}
    return [f"task: {kind}" for kind in sorted(kinds)]


def shorten_output(said: str, task_errors: Sequence[str] = ()) -> str:
    """Shorten what a job printed: how its tasks failed, then its last lines, without colours or secrets."""
    lines = COLOUR.sub("", said[-MAX_READ_CHARACTERS:].replace("\0", "")).splitlines()
    kept = [line.rstrip()[:MAX_LINE] for line in lines if line.strip() and not DAEMON_LINE.match(line)]
    text = "\n".join(kept)[-MAX_CHARACTERS:]
    words = "\n".join([*task_errors, text] if text else task_errors)
    redacted = redact_text(words.replace(KEY_ERROR, STAND_IN)).replace(STAND_IN, KEY_ERROR)
    return redacted.encode(errors="replace").decode()

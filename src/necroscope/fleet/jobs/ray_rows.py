"""What Ray's REST API says of jobs, nodes and tasks, as rows. Takes parsed JSON, does no I/O.

Jobs are listed by a stable API; nodes, tasks and actors by the State API, which is 'alpha' by its own words.
A field that is missing or of another kind becomes unknown, a row that is none is left out.

A driver that was not submitted (`type: DRIVER`) is called SUCCEEDED by Ray however it ended, so that its
status here is ENDED. Its number starts again with the cluster: the time of its begin is put behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from necroscope.errors import ClusterError
from necroscope.model.fleet.job import ENDED, SUCCEEDED
from necroscope.model.timestamp import compact_utc

MS_PER_DAY = 86_400_000
EARLIEST_MS = 1_000_000_000_000  # 2001: an earlier time is none
LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class RayJob:
    """A job as Ray tells it. `number` names it in the State API; empty: it never spoke to Ray."""

    id: str
    number: str
    submitted: bool
    status: str
    begin_ms: int | None
    end_ms: int | None
    driver_node: str  # node id; empty: not known
    driver_address: str
    error_type: str
    exit_code: int | None
    message: str


@dataclass(frozen=True, slots=True)
class RayNode:
    """A node. Its names are all by which a host may be known."""

    id: str
    address: str
    name: str
    host_name: str = ""
    instance_id: str = ""
    begin_ms: int | None = None
    end_ms: int | None = None  # None: it is alive

    def shown(self) -> str:
        """What to call a node of which no host is known."""
        return self.host_name or self.name or self.address or self.id[:12]


def parse_jobs(document: Any, now_ms: int) -> list[RayJob]:
    """The answer of /api/jobs/. ClusterError: it is no list of jobs."""
    if not isinstance(document, list):
        raise ClusterError("the answer to /api/jobs/ is no list of jobs", hint="is this Ray's dashboard?")
    return [job for row in document if isinstance(row, dict) and (job := _job(row, now_ms))]


def parse_nodes(document: Any, now_ms: int) -> list[RayNode]:
    """The answer of /api/v0/nodes. ClusterError: it is none."""
    return [
        RayNode(
            id=_text(row, "node_id"),
            address=_text(row, "node_ip"),
            name=_text(row, "node_name"),
            begin_ms=_time(row, "start_time_ms", now_ms),
            end_ms=_time(row, "end_time_ms", now_ms),
        )
        for row in state_rows(document)
        if _text(row, "node_id")
    ]


def parse_summary(document: Any) -> dict[str, tuple[str, str]]:
    """The answer of /nodes?view=summary: the host name and the cloud's id of each node, by its id."""
    found: dict[str, tuple[str, str]] = {}
    rows = _inside(document, "data", "summary")
    for row in rows if isinstance(rows, list) else []:
        raylet = _inside(row, "raylet")
        if isinstance(raylet, dict) and (node := _text(raylet, "nodeId")):
            name = _text(raylet, "nodeManagerHostname") or _text(row, "hostname")
            found[node] = (name, _text(raylet, "instanceId"))
    return found


def state_rows(document: Any) -> Iterator[dict[str, Any]]:
    """The rows of an answer of the State API. ClusterError: it is none."""
    rows = _inside(document, "data", "result", "result")
    if not isinstance(rows, list):
        said = _inside(document, "msg")
        what = f"the State API says: {said}" if isinstance(said, str) and said else "no rows of the State API"
        raise ClusterError(what[:LONGEST_NAME], hint="is this Ray's dashboard?")
    yield from (row for row in rows if isinstance(row, dict))


def is_truncated(document: Any) -> bool:
    """Whether there are more rows than the State API has told."""
    result = _inside(document, "data", "result")
    if not isinstance(result, dict):
        return False
    filtered, told = result.get("num_filtered"), result.get("result")
    if isinstance(told, list) and isinstance(filtered, int):
        return filtered > len(told)
    return bool(result.get("partial_failure_warning"))


def _job(row: dict[str, Any], now_ms: int) -> RayJob | None:
    submission, number = _text(row, "submission_id"), _text(row, "job_id")
    begin_ms = _time(row, "start_time", now_ms)
    if not (submission or number):
        return None
    status = _text(row, "status").upper()
    if not submission and status == SUCCEEDED:
        status = ENDED
    driver = row.get("driver_info")
    code = row.get("driver_exit_code")
    return RayJob(
        id=submission or _driver_id(number, begin_ms),
        number=number,
        submitted=bool(submission),
        status=status,
        begin_ms=begin_ms,
        end_ms=_time(row, "end_time", now_ms),
        driver_node=_text(row, "driver_node_id"),
        driver_address=_text(driver, "node_ip_address") if isinstance(driver, dict) else "",
        error_type=_text(row, "error_type"),
        exit_code=code if isinstance(code, int) and abs(code) < 2**31 else None,
        message=message if isinstance(message := row.get("message"), str) else "",
    )


def _driver_id(number: str, begin_ms: int | None) -> str:
    if begin_ms is None:
        return number
    return f"{number}-{compact_utc(begin_ms * 10**6)}"


def _text(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    return value[:LONGEST_NAME] if isinstance(value, str) else ""


def _time(row: dict[str, Any], name: str, now_ms: int) -> int | None:
    """A time in ms; 0 means that it has not come. One that lies more than a day ahead is no time."""
    value = row.get(name)
    if isinstance(value, str) and value.isdecimal() and len(value) < 19:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if EARLIEST_MS <= value <= now_ms + MS_PER_DAY else None


def _inside(document: Any, *names: str) -> Any:
    for name in names:
        document = document.get(name) if isinstance(document, dict) else None
    return document

from __future__ import annotations

import json
from pathlib import Path

import pytest

from necroscope.errors import StoreError
from necroscope.fleet.jobs.kept_jobs import (
    FORGET_US,
    jobs_part,
    join_jobs,
    keep_jobs,
    read_kept_jobs,
    remember_nodes,
    remembered_nodes,
)
from necroscope.fleet.place.folder import FolderPlace
from necroscope.fleet.tables.ingest import ingest
from necroscope.fleet.tables.read_tables import read_tables
from necroscope.model.fleet.job import FAILED, SUCCEEDED, Job

HOUR_US = 3_600_000_000
BEGIN_US = 1_794_967_200_000_000


def a_job(
    id: str, end_us: int | None = BEGIN_US, status: str = FAILED, hosts: tuple[str, ...] = ("h1",)
) -> Job:
    return Job("ray", id, status, BEGIN_US - 5, end_us, hosts, ("10.0.0.1",), "E", 1, "last: é\nwords")


def test_kept_jobs_come_back_as_they_were(tmp_path: Path) -> None:
    place = FolderPlace(tmp_path)
    jobs = [
        a_job("a"),
        a_job("b", BEGIN_US + HOUR_US, SUCCEEDED, ("h1", "h2")),
        a_job("running", None, "RUNNING"),
    ]
    assert keep_jobs(place, jobs, set()) == 2
    assert keep_jobs(place, jobs, set()) == 2  # once more before the ingest: the same object
    assert len(list(place.below("clusters/"))) == 1
    done = ingest(place)
    assert (done.added["jobs"], dict(done.rejected)) == (2, {})
    assert list(place.below("clusters/")) == []
    tables = read_tables(place)
    assert read_kept_jobs(tables, BEGIN_US, BEGIN_US + 2 * HOUR_US) == jobs[:2]
    assert read_kept_jobs(tables, BEGIN_US, BEGIN_US + 1) == jobs[:1]
    assert read_kept_jobs(tables, BEGIN_US, BEGIN_US + 1, ["ray", "other"]) == jobs[:1]
    assert read_kept_jobs(tables, BEGIN_US, BEGIN_US + 1, ["other"]) == []
    assert keep_jobs(place, [*jobs, a_job("c")], {("ray", "a"), ("ray", "b")}) == 1
    assert keep_jobs(place, jobs, set()) == 2  # what is there already is not added again
    assert ingest(place).added == {"jobs": 1}
    assert len(read_kept_jobs(read_tables(place), 0, 2**62)) == 3


def test_no_jobs_table(tmp_path: Path) -> None:
    assert read_kept_jobs(read_tables(FolderPlace(tmp_path)), 0, 2**62) == []


def test_a_host_cannot_tell_jobs_and_a_cluster_tells_of_itself_only(tmp_path: Path) -> None:
    place = FolderPlace(tmp_path)
    name, content = jobs_part("ray", [a_job("a")])
    inbox = name.rpartition("/")[2]
    place.write(f"hosts/ray/inbox/{inbox}", content)
    place.write(f"clusters/other/inbox/{inbox}", content)
    assert {*ingest(place).rejected} == {f"hosts/ray/inbox/{inbox}", f"clusters/other/inbox/{inbox}"}
    assert read_kept_jobs(read_tables(place), 0, 2**62) == []


def test_of_two_rows_the_cluster_counts_unless_it_knows_fewer_hosts() -> None:
    kept = [a_job("a", hosts=("h1", "h2")), a_job("b", hosts=())]
    told = [a_job("a", hosts=("h1",)), a_job("b", hosts=("h3",)), a_job("c", None)]
    assert [(job.id, job.hosts) for job in join_jobs(kept, told)] == [
        ("c", ("h1",)),
        ("a", ("h1", "h2")),
        ("b", ("h3",)),
    ]


def test_nodes_are_remembered_when_they_are_gone(tmp_path: Path) -> None:
    place = FolderPlace(tmp_path)
    assert remembered_nodes(place, "ray") == {}
    remember_nodes(place, "ray", {"n1": "h1", "n2": "h2"}, BEGIN_US)
    remember_nodes(place, "ray", {"n2": "h3"}, BEGIN_US + HOUR_US)
    assert remembered_nodes(place, "ray") == {"n1": "h1", "n2": "h3"}
    remember_nodes(place, "ray", {}, BEGIN_US + FORGET_US)
    assert remembered_nodes(place, "ray") == {"n2": "h3"}
    place.write("clusters/ray/nodes.json", json.dumps({"nodes": {"n": 5}}).encode())
    with pytest.raises(StoreError, match="damaged"):
        remembered_nodes(place, "ray")

"""A place with a generated fleet of 5,000 hosts, and one more that really shipped its segments."""

from __future__ import annotations

import subprocess
from pathlib import Path

from playwright.sync_api import Page, expect

from lab.fleets.plan import Leak, Plan, Plant
from lab.fleets.tables import write_fleet
from necroscope.fleet.jobs.kept_jobs import keep_jobs
from necroscope.fleet.place.folder import FolderPlace
from necroscope.model.fleet.job import Job
from necroscope.server.questions.fleet.fleet_span import FleetSpan
from necroscope.server.questions.fleet.fleet_store import FleetStore
from necroscope.server.questions.recorded_store import RecordedStore
from tests.server.questions.sampled_store import sampled_store
from tests.server.served import PROGRAM
from tests.stored import HOST, UTC_NS

HOSTS = 5000
JOBS = 40
BAD_ZONE = "us-west-2c"
REAL_HOST = HOST
END_US = UTC_NS // 1000 + 2 * 3600 * 10**6
PLAN = Plan(
    hosts=HOSTS,
    days=7.0,
    segment_seconds=3600,  # what is asked here does not depend on it, and it is written in seconds
    seed=3,
    end_us=END_US,
    plants=(Plant("labels/zone", BAD_ZONE, 6.0),),
    episodes_a_week=0.2,
    leak=Leak(0.1, 40.0),
)


def make_place(folder: Path) -> Path:
    """The tables of the generated hosts; the real one ships and is ingested as any other."""
    place = folder / "place"
    write_fleet(place, PLAN)
    keep_jobs(FolderPlace(place), jobs_of(FleetStore(str(place), RecordedStore(folder))), set())
    sampled_store(folder / "elsewhere")
    store = ["--store", str(folder / "elsewhere"), "--host", REAL_HOST, "--profiles", "all"]
    run_fleet("ship", "--fleet", str(place), *store)
    run_fleet("ingest", "--fleet", str(place))
    return place


def jobs_of(fleet: FleetStore) -> list[Job]:
    """Forty jobs that died with a node, forty by themselves, and many that did well."""
    episodes = fleet.episodes(FleetSpan(PLAN.begin_us + 3600 * 10**6, END_US))
    died = [
        _job(number, "FAILED", one.host, one.time_us + 10 * 10**6, "WorkerCrashedError: The worker died")
        for number, one in enumerate(episodes[:: len(episodes) // JOBS][:JOBS])
    ]
    step_us = (END_US - PLAN.begin_us) // 1000
    hosts = [f"host-{number * 37 % HOSTS:05d}" for number in range(900)]
    others = [
        _job(JOBS + number, "FAILED", host, PLAN.begin_us + number * step_us, "ValueError: no such column")
        if number % 20 == 0
        else _job(JOBS + number, "SUCCEEDED", host, PLAN.begin_us + number * step_us, "")
        for number, host in enumerate(hosts)
    ]
    return [*died, *others]


def _job(number: int, status: str, host: str, end_us: int, message: str) -> Job:
    begin_us = end_us - 1800 * 10**6
    return Job("training", f"raysubmit_{number:04d}", status, begin_us, end_us, (host,), (), "", 1, message)


def run_fleet(*words: str) -> None:
    """`necroscope fleet`, which must succeed."""
    command = [str(PROGRAM), "fleet", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def wait_for_fleet(page: Page) -> None:
    """The map and all that is shown around it is there."""
    expect(page.locator("main[data-view=fleet] .fleet-map canvas")).to_be_visible()
    expect(page.locator(".fleet-part[aria-busy=true]:not([hidden])")).to_have_count(0)

"""A place with a generated fleet of 5,000 hosts, and one more that really shipped its segments."""

from __future__ import annotations

import subprocess
from pathlib import Path

from playwright.sync_api import Page, expect

from lab.fleets.plan import Leak, Plan, Plant
from lab.fleets.tables import write_fleet
from tests.server.questions.sampled_store import sampled_store
from tests.server.served import PROGRAM
from tests.stored import HOST, UTC_NS

HOSTS = 5000
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
    sampled_store(folder / "elsewhere")
    store = ["--store", str(folder / "elsewhere"), "--host", REAL_HOST, "--profiles", "all"]
    _run("ship", "--fleet", str(place), *store)
    _run("ingest", "--fleet", str(place))
    return place


def _run(*words: str) -> None:
    command = [str(PROGRAM), "fleet", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def wait_for_fleet(page: Page) -> None:
    """The map and all that is shown around it is there."""
    expect(page.locator("main[data-view=fleet] .fleet-map canvas")).to_be_visible()
    expect(page.locator(".fleet-part[aria-busy=true]:not([hidden])")).to_have_count(0)

"""What a real recorder saw of this machine: shipped, ingested, and opened from the page of the fleet."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from lab.faults.marks import mark_and_spin
from lab.recorders import recording, why_not
from tests.server.served import served
from tests.web.browsing import keep_picture, tab
from tests.web.fleets import run_fleet, wait_for_fleet
from tests.web.looking import flame_number, question

QUIET_SECONDS = 5.0


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place with all that a recorder of this machine has seen of a mark."""
    if reason := why_not():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("real-fleet")
    (folder / "place").mkdir()
    with recording(folder / "recorded", "--segment", "10s") as recorder:
        time.sleep(QUIET_SECONDS)
        mark_and_spin(0, "fleet")
        time.sleep(QUIET_SECONDS)
        recorder.end()
    run_fleet("ship", "--fleet", str(folder / "place"), "--store", str(folder / "recorded"))
    run_fleet("ingest", "--fleet", str(folder / "place"))
    return folder / "place"


@pytest.mark.servers  # it records for half a minute
def test_from_the_fleet_to_what_ran_on_this_machine(
    place: Path, browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NECROSCOPE_FLEET_CACHE", str(tmp_path / "cache/tables"))
    with served(tmp_path / "store", "--fleet", str(place)) as running, tab(browser) as opened:
        page = opened.page
        page.goto(running.address)
        wait_for_fleet(page)
        page.locator("#fleet-kind").select_option("user-mark")
        wait_for_fleet(page)
        page.locator(".map-names button").first.click()
        row = page.locator(".fleet-events tr", has_text="necroscope mark: fleet")
        expect(row).to_contain_text("here")
        row.get_by_role("link").click()
        expect(page.locator("main[data-view=moment] section.scope")).to_be_visible()
        expect(page.locator("section.flame")).to_have_attribute("aria-busy", "false")
        assert flame_number(page, "flame-nodes") > 5
        page.locator("summary", has_text="Processes").click()
        expect(page.get_by_text("spin-0-fleet").first).to_be_visible()
        keep_picture(page, "fleet-real-moment")
        assert question(page)[0] == "moment"

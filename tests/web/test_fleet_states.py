"""A fleet that has no tables, whose place is away, or that is none: the page says so, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.server.questions.fleet.known_fleet import reset, write_known
from tests.server.served import served
from tests.stored import sealed_segment, seconds_of
from tests.web.browsing import tab
from tests.web.fleets import wait_for_fleet


def heading(page: Page, name: str) -> None:
    expect(page.get_by_role("heading", name=name)).to_be_visible()


def test_a_place_without_tables_becomes_a_fleet(browser: Browser, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    with served(tmp_path / "store", "--fleet", str(place)) as running, tab(browser, quiet=False) as opened:
        opened.page.goto(running.address)
        heading(opened.page, "Nothing is known of the fleet yet")
        expect(opened.page.get_by_text("necroscope fleet ingest")).to_be_visible()
        write_known(place, [reset("host-1", 1)])
        fleet_map = opened.page.locator(".fleet-map canvas")
        opened.page.get_by_role("button", name="Look again").click()
        expect(fleet_map).to_be_visible()
        wait_for_fleet(opened.page)
        expect(opened.page.get_by_text("12 hosts, until")).to_be_visible()


def test_a_place_that_cannot_be_used(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    nowhere = "s3://nowhere/x?endpoint=http://127.0.0.1:9"
    with served(tmp_path / "store", "--fleet", nowhere) as running, tab(browser, quiet=False) as opened:
        opened.page.goto(running.address)
        heading(opened.page, "The fleet's place cannot be used")
        expect(opened.page.get_by_text("127.0.0.1:9").first).to_be_visible()
        expect(opened.page.get_by_role("button", name="Try again")).to_be_visible()


def test_without_a_fleet_there_is_no_view_of_one(browser: Browser, tmp_path: Path) -> None:
    sealed_segment(tmp_path, seconds_of(["idle"] * 9))
    with served(tmp_path) as running, tab(browser, quiet=False) as opened:
        opened.page.goto(f"{running.address}#fleet")
        heading(opened.page, "No fleet is served here")
        expect(opened.page.get_by_role("link", name="Fleet")).to_have_count(0)

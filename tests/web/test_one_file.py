"""The page in one file: opened from disk, with no server and no network."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.server.served import PROGRAM
from tests.web.browsing import Tab, keep_picture, tab, why_not
from tests.web.looking import (
    culprits,
    flame_number,
    views,
    wait_for_diagnosis,
    wait_for_moment,
    wait_for_overview,
)


@pytest.fixture(scope="module")
def file(incident: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The incident as one file."""
    if reason := why_not():
        pytest.skip(reason)
    written = tmp_path_factory.mktemp("one-file") / "incident.html"
    command = [str(PROGRAM), "serve", "--store", str(incident), "-o", str(written)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return written


@pytest.fixture
def from_disk(file: Path, browser: Browser) -> Iterator[Tab]:
    """The file in a browser without a network."""
    with tab(browser, offline=True) as opened:
        opened.page.goto(file.as_uri())
        yield opened
        assert opened.leaves(file.as_uri()) == []


def test_the_overview_leads_to_the_moment_and_its_culprit(from_disk: Tab) -> None:
    page = from_disk.page
    wait_for_overview(page)
    page.locator("button.mark[data-kind=nic-reset]").first.click()
    wait_for_moment(page)
    assert flame_number(page, "flame-nodes") > 1
    culprits(page).locator("tr.is-culprit").get_by_role("button").first.click()
    expect(page.locator("[data-highlighted]")).not_to_have_attribute("data-highlighted", "0")
    keep_picture(page, "one-file-moment")


def test_the_diagnosis_is_in_the_file(from_disk: Tab) -> None:
    page = from_disk.page
    wait_for_overview(page)
    views(page).get_by_role("link", name="Diagnosis").click()
    wait_for_diagnosis(page)


def test_there_is_no_live_view_in_a_file(from_disk: Tab) -> None:
    wait_for_overview(from_disk.page)
    expect(views(from_disk.page).get_by_role("link", name="Live")).to_have_count(0)


def test_what_is_not_in_the_file_is_told(from_disk: Tab) -> None:
    page = from_disk.page
    wait_for_overview(page)
    page.locator("button.mark[data-kind=nic-reset]").first.click()
    wait_for_moment(page)
    page.get_by_label("inverted").check()
    expect(page.get_by_text("This file does not hold").first).to_be_visible()

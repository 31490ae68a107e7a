"""From the overview of a real incident to the function behind it, in three clicks."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Locator, expect

from lab.faults.zombie_walks import FUNCTIONS
from tests.server.served import Served
from tests.web.browsing import Tab, keep_picture
from tests.web.looking import (
    culprits,
    flame_canvas,
    flame_number,
    question,
    span,
    wait_for_moment,
    wait_for_overview,
)
from tests.web.recorded import event_named

FIVE_SECONDS_US = 5_000_000
COUNT_CLICKS = "addEventListener('click', () => { window.clicks = (window.clicks ?? 0) + 1 }, true)"


def test_from_the_overview_to_the_culprit_in_three_clicks(
    open_tab: Tab, server: Served, incident: Path
) -> None:
    page = open_tab.page
    page.add_init_script(COUNT_CLICKS)
    page.goto(server.address)
    wait_for_overview(page)
    keep_picture(page, "overview")

    page.locator("button.mark[data-kind=nic-reset]").first.click()
    wait_for_moment(page)
    _require_the_seconds_before_the_event(open_tab, incident)
    expect(flame_canvas(page)).to_have_attribute("aria-label", re.compile("against .*quiet"))
    assert flame_number(page, "flame-nodes") > 1
    keep_picture(page, "moment")

    row = culprits(page).locator("tr.is-culprit").first.get_by_role("button")
    _require_the_walking_process(row)
    row.click()
    expect(row).to_have_attribute("aria-pressed", "true")
    expect(page.locator("[data-highlighted]")).not_to_have_attribute("data-highlighted", "0")
    assert 0 < flame_number(page, "highlighted") < flame_number(page, "flame-nodes")
    keep_picture(page, "culprit")
    assert page.evaluate("window.clicks") <= 3


def _require_the_seconds_before_the_event(tab: Tab, incident: Path) -> None:
    view, asked = question(tab.page)
    event = event_named(incident, asked["event"][0])
    assert view == "moment" and event.event.kind == "nic-reset"
    assert asked["b"] == ["quiet"]
    begin_us, end_us = span(asked, "a")
    assert end_us - begin_us == FIVE_SECONDS_US and abs(end_us - event.utc_ns // 1000) <= 1
    # A driver's line may leave the core open; then the server tells it by the queue's interrupt.
    assert len(asked["cpu"]) == 1
    assert event.event.core is None or asked["cpu"] == [str(event.event.core)]


def _require_the_walking_process(row: Locator) -> None:
    named = row.text_content() or ""
    assert "kubelet" in named and any(function in named for function in FUNCTIONS), named

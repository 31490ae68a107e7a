"""All of it works without a mouse."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.server.served import Served
from tests.web.browsing import Tab
from tests.web.looking import (
    culprits,
    flame,
    flame_canvas,
    question,
    scope,
    span,
    told_selection,
    views,
    wait_for_diagnosis,
    wait_for_moment,
    wait_for_overview,
)

FIVE_SECONDS_US = 5_000_000
MOST_TABS = 150
# What a reader with a keyboard can stop at: seen, not switched off, and not left to the arrow keys.
STOPS = """() => [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex]')]
  .filter(one => one.tabIndex >= 0 && !one.disabled && one.checkVisibility({visibilityProperty: true}))
  .map(one => one.dataset.stop = String(window.stops = (window.stops ?? 0) + 1))"""
SHOWN = "one => one.outerHTML.slice(0, 200)"
FOCUSED = "() => document.activeElement?.dataset.stop ?? ''"
RINGED = """() => { const style = getComputedStyle(document.activeElement);
  return style.outlineStyle !== 'none' || style.boxShadow !== 'none' }"""


@pytest.fixture
def moment(open_tab: Tab, server: Served) -> Page:
    """The moment of the incident."""
    page = open_tab.page
    page.goto(server.address)
    wait_for_overview(page)
    page.locator("button.mark[data-kind=nic-reset]").first.click()
    wait_for_moment(page)
    return page


def test_the_moment_is_reached_and_the_culprit_shown_by_keys_alone(open_tab: Tab, server: Served) -> None:
    page = open_tab.page
    page.goto(server.address)
    wait_for_overview(page)
    strip = page.get_by_role("group", name="Events")
    strip.locator("button.mark[tabindex='0']").focus()
    while page.evaluate("document.activeElement.dataset.kind") != "nic-reset":
        before = page.evaluate("document.activeElement.dataset.event")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.dataset.event") != before, "no nic-reset by arrow keys"
    page.keyboard.press("Enter")
    wait_for_moment(page)
    culprits(page).locator("tr.is-culprit").get_by_role("button").first.focus()
    page.keyboard.press("Enter")
    expect(culprits(page).get_by_role("button", pressed=True)).to_have_count(1)


def test_arrows_step_the_selection_by_its_length(moment: Page) -> None:
    before = span(question(moment)[1], "a")
    told = told_selection(moment)
    scope(moment).focus()
    moment.keyboard.press("ArrowLeft")
    expect(moment).not_to_have_url(re.compile(f"a={before[0]}"))
    after = span(question(moment)[1], "a")
    assert after == (before[0] - FIVE_SECONDS_US, before[1] - FIVE_SECONDS_US)
    wait_for_moment(moment)
    assert told_selection(moment) != told
    moment.keyboard.press("ArrowRight")
    wait_for_moment(moment)
    assert span(question(moment)[1], "a") == before and told_selection(moment) == told


def test_escape_takes_the_whole_range_and_plus_makes_it_longer(moment: Page) -> None:
    before = span(question(moment)[1], "a")
    scope(moment).focus()
    moment.keyboard.press("+")
    longer = span(question(moment)[1], "a")
    assert longer[0] < before[0] and longer[1] > before[1]
    moment.keyboard.press("Escape")
    assert "a" not in question(moment)[1]
    wait_for_moment(moment)


def test_the_flame_graph_is_walked_zoomed_and_left_by_keys(moment: Page) -> None:
    told = flame(moment).locator(".flame-told")
    flame_canvas(moment).focus()
    moment.keyboard.press("ArrowUp")  # the root
    moment.keyboard.press("ArrowUp")  # its widest child
    expect(told).to_contain_text(re.compile(r"share .*%"))
    first = told.text_content()
    moment.keyboard.press("ArrowUp")
    expect(told).not_to_have_text(first or "")
    moment.keyboard.press("Enter")
    expect(moment).to_have_url(re.compile("zoom="))
    way = moment.get_by_role("navigation", name="Zoomed frame")
    assert way.get_by_role("listitem").count() > 1
    moment.keyboard.press("Backspace")
    expect(way.get_by_role("listitem")).to_have_count(1)
    moment.keyboard.press("/")
    expect(moment.get_by_label("Search stacks")).to_be_focused()


WAITS = {"Overview": wait_for_overview, "Moment": wait_for_moment, "Diagnosis": wait_for_diagnosis}


@pytest.mark.parametrize("view", WAITS)
def test_tab_reaches_everything_and_shows_where_it_is(open_tab: Tab, server: Served, view: str) -> None:
    page = open_tab.page
    page.goto(server.address)
    wait_for_overview(page)
    views(page).get_by_role("link", name=view).click()
    WAITS[view](page)
    page.reload()  # the focus is at the top again
    WAITS[view](page)
    page.wait_for_load_state("networkidle")  # an answer that comes later draws what is marked here again
    stops = page.evaluate(STOPS)
    reached = _tab_through(page)
    missed = [page.locator(f"[data-stop='{stop}']").evaluate(SHOWN) for stop in stops if stop not in reached]
    assert missed == []
    assert reached == sorted(reached, key=int), "the focus does not go in the order of reading"


def _tab_through(page: Page) -> list[str]:
    """The stops that Tab reaches from the top until it leaves the page, each with a ring around it."""
    reached: list[str] = []
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUSED)
        if stop in reached or (reached and not stop):
            break
        if stop:
            assert page.evaluate(RINGED), page.evaluate("document.activeElement.outerHTML")[:300]
            reached.append(stop)
    return reached

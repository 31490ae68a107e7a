"""A link shows another reader the same."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Browser, Page, expect

from tests.server.served import Served
from tests.web.browsing import tab
from tests.web.looking import (
    flame,
    flame_canvas,
    flame_number,
    question,
    scope,
    wait_for_moment,
    wait_for_overview,
)


def _seen(page: Page) -> dict[str, Any]:
    """What of the moment view a link has to reproduce, as a reader sees it."""
    wait_for_moment(page)
    filters = page.get_by_role("group", name="Filters")
    return {
        "title": page.get_by_label("Flame graph of the selection").get_by_role("heading").all_text_contents(),
        "flame": flame_canvas(page).get_attribute("aria-label"),
        "frames": flame_number(page, "flame-nodes"),
        "found": flame(page).locator("[role=status]").all_text_contents(),
        "zoom": flame(page).locator(".flame-head nav, .flame-head ol").all_text_contents(),
        "scope": scope(page).get_attribute("aria-label"),
        "search": page.get_by_label("Search stacks").input_value(),
        "filters": filters.locator("summary").all_text_contents(),
        "checked": page.get_by_role("checkbox", checked=True).count(),
        "split": page.get_by_label("split by").input_value(),
        "rows": page.get_by_label("rows a second").input_value(),
        "address": question(page),
    }


def _choose_a_lot(page: Page, address: str) -> None:
    page.goto(address)
    wait_for_overview(page)
    page.locator("button.mark[data-kind=nic-reset]").first.click()
    wait_for_moment(page)
    page.get_by_label("rows a second").select_option("25")
    page.get_by_label("split by").select_option("process")
    wait_for_moment(page)
    page.get_by_label("icicle").check()
    search = page.get_by_label("Search stacks")
    search.fill("shrink|walk")
    search.press("Enter")
    page.get_by_role("search").first.get_by_label("regexp").check()
    wait_for_moment(page)
    _zoom_by_keys(page)


def _zoom_by_keys(page: Page) -> None:
    canvas = flame_canvas(page)
    canvas.focus()
    for key in ("ArrowUp", "ArrowDown", "ArrowDown", "Enter"):  # to a frame below the root
        canvas.press(key)
    expect(page).to_have_url(re.compile(r"[?&]zoom="))


def test_a_link_shows_the_same_in_another_browser(browser: Browser, server: Served) -> None:
    with tab(browser) as first, tab(browser) as second:
        _choose_a_lot(first.page, server.address)
        seen = _seen(first.page)
        second.page.goto(first.page.url)
        assert _seen(second.page) == seen


def test_the_copied_link_is_the_address(browser: Browser, server: Served) -> None:
    with tab(browser, permissions=["clipboard-read", "clipboard-write"]) as opened:
        page = opened.page
        _choose_a_lot(page, server.address)
        page.get_by_role("button", name="Copy link").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == page.url


def test_back_and_forward_walk_through_what_was_seen(browser: Browser, server: Served) -> None:
    with tab(browser) as opened:
        page = opened.page
        page.goto(server.address)
        wait_for_overview(page)
        page.locator("button.mark[data-kind=nic-reset]").first.click()
        wait_for_moment(page)
        there = _seen(page)
        page.go_back()
        wait_for_overview(page)
        page.go_forward()
        assert _seen(page) == there


def test_a_link_of_nonsense_opens_the_overview(browser: Browser, server: Served) -> None:
    with tab(browser) as opened:
        opened.page.goto(f"{server.address}#nonsense?begin=-1&end=x&rows=7&a=..&cpu=%00&quantity=../../etc")
        wait_for_overview(opened.page)

"""The page asks nobody but its own server, and keeps to the policy that the server sets."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.server.served import Served
from tests.web.browsing import Tab
from tests.web.looking import views, wait_for_diagnosis, wait_for_moment, wait_for_overview


def _walk_through(page: Page, address: str) -> None:
    page.goto(address)
    wait_for_overview(page)
    page.get_by_role("link", name="Open the moment").click()
    wait_for_moment(page)
    views(page).get_by_role("link", name="Diagnosis").click()
    wait_for_diagnosis(page)
    views(page).get_by_role("link", name="Live").click()
    page.locator("main[data-view=live]").wait_for()


def test_no_request_leaves_the_origin_and_nothing_is_complained_of(open_tab: Tab, server: Served) -> None:
    _walk_through(open_tab.page, server.address)  # console errors and violations fail in the fixture
    assert open_tab.requests and open_tab.leaves(server.address) == []
    assert open_tab.refused == []


@pytest.mark.parametrize(
    "attack", ["<img src=x onerror=window.attacked=1>", "<script>window.attacked=1</script>"]
)
def test_what_a_link_says_is_shown_as_text(open_tab: Tab, server: Served, attack: str) -> None:
    page = open_tab.page
    page.goto(f"{server.address}#overview?host={attack}")
    page.get_by_text("No such host in the store").wait_for()
    assert page.get_by_text(attack).count() == 1
    assert page.evaluate("window.attacked") is None


def test_an_inline_script_does_not_run(open_tab: Tab, server: Served) -> None:
    page = open_tab.page
    page.goto(server.address)
    page.evaluate(
        "const made = document.createElement('script'); made.textContent = 'window.attacked = 1';"
        "document.body.append(made)"
    )
    assert page.evaluate("window.attacked") is None
    assert any("Content Security Policy" in text for text in open_tab.complaints)
    open_tab.complaints.clear()  # this one was wanted

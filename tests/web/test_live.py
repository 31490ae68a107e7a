"""The live view follows a real recorder, without a reload."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.real.recorders import recording, why_not
from tests.server.served import served
from tests.web.browsing import keep_picture, tab

REASON = why_not() or ""
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)
NEWEST = re.compile(r"newest second (\d\d:\d\d:\d\d)Z")


def _newest(page: Page) -> str:
    state = page.locator(".recorder-state")
    expect(state).to_contain_text(NEWEST)
    found = NEWEST.search(state.text_content() or "")
    assert found
    return found[1]


def _wait_for_another(page: Page, seen: str) -> str:
    expect(page.locator(".recorder-state")).not_to_contain_text(f"newest second {seen}Z")
    return _newest(page)


def test_the_newest_second_advances_without_a_reload(browser: Browser, tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    with served(store) as server, tab(browser) as opened:
        page = opened.page
        with recording(store):
            page.goto(f"{server.address}#live")
            look_again = page.get_by_role("button", name="Look again")
            if look_again.count():  # the recorder had not written its first second
                look_again.click()
            seen = [_newest(page)]
            page.evaluate("window.isTheSamePage = true")
            for _ in range(4):
                seen.append(_wait_for_another(page, seen[-1]))
            keep_picture(page, "live")
        assert seen == sorted(set(seen))
        assert page.evaluate("window.isTheSamePage") is True
        expect(page.locator(".recorder-state")).to_contain_text("stopped")
        assert opened.leaves(server.address) == []

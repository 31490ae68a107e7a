"""Nothing recorded, nobody there, not permitted, slow: the page says so, and what to do."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.server.served import Served, served
from tests.web.browsing import Tab, tab
from tests.web.looking import wait_for_overview

TOKEN = "a-token-for-the-tests-0123456789abcdef"


def test_an_empty_store_says_how_to_record(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as empty, tab(browser) as opened:
        opened.page.goto(empty.address)
        expect(opened.page.get_by_role("heading", name="Nothing recorded yet")).to_be_visible()
        expect(opened.page.get_by_text("necroscope record", exact=True)).to_be_visible()


def test_recordings_that_come_later_are_found(browser: Browser, tmp_path: Path, incident: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    with served(store) as running, tab(browser) as opened:
        opened.page.goto(running.address)
        again = opened.page.get_by_role("button", name="Look again")
        overview = opened.page.locator("main[data-view=overview]")
        again.wait_for()
        for host in incident.iterdir():
            (store / host.name).symlink_to(host, target_is_directory=True)
        while not overview.count():  # the server lists its store once a second
            again.click()
            again.or_(overview).first.wait_for()
        wait_for_overview(opened.page)


def test_an_unknown_host_is_told_and_another_can_be_chosen(open_tab: Tab, server: Served) -> None:
    page = open_tab.page
    page.goto(f"{server.address}#overview?host=nobody")
    expect(page.get_by_role("heading", name="No such host in the store")).to_be_visible()
    expect(page.get_by_text('"nobody"')).to_be_visible()
    page.get_by_label("Host").select_option(index=0)
    wait_for_overview(page)


def test_an_unknown_host_in_the_moment_view_is_told(browser: Browser, server: Served) -> None:
    link = f"{server.address}#moment?host=nobody&begin=1776247200000000&end=1776247260000000"
    with tab(browser, quiet=False) as opened:  # Chromium puts every 404 on the console
        opened.page.goto(link)
        expect(opened.page.get_by_role("heading", name="Nothing recorded there").first).to_be_visible()


def test_a_time_without_a_recording_is_told(browser: Browser, server: Served, incident: Path) -> None:
    host = next(path.name for path in incident.iterdir() if not path.name.startswith("."))
    link = f"{server.address}#moment?host={host}&begin=1000000000000000&end=1000000060000000"
    with tab(browser, quiet=False) as opened:
        opened.page.goto(link)
        expect(opened.page.get_by_role("heading", name="Nothing recorded there").first).to_be_visible()


def test_the_page_goes_on_when_its_server_is_back(browser: Browser, incident: Path) -> None:
    with tab(browser, quiet=False) as opened:
        page = opened.page
        with served(incident) as first:
            page.goto(first.address)
            wait_for_overview(page)
            page.goto(f"{first.address}#diagnosis")
            page.locator("article.diagnosis").wait_for()
        port = urlsplit(first.address).port or 0
        page.get_by_role("link", name="Overview").click()
        expect(page.get_by_role("heading", name="No connection to the server").first).to_be_visible()
        with served(incident, port=port):
            wait_for_overview(page)  # without a click
        assert not [text for text in opened.complaints if "Failed to load resource" not in text]


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o600)
    return file


def test_a_token_is_asked_for_and_opens_the_page(browser: Browser, incident: Path, token_file: Path) -> None:
    with served(incident, "--token-file", str(token_file)) as running, tab(browser, quiet=False) as opened:
        page = opened.page
        page.goto(running.address)
        expect(page.get_by_role("heading", name="A token is needed")).to_be_visible()
        field = page.get_by_label("The token from the file")
        field.fill("not-the-token")
        field.press("Enter")
        expect(page.locator("#token-says")).to_contain_text("not the token")
        field.fill(TOKEN)
        page.get_by_role("button", name="Open").click()
        wait_for_overview(page)
        page.reload()
        wait_for_overview(page)  # the cookie stays
        assert TOKEN not in page.url and TOKEN not in page.evaluate("document.cookie")
        assert TOKEN not in json.dumps(page.evaluate("({...localStorage, ...sessionStorage})"))


def test_a_slow_answer_is_waited_for_aloud(open_tab: Tab, server: Served) -> None:
    page = open_tab.page
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/cores*", hold)
    page.goto(server.address)
    expect(page.get_by_role("status").filter(has_text="Loading the cores")).to_be_visible()
    expect(page.locator("button.mark").first).to_be_visible()  # the rest does not wait for it
    for route in held:
        route.continue_()
    page.unroute("**/api/cores*")
    wait_for_overview(page)


def test_a_busy_server_is_asked_again_without_a_word(browser: Browser, server: Served) -> None:
    with tab(browser, quiet=False) as opened:
        times = []

        def refuse_once(route: Route) -> None:
            times.append(route.request.url)
            if len(times) == 1:
                body = json.dumps({"error": {"slug": "busy", "what": "busy", "hint": ""}})
                route.fulfill(status=503, headers={"Retry-After": "1"}, body=body)
            else:
                route.continue_()

        opened.page.route("**/api/cores*", refuse_once)
        opened.page.goto(server.address)
        wait_for_overview(opened.page)
        assert len(times) >= 2


def test_without_scripts_the_page_says_what_it_needs(browser: Browser, server: Served) -> None:
    with tab(browser, java_script_enabled=False) as opened:
        opened.page.goto(server.address)
        expect(opened.page.get_by_text("necroscope diagnose")).to_be_visible()


def test_what_is_not_there_is_404(browser: Browser, server: Served) -> None:
    with tab(browser, quiet=False) as opened:
        answer = opened.page.goto(f"{server.address}nothing-here")
        assert answer is not None and answer.status == 404

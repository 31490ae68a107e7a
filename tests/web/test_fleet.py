"""The fleet on the page: what concentrates, who is next, and down to the samples of one host."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.server.served import Served
from tests.web.browsing import DESKTOP, PHONE, Tab, keep_picture, tab
from tests.web.fleets import BAD_ZONE, REAL_HOST, wait_for_fleet
from tests.web.looking import flame_number, question, span, views, wait_for_moment
from tests.web.test_axe import AXE, is_not_cut_off, require_nothing_serious

SIZES = {"desk": DESKTOP, "phone": PHONE}


@pytest.fixture
def opened(fleet_server: Served, browser: Browser) -> Iterator[Tab]:
    """The fleet, as it is first seen."""
    with tab(browser) as opened:
        opened.page.goto(fleet_server.address)
        wait_for_fleet(opened.page)
        yield opened
        assert opened.leaves(fleet_server.address) == [] and opened.refused == []


def part(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name=title)


def row_names(page: Page) -> list[str]:
    return page.locator(".map-names button").all_text_contents()


def test_the_fleet_opens_first_and_names_what_is_wrong(
    fleet_server: Served, browser: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    with tab(browser) as opened:
        first, again = _seconds_to_open(opened, fleet_server), _seconds_to_open(opened, fleet_server)
        with capsys.disabled():
            told = f"there after {again:.2f} s, the first time after {first:.2f} s"
            sys.stdout.write(f"\nthe page of 5,000 hosts x 7 days: {told}\n")
        assert question(opened.page)[0] == "fleet"
        verdict = opened.page.get_by_label("Verdict")
        expect(verdict).to_contain_text(f"Concentrates in zone = {BAD_ZONE}")
        keep_picture(opened.page, "fleet")


def _seconds_to_open(opened: Tab, server: Served) -> float:
    """From nothing to all that is shown at first; the server may still be reading the first time."""
    opened.page.goto("about:blank")
    begun = time.monotonic()
    opened.page.goto(server.address)
    wait_for_fleet(opened.page)
    return time.monotonic() - begun


def test_the_planted_zone_is_first_in_the_table_and_on_the_map(opened: Tab) -> None:
    page = opened.page
    first = part(page, "Where it concentrates").locator("tbody tr").first
    expect(first).to_have_class("is-concentrates")
    button = first.get_by_role("button")
    assert BAD_ZONE in (button.text_content() or "")
    assert row_names(page)[0] == BAD_ZONE and row_names(page)[-1] == "unknown"
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    row = page.locator(f".map-names button[data-group='{BAD_ZONE}']")
    expect(row).to_have_attribute("aria-pressed", "true")
    expect(part(page, f"Events: zone = {BAD_ZONE}").locator("tbody tr").first).to_be_visible()
    assert question(page)[1]["group"] == [BAD_ZONE]


def test_those_who_are_next_come_soonest_first(opened: Tab) -> None:
    rows = part(opened.page, "Who is next").locator("tbody tr")
    assert rows.count() == 10
    times = [wait_seconds(text) for text in rows.locator("b").all_text_contents()]
    assert times == sorted(times) and times[0] < 7 * 86400
    opened.page.get_by_role("button", name=re.compile("more hosts?$")).click()
    assert rows.count() > 10


UNITS = {"d": 86400, "h": 3600, "min": 60, "s": 1}


def wait_seconds(text: str) -> float:
    """`in 3 d 4 h` in seconds; who is beyond the wall waits no longer."""
    if "beyond" in text:
        return 0.0
    return sum(int(count) * UNITS[unit] for count, unit in re.findall(r"(\d+) (d|h|min|s)\b", text))


def test_a_cell_lists_its_events_with_keys_and_with_a_click(opened: Tab) -> None:
    page = opened.page
    canvas = page.locator(".fleet-map canvas")
    canvas.focus()
    for key in ("ArrowLeft", "ArrowLeft", "ArrowLeft", "Enter"):
        canvas.press(key)
    events = page.get_by_role("region", name=re.compile(f"Events: zone = {BAD_ZONE}, "))
    expect(events).to_be_visible()
    begin_us, end_us = span(question(page)[1], "a")
    assert (end_us - begin_us) % 3_600_000_000 == 0
    expect(events).to_have_attribute("aria-busy", "false")
    canvas.press("Escape")
    expect(events).to_be_hidden()
    box = canvas.bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 5)
    expect(events).to_be_visible()
    assert span(question(page)[1], "a") != (begin_us, end_us)


def test_another_label_and_colour_are_in_the_link(opened: Tab, browser: Browser) -> None:
    page = opened.page
    page.get_by_label("by", exact=True).select_option("labels/instance_type")
    page.get_by_role("button", name="hosts affected").click()
    expect(page.get_by_role("heading", name="By instance_type, over time")).to_be_visible()
    wait_for_fleet(page)
    expect(page.locator(".map-names")).not_to_contain_text(BAD_ZONE)
    with tab(browser) as second:
        second.page.goto(page.url)
        wait_for_fleet(second.page)
        assert row_names(second.page) == row_names(page)
        expect(second.page.get_by_role("button", name="hosts affected")).to_have_attribute(
            "aria-pressed", "true"
        )


def test_from_an_event_to_the_samples_of_its_host(opened: Tab, fleet_server: Served) -> None:
    page = opened.page
    page.get_by_role("button", name=re.compile("^unknown: ")).click()  # the host that shipped has no label
    row = page.locator("tr", has=page.get_by_text(REAL_HOST, exact=True))
    expect(row).to_contain_text("here")
    row.get_by_role("link").click()
    wait_for_moment(page)
    view, asked = question(page)
    assert view == "moment" and asked["host"] == [REAL_HOST]
    begin_us, end_us = span(asked, "a")
    assert end_us - begin_us == 5_000_000
    assert flame_number(page, "flame-nodes") > 5
    expect(page.get_by_label("Culprits", exact=True)).to_contain_text("kubelet")
    expect(page.get_by_label("Host", exact=True)).to_have_value(REAL_HOST)
    keep_picture(page, "fleet-moment")
    views(page).get_by_role("link", name="Fleet").click()
    wait_for_fleet(page)


def test_what_a_host_has_not_sent_can_be_asked_for(opened: Tab) -> None:
    page = opened.page
    page.locator(".map-names button").first.click()
    row = part(page, f"Events: zone = {BAD_ZONE}").locator("tbody tr").first
    host = row.locator("td.mono").text_content() or ""
    row.get_by_role("link").click()
    expect(page.get_by_role("heading", name="Not sent by its host")).to_be_visible()
    expect(page.locator("pre")).to_contain_text(f"necroscope fleet request {host} -b 2026-04-")
    page.go_back()
    wait_for_fleet(page)


def test_what_takes_long_is_asked_when_it_is_opened(opened: Tab) -> None:
    page = opened.page
    assert not [url for url in opened.requests if "fleet-drift" in url]
    page.get_by_role("button", name="What differs").click()
    wait_for_fleet(page)
    expect(part(page, "What differs")).to_contain_text(BAD_ZONE)
    page.get_by_role("button", name="Jobs that died of it").click()
    jobs = part(page, "Jobs that died of it")
    expect(jobs).to_contain_text("chance alone gives")
    expect(jobs.locator("tr.is-concentrates").get_by_role("link").first).to_be_visible()
    assert question(page)[1]["part"] == ["jobs"]


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not there: scripts/node-packages")
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing_serious(fleet_server: Served, browser: Browser, size: str) -> None:
    link = f"{fleet_server.address}#fleet?label=labels/zone&group={BAD_ZONE}&part=drift"
    with tab(browser, viewport=SIZES[size], color_scheme="light", has_touch=size == "phone") as opened:
        opened.page.goto(link)
        wait_for_fleet(opened.page)
        for colours in ("light", "dark"):
            opened.page.emulate_media(color_scheme=colours)
            expect(opened.page.locator(f"html[data-theme={colours}]")).to_have_count(1)
            keep_picture(opened.page, f"axe-fleet-{colours}-{size}")
            require_nothing_serious(opened.page)
        assert is_not_cut_off(opened.page)

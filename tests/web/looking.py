"""What a reader waits for on the page, and reads from it."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Locator, Page, expect


def question(page: Page) -> tuple[str, dict[str, list[str]]]:
    """The view and the parameters of the address, which stand behind the #."""
    view, _, query = urlsplit(page.url).fragment.partition("?")
    return view, parse_qs(query)


def span(parameters: dict[str, list[str]], name: str) -> tuple[int, int]:
    """A range of time in the address, in microseconds."""
    begin, _, end = parameters[name][0].partition("..")
    return int(begin), int(end)


def wait_for_overview(page: Page) -> None:
    """Events, cores and the verdict are there."""
    expect(page.locator("main[data-view=overview] button.mark").first).to_be_visible()
    expect(page.locator("main .heatmap-message > *")).to_have_count(0)
    verdict = page.get_by_label("Verdict")
    expect(verdict).to_have_attribute("data-level", re.compile("healthy|trouble|unknown"))


def wait_for_moment(page: Page) -> None:
    """Scope, flame graph and culprits are of what the address says."""
    expect(page.locator("main[data-view=moment] section.scope")).to_be_visible()
    expect(page.locator("main .is-outdated")).to_have_count(0)
    expect(flame(page)).to_have_attribute("aria-busy", "false")
    expect(culprits(page).locator(".skeleton")).to_have_count(0)
    expect(culprits(page).locator("p").first).to_be_visible()


def wait_for_diagnosis(page: Page) -> None:
    """The chain is told."""
    expect(page.locator("article.diagnosis")).to_have_attribute("aria-busy", "false")
    expect(page.get_by_role("heading", name="From the root to the symptom")).to_be_visible()


def flame(page: Page) -> Locator:
    """The flame graph; it says of itself how many frames it has, and how many are highlighted."""
    return page.locator("section.flame")


def flame_canvas(page: Page) -> Locator:
    """What takes the focus and the keys."""
    return page.locator("canvas.flame-canvas")


def flame_number(page: Page, name: str) -> int:
    """A number that the flame graph tells in a data attribute."""
    value = page.locator(f"[data-{name}]").first.get_attribute(f"data-{name}")
    return int(value or "0")


def culprits(page: Page) -> Locator:
    """The table beside the flame graph."""
    return page.get_by_label("Culprits", exact=True)


def scope(page: Page) -> Locator:
    """The subsecond heatmap, which takes the keys."""
    return page.locator(".scope-picture")


def views(page: Page) -> Locator:
    """The links between the views."""
    return page.get_by_role("navigation", name="Views")


def told_selection(page: Page) -> str:
    """What the scope says of selection A."""
    label = scope(page).get_attribute("aria-label") or ""
    return label.partition("Selection A: ")[2]


def wait_for_live(page: Page) -> None:
    """The newest seconds are told, or that nobody records."""
    expect(page.locator("main[data-view=live] > *").first).to_be_visible()
    expect(page.locator("main[data-view=live] .skeleton")).to_have_count(0)

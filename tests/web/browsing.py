"""A browser that notes what a page must not do: leave its origin, break the policy, or fail aloud."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Response, expect, sync_playwright

from necroscope.server.one_file.page_file import STATIC

DESKTOP = {"width": 1280, "height": 720}
PHONE = {"width": 390, "height": 844}
PATIENCE_MS = 30_000  # two cores, and other tests on them


def why_not() -> str:
    """What is missing for tests in a browser; empty if nothing is."""
    if shutil.which("chromium") is None:
        return "chromium is not installed (apt-get install chromium)"
    if not (STATIC / "index.html").is_file():
        return "page not built: make web"
    return ""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium, without a window."""
    if reason := why_not():
        pytest.skip(reason)
    options = ["--disable-dev-shm-usage", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=options)
        try:
            yield browser
        finally:
            browser.close()


@dataclass(slots=True)
class Tab:
    """One page, and what was noted of it."""

    page: Page
    requests: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)  # status and URL
    complaints: list[str] = field(default_factory=list)  # errors on the console, uncaught, policy violations

    def leaves(self, origin: str) -> list[str]:
        """Requests to anywhere else."""
        kept = (origin, "data:", "blob:")
        return [url for url in self.requests if not url.startswith(kept)]


@contextmanager
def tab(browser: Browser, *, quiet: bool = True, **context: Any) -> Iterator[Tab]:
    """A page in a context of its own; unless told otherwise, a complaint on its console is a failure."""
    options: dict[str, Any] = {"viewport": DESKTOP, "locale": "en-GB", "timezone_id": "UTC", **context}
    opened = browser.new_context(**options)
    opened.set_default_timeout(PATIENCE_MS)
    page = opened.new_page()
    watched = Tab(page)
    watch(watched)
    try:
        yield watched
    finally:
        opened.close()
    if quiet:
        assert not watched.complaints, (watched.complaints, watched.refused)


def watch(watched: Tab) -> None:
    """Note what happens on a page from now on."""

    def heard(message: ConsoleMessage) -> None:
        if message.type == "error" or "Content Security Policy" in message.text:
            watched.complaints.append(message.text)

    def answered(response: Response) -> None:
        if response.status >= 400:
            watched.refused.append(f"{response.status} {response.url}")

    watched.page.on("response", answered)
    watched.page.on("request", lambda request: watched.requests.append(request.url))
    watched.page.on("console", heard)
    watched.page.on("pageerror", lambda error: watched.complaints.append(str(error)))


def keep_picture(page: Page, name: str) -> None:
    """A screenshot to look at, where NECROSCOPE_PICTURES names a folder."""
    if folder := os.environ.get("NECROSCOPE_PICTURES"):
        page.screenshot(path=Path(folder) / f"{name}.png")

"""axe-core finds nothing serious on any view, dark and light, on a desk and on a phone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.server.served import Served, served
from tests.web.browsing import DESKTOP, PHONE, keep_picture, tab
from tests.web.looking import culprits, wait_for_diagnosis, wait_for_live, wait_for_moment, wait_for_overview
from tests.web.test_states import TOKEN

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "necroscope"
AXE = CACHE / "web-tests/node_modules/axe-core/axe.min.js"
SERIOUS = ("serious", "critical")
RUN = "() => axe.run(document, {resultTypes: ['violations']}).then(found => found.violations)"
pytestmark = pytest.mark.skipif(
    not AXE.is_file(), reason="axe-core is not in ~/.cache/necroscope/web-tests: scripts/node-packages"
)

SIZES = {"desk": DESKTOP, "phone": PHONE}


def require_nothing_serious(page: Page) -> None:
    """Fail with what axe-core holds against a page, and the elements it means."""
    page.evaluate(AXE.read_text())
    found: list[dict[str, Any]] = page.evaluate(RUN)
    issues = [
        f"{one['impact']}: {one['id']}: {one['help']}: {node['html'][:200]}"
        for one in found
        if one["impact"] in SERIOUS
        for node in one["nodes"]
    ]
    assert not issues, "\n".join(issues)


def _open_overview(page: Page, address: str) -> None:
    page.goto(address)
    wait_for_overview(page)


def _open_moment(page: Page, address: str) -> None:
    _open_overview(page, address)
    page.get_by_role("link", name="Open the moment").click()
    wait_for_moment(page)


def _open_culprit(page: Page, address: str) -> None:
    _open_moment(page, address)
    culprits(page).get_by_role("button").first.click()
    page.get_by_role("button", name="Top functions").click()
    page.get_by_role("region", name="Top functions").wait_for()


def _open_diagnosis(page: Page, address: str) -> None:
    page.goto(f"{address}#diagnosis")
    wait_for_diagnosis(page)


def _open_live(page: Page, address: str) -> None:
    page.goto(f"{address}#live")
    wait_for_live(page)


def _open_unknown_host(page: Page, address: str) -> None:
    page.goto(f"{address}#overview?host=nobody")
    page.get_by_role("heading", name="No such host in the store").wait_for()


VIEWS: dict[str, Callable[[Page, str], None]] = {
    "overview": _open_overview,
    "moment": _open_moment,
    "culprit": _open_culprit,
    "diagnosis": _open_diagnosis,
    "live": _open_live,
    "unknown-host": _open_unknown_host,
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_serious(
    server: Served, browser: Browser, view: str, colours: str, size: str
) -> None:
    with tab(browser, viewport=SIZES[size], color_scheme=colours, has_touch=size == "phone") as opened:
        VIEWS[view](opened.page, server.address)
        keep_picture(opened.page, f"axe-{view}-{colours}-{size}")
        require_nothing_serious(opened.page)
        assert is_not_cut_off(opened.page)


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing_serious_in_the_token_form(
    incident: Path, browser: Browser, tmp_path: Path, colours: str
) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)
    with (
        served(incident, "--token-file", str(file)) as running,
        tab(browser, quiet=False, color_scheme=colours) as opened,
    ):
        opened.page.goto(running.address)
        opened.page.get_by_role("heading", name="A token is needed").wait_for()
        require_nothing_serious(opened.page)


def is_not_cut_off(page: Page) -> bool:
    """Nobody has to scroll sideways."""
    root = "document.documentElement"
    return bool(page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth"))

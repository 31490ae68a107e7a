from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.server.served import Served, served
from tests.web.browsing import Tab, chromium, tab
from tests.web.fleets import make_place
from tests.web.recorded import incident_store


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One browser for all tests; each has a context of its own."""
    with chromium() as launched:
        yield launched


@pytest.fixture(scope="package")
def incident(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a recorded real incident."""
    return incident_store(tmp_path_factory.mktemp("incident"))


@pytest.fixture(scope="package")
def server(incident: Path) -> Iterator[Served]:
    """The page of the incident."""
    with served(incident) as running:
        yield running


@pytest.fixture(scope="package")
def fleet_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The page of a generated fleet, beside an empty store."""
    pytest.importorskip("duckdb", reason="make fleet")
    folder = tmp_path_factory.mktemp("fleet")
    place = make_place(folder)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("NECROSCOPE_FLEET_CACHE", str(folder / "cache/tables"))
        with served(folder / "store", "--fleet", str(place)) as running:
            yield running


@pytest.fixture
def open_tab(server: Served, browser: Browser) -> Iterator[Tab]:
    """A new page, on which nothing may go wrong."""
    with tab(browser) as opened:
        yield opened

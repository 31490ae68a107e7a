"""Puts the server together: the questions, the page, and the layers that each request has to pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from fastapi import FastAPI
from starlette.types import ASGIApp

from necroscope.server.cancel_on_disconnect import CancelOnDisconnect
from necroscope.server.failures import Failures, add_failures
from necroscope.server.one_file.page_file import STATIC
from necroscope.server.openapi import add_document, new_app
from necroscope.server.origin_policy import Names, OriginPolicy
from necroscope.server.questions.failure import folder_of
from necroscope.server.questions.recorded_store import RecordedStore
from necroscope.server.read_ahead import begin_reading
from necroscope.server.request_limits import RequestLimits
from necroscope.server.routes import add_routes
from necroscope.server.session import Sessions, TokenWanted
from necroscope.server.static import StaticPage
from necroscope.server.work import Work


@dataclass(frozen=True, slots=True)
class Settings:
    """What is served, to whom."""

    store: Path
    names: Names
    token: str = field(default="", repr=False)  # empty: everybody on this machine may ask
    is_secure: bool = False  # the browser speaks TLS, to us or to a proxy
    static: Path = STATIC
    fleet: str = ""  # the address of a place; empty: only the store is served


def build_app(settings: Settings) -> ASGIApp:
    """The whole server as one ASGI app."""
    routes = new_app()
    store, work = RecordedStore(settings.store), Work()
    add_routes(routes, store, work, has_fleet=bool(settings.fleet))
    begin_reading(store, work)
    if settings.fleet:
        _add_fleet(routes, store, settings.fleet)
    return layered(routes, settings)


def _add_fleet(routes: FastAPI, store: RecordedStore, address: str) -> None:
    # Imported here: a server without a fleet is none the slower.
    from necroscope.server.fleet_read_ahead import begin_reading_fleet
    from necroscope.server.fleet_routes import add_fleet_routes, fleet_work
    from necroscope.server.questions.fleet.fleet_store import FleetStore

    fleet, work = FleetStore(address, store), fleet_work()
    add_fleet_routes(routes, fleet, work)
    begin_reading_fleet(fleet, work)


def layered(routes: FastAPI, settings: Settings) -> ASGIApp:
    """The routes with the page beside them, behind everything that a request has to pass."""
    add_failures(routes, (settings.store, *folder_of(settings.fleet)))
    add_document(routes)
    routes.mount("/", StaticPage(settings.static))
    app: ASGIApp = CancelOnDisconnect(routes)
    if settings.token:
        sessions = Sessions(settings.names.port, is_secure=settings.is_secure)
        app = TokenWanted(app, settings.token, sessions, is_behind_proxy=settings.names.is_behind_proxy)
    return OriginPolicy(Failures(RequestLimits(app)), settings.names)

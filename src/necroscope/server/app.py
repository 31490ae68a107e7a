"""Puts the server together."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.types import ASGIApp

from necroscope.server.layers import Settings, layered
from necroscope.server.openapi import new_app
from necroscope.server.read_ahead import begin_reading
from necroscope.server.recorded_store import RecordedStore
from necroscope.server.routes import add_routes
from necroscope.server.work import Work


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
    from necroscope.server.fleet_store import FleetStore

    fleet, work = FleetStore(address, store), fleet_work()
    add_fleet_routes(routes, fleet, work)
    begin_reading_fleet(fleet, work)

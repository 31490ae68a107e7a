"""Puts the server together."""

from __future__ import annotations

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
    add_routes(routes, store, work)
    begin_reading(store, work)
    return layered(routes, settings)

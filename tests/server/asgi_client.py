"""Asks an ASGI app without a network, with exactly the headers that a test wants."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Scope

from necroscope.server.app import Settings, layered
from necroscope.server.openapi import new_app
from necroscope.server.origin_policy import names_of

HOST = ("Host", "127.0.0.1:8420")
TOKEN = "a-token-of-more-than-24-characters"


@dataclass
class Told:
    """What came back."""

    status: int = 0
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name.lower()), "")

    @property
    def error(self) -> dict[str, str]:
        error: dict[str, str] = json.loads(self.body)["error"]
        return error


def ask(
    app: ASGIApp,
    target: str = "/api/ping",
    headers: Iterable[tuple[str, str]] = (HOST,),
    method: str = "GET",
    body: Sequence[bytes] = (b"",),
    **scope: Any,
) -> Told:
    """One request, and its answer."""
    return asyncio.run(asked(app, target, headers, method, body, **scope))


async def asked(
    app: ASGIApp,
    target: str = "/api/ping",
    headers: Iterable[tuple[str, str]] = (HOST,),
    method: str = "GET",
    body: Sequence[bytes] = (b"",),
    **more: Any,
) -> Told:
    told, pieces = Told(), list(body)

    async def receive() -> Message:
        if not pieces:
            await asyncio.Event().wait()  # the client stays
        piece = pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            told.status = message["status"]
            told.headers = [(k.decode().lower(), v.decode()) for k, v in message["headers"]]
        else:
            told.body += message.get("body", b"")

    await app({**scope_of(target, headers, method), **more}, receive, send)
    return told


def scope_of(target: str, headers: Iterable[tuple[str, str]], method: str) -> Scope:
    path, _, query = target.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8420),
    }


def app_with(routes: FastAPI | None = None, **settings: Any) -> ASGIApp:
    """The layers around a few routes; /api/ping answers pong."""
    app = routes or new_app()

    @app.get("/api/ping")
    async def ping(count: int = 1) -> str:
        return "pong" * count

    names = settings.pop("names", None) or names_of(8420, [], loopback=True, is_behind_proxy=False)
    folder = settings.pop("static", Path("/nonexistent"))
    return layered(app, Settings(Path("/nonexistent"), names, static=folder, **settings))

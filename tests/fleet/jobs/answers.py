"""Answers of a real Ray cluster (ray-2.60/README.md), and a server that gives them, or worse."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

FOLDER = Path(__file__).parent / "ray-2.60"
TOKEN = "correct-horse"


@dataclass(frozen=True, slots=True)
class Said:
    """What a server says to a request."""

    content: bytes
    status: int = 200
    kind: str = "application/json; charset=utf-8"
    announced: int | None = None  # bytes, if not as many as there are
    location: str = ""


@dataclass(slots=True)
class Server:
    """One at work."""

    address: str
    asked: list[tuple[str, str]] = field(default_factory=list)  # path and token


def recorded(name: str) -> Any:
    """What the real cluster said."""
    return json.loads((FOLDER / name).read_text())


def as_recorded(path: str) -> Said:
    """What the real cluster said to a path."""
    parts = urlsplit(path)
    name = {
        "/api/jobs/": "jobs.json",
        "/api/v0/nodes": "nodes.json",
        "/nodes": "summary.json",
    }.get(parts.path, "")
    if parts.path.startswith("/api/v0/") and not name:
        job = parse_qs(parts.query)["filter_values"][0]
        name = f"{parts.path.rpartition('/')[2]}-{job}.json"
    if parts.path.endswith("/logs"):
        name = f"logs-{parts.path.split('/')[-2]}.json"
    path_of = FOLDER / name
    if not name or not path_of.is_file():
        return Said(b"404: Not Found", 404, "text/plain; charset=utf-8")
    return Said(path_of.read_bytes())


@contextmanager
def serving(say: Callable[[str], Said] = as_recorded, token: str = "") -> Iterator[Server]:
    """Serve on a free port of this machine; with a token, as Ray does with one."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            given = self.headers.get("Authorization", "")
            server.asked.append((self.path, given))
            said = say(self.path)
            if token and not given:
                said = Said(b"Unauthorized: Missing authentication token", 401, "text/plain")
            elif token and given != f"Bearer {token}":
                said = Said(b"Forbidden: Invalid authentication token", 403, "text/plain")
            self.send_response(said.status)
            self.send_header("Content-Type", said.kind)
            self.send_header("Content-Length", str(said.announced or len(said.content)))
            if said.location:
                self.send_header("Location", said.location)
            self.end_headers()
            self.wfile.write(said.content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server = Server(f"http://127.0.0.1:{http.server_address[1]}")
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()

"""The built page. All files are read at the start, so no path of a client ever reaches the file system."""

from __future__ import annotations

import hashlib
import mimetypes
import re
from dataclasses import dataclass
from pathlib import Path

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from necroscope.errors import UsageError
from necroscope.server.failures import refusal
from necroscope.server.one_file.page_file import STATIC

NOT_BUILT = "page not built: make web\n"
HASHED = re.compile(r"-[\w-]{8,}\.\w+$")  # index-BxG3f9aZ.js: another content has another name
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file of the page."""

    content: bytes
    media_type: str
    etag: str
    cache_control: str


class StaticPage:
    """Answers / and the files that the page consists of."""

    def __init__(self, folder: Path = STATIC) -> None:
        self._files = read_page(folder)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A file of the page, or that there is none."""
        await self._answer(scope)(scope, receive, send)

    def _answer(self, scope: Scope) -> Response:
        path = scope["path"]
        file = self._files.get("/index.html" if path == "/" else path)
        if file is None and path == "/":
            return Response(NOT_BUILT, 503, media_type="text/plain")
        if file is None:
            return refusal(404, UsageError("there is nothing here", hint="the page is at /"))
        headers = {"ETag": file.etag, "Cache-Control": file.cache_control}
        if file.etag in _known(scope):
            return Response(status_code=304, headers=headers)
        return Response(file.content, 200, headers, file.media_type)


def read_page(folder: Path) -> dict[str, StaticFile]:
    """Every file below a folder by its path in the address; none where the page is not built."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {f"/{path.relative_to(folder).as_posix()}": _read(path) for path in paths}


def _read(path: Path) -> StaticFile:
    content = path.read_bytes()
    media_type = TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    cache = "public, max-age=31536000, immutable" if HASHED.search(path.name) else "no-cache"
    return StaticFile(content, media_type, f'"{hashlib.sha256(content).hexdigest()[:32]}"', cache)


def _known(scope: Scope) -> set[str]:
    """The versions that the browser has."""
    values = [value.decode("latin-1") for name, value in scope["headers"] if name == b"if-none-match"]
    return {tag.strip().removeprefix("W/") for value in values for tag in value.split(",")}

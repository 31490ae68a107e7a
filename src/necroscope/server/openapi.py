"""What can be asked, as an OpenAPI document. The types of the page are made of it: make web-types."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Response

from necroscope import __version__

PATH = "/api/openapi.json"
SESSION = {
    "summary": "Session",
    "description": "The token for a cookie of 12 hours; only where a token is wanted.",
    "operationId": "session",
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["token"],
                    "properties": {"token": {"type": "string"}},
                }
            }
        },
    },
    "responses": {
        "204": {"description": "the cookie is set"},
        "400": {"description": "the body is not understood"},
        "401": {"description": "not the token; answered slowly"},
        "404": {"description": "no token is wanted here"},
        "411": {"description": "a Content-Length is wanted"},
        "413": {"description": "the body is larger than 4 KiB"},
        "429": {"description": "too many wrong tokens"},
    },
}


def new_app() -> FastAPI:
    """An app without routes; its own pages of documentation would load scripts from elsewhere."""
    return FastAPI(
        title="Necroscope",
        version=__version__,
        description="Questions about recordings. Times: microseconds, UTC. Arrays: base64, little-endian.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # Else FastAPI would tell whoever the environment names about every request.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )


def add_document(app: FastAPI) -> None:
    """Have the app describe itself; made once, as it does not change."""

    @app.get(PATH, include_in_schema=False)
    async def openapi() -> Response:
        return Response(json.dumps(document_of(app)), media_type="application/json")


def document_of(app: FastAPI) -> dict[str, Any]:
    """The document of an app, with only the errors that it really gives."""
    document = app.openapi()
    for path in document.get("paths", {}).values():
        for operation in path.values():
            operation["responses"].pop("422", None)  # we answer 400
    for unused in ("HTTPValidationError", "ValidationError"):
        document.get("components", {}).get("schemas", {}).pop(unused, None)
    document.setdefault("paths", {})["/api/session"] = {
        "post": SESSION
    }  # answered before any route, session.py
    return document


def whole_document() -> dict[str, Any]:
    """The document of the server with a fleet, without a store or a place to ask."""
    from necroscope.server.fleet_routes import add_fleet_routes
    from necroscope.server.questions.fleet.fleet_store import FleetStore
    from necroscope.server.questions.recorded_store import RecordedStore
    from necroscope.server.routes import add_routes
    from necroscope.server.work import Work

    app = new_app()
    nowhere = Path("/nonexistent")
    store = RecordedStore(nowhere)
    add_routes(app, store, Work())
    add_fleet_routes(app, FleetStore(str(nowhere), store), Work())
    return document_of(app)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(whole_document(), indent=2) + "\n")

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from opentelemetry.trace import NoOpTracer, Tracer, TracerProvider

from necroscope.server.openapi import whole_document
from tests.server.asgi_client import app_with, ask

QUESTIONS = {
    "hosts",
    "cores",
    "events",
    "zombies",
    "diagnosis",
    "scope",
    "flame",
    "culprit",
    "export",
    "live",
    "fleet",
    "fleet-map",
    "fleet-events",
    "fleet-moment",
    "fleet-where",
    "fleet-next",
    "fleet-culprit",
    "fleet-drift",
    "fleet-jobs",
    "fleet-fixed",
}


def test_every_question_is_described() -> None:
    paths = whole_document()["paths"]
    assert {f"/api/{name}" for name in QUESTIONS | {"session"}} == set(paths)
    assert {path["get"]["operationId"] for path in paths.values() if "get" in path} == QUESTIONS


def test_only_errors_that_there_are() -> None:
    text = json.dumps(whole_document())
    assert "HTTPValidationError" not in text and '"422"' not in text


def test_it_is_served_and_loads_nothing_from_elsewhere() -> None:
    told = ask(app_with(), "/api/openapi.json")
    assert told.status == 200 and "/api/ping" in json.loads(told.body)["paths"]
    assert b"http://" not in told.body and b"https://" not in told.body


def test_nobody_is_told_of_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """FastAPI traces requests as soon as anything in the process, or its environment, sets a tracer."""
    traced: list[object] = []

    class Provider(TracerProvider):
        def get_tracer(self, *arguments: Any, **_: Any) -> Tracer:
            traced.append(arguments)
            return NoOpTracer()

    monkeypatch.setattr("opentelemetry.trace.get_tracer_provider", Provider)
    assert ask(app_with(), "/api/openapi.json").status == 200
    assert traced == []


def test_it_is_printed() -> None:
    command = [sys.executable, "-m", "necroscope.server.openapi"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert json.loads(printed) == whole_document()

"""Questions about a fleet made up from the OpenAPI document: a real server keeps every promise of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from schemathesis import GenerationMode

from tests.server.questions.fleet.known_fleet import SPAN, reset, write_known
from tests.server.served import Served, served
from tests.server.test_schemathesis import ANSWER_SECONDS, AnyCase, ask_round, check, operations

EXAMPLES = 4  # of every question, in each way
LONGEST_SECONDS = 20.0
WORDS = {
    "kind": ["nic-reset", "oom-kill"],
    "label": ["labels/zone", "labels/number"],
    "group": ["a", "b", "unknown", ""],
    "value": ["a", "b"],
    "host": ["host-1", "host-11"],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A known fleet beside an empty store."""
    folder = tmp_path_factory.mktemp("fleet-schemathesis")
    place = write_known(folder / "place", [reset("host-1", 0.5), reset("host-3", 3), reset("host-11", 1)])
    with served(folder / "store", "--fleet", str(place)) as one:
        yield one
        assert "Traceback" not in one.said()


def narrowed(document: dict[str, Any]) -> dict[str, Any]:
    """The questions about the fleet, of times and names that there are."""
    paths = {path: item for path, item in document["paths"].items() if path.startswith("/api/fleet")}
    for item in paths.values():
        for parameter in item["get"].get("parameters", []):
            name, schema = parameter["name"], parameter["schema"]
            if name in ("begin_us", "end_us"):
                late_us = 2 * 3600 * 10**6 if name == "end_us" else 0
                schema |= {"minimum": SPAN.begin_us + late_us, "maximum": SPAN.begin_us + late_us + 10**9}
            elif name == "kind":
                schema["anyOf"][0]["items"]["enum"] = WORDS["kind"]
            elif name in WORDS:
                schema["enum"] = WORDS[name]
    return {**document, "paths": paths}


@pytest.mark.servers  # it takes about ten seconds
def test_what_is_promised_about_a_fleet_is_kept(server: Served) -> None:
    address = server.address.rstrip("/")
    document = requests.get(f"{address}/api/openapi.json", timeout=ANSWER_SECONDS).json()
    deadline = time.monotonic() + LONGEST_SECONDS
    seen: set[tuple[str, int]] = set()
    with requests.Session() as session:

        def asking(case: AnyCase) -> None:
            seen.add((case.operation.label, check(case, session, address)))

        for operation in operations(narrowed(document)):
            for mode in GenerationMode:
                can_be = operation.query or mode is GenerationMode.POSITIVE
                if can_be and time.monotonic() < deadline:
                    ask_round(operation.as_strategy(generation_mode=mode), 1, EXAMPLES, asking)
    assert {status for _, status in seen} >= {200, 400}, sorted(seen)
    assert len({label for label, status in seen if status == 200}) >= 8, sorted(seen)

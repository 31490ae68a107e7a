"""Questions made up from the OpenAPI document: a real server keeps every promise of it."""

from __future__ import annotations

import copy
import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.checks import (
    CheckFunction,
    content_type_conformance,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.core.result import Ok

from necroscope.server.openapi import whole_document
from tests.server.questions.recorded_incident import RESET, incident_moments
from tests.server.questions.sampled_store import BEGIN_US, sampled_store
from tests.server.served import Served, served
from tests.stored import HOST, sealed_segment

AnyCase: TypeAlias = Case[Any]
AnyOperation: TypeAlias = APIOperation[Any, Any, Any, Any]
OTHER_HOST = "node-18"
SECOND_US = 1_000_000
SHORT_EXAMPLES = 5  # of every question, in each way
SHORT_SECONDS = 120.0  # a limit for a busy machine: it takes 15 s
LONG_EXAMPLES = 60
LONG_SECONDS = 300.0
ANSWER_SECONDS = 20.0
CHECKS: list[CheckFunction] = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Samples of one host; counters, zombies and a reset of another."""
    root = tmp_path_factory.mktemp("schemathesis") / "store"
    sampled_store(root)
    sealed_segment(root, incident_moments(), [RESET], host=OTHER_HOST)
    with served(root) as one:
        yield one
        assert "Traceback" not in one.said()


def known(document: dict[str, Any]) -> dict[str, Any]:
    """The same document, of hosts and times that there are: else nearly all questions find nothing."""
    narrow = copy.deepcopy(document)
    for path in narrow["paths"].values():
        for parameter in path.get("get", {}).get("parameters", []):
            if parameter["name"] == "host":
                parameter["schema"]["enum"] = [HOST, OTHER_HOST]
            elif parameter["name"] in ("begin_us", "end_us", "since_us"):
                late_us = 50 * SECOND_US if parameter["name"] == "end_us" else 0
                parameter["schema"]["minimum"] = BEGIN_US + late_us - SECOND_US
                parameter["schema"]["maximum"] = BEGIN_US + late_us + 45 * SECOND_US
    return narrow


def operations(document: dict[str, Any]) -> list[AnyOperation]:
    """All questions of a document; one that is not understood is an error."""
    found = []
    for result in schemathesis.openapi.from_dict(document).get_all_operations():
        assert isinstance(result, Ok), result
        found.append(result.ok())
    return found


def check(case: AnyCase, session: requests.Session, address: str) -> int:
    """Ask, and see that the answer is one that was promised."""
    response = case.call(base_url=address, session=session, timeout=ANSWER_SECONDS)
    checks = CHECKS if response.status_code == 503 else [*CHECKS, not_a_server_error]
    case.validate_response(response, checks=checks)
    return response.status_code


def ask_round(
    cases: SearchStrategy[AnyCase], number: int, examples: int, asking: Callable[[AnyCase], None]
) -> None:
    """Some cases, the same for the same number. A failure is told as it is: to shrink it takes minutes."""
    limits = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    seed(number)(limits(given(case=cases)(asking)))()


def can_be(label: str, mode: GenerationMode) -> bool:
    """A question without parameters cannot be asked wrongly."""
    return not (label == "GET /api/hosts" and mode is GenerationMode.NEGATIVE)


def fuzz(server: Served, number: int, examples: int, deadline: float) -> set[tuple[str, int]]:
    """A round over all questions, as promised and otherwise; which answers there were."""
    address = server.address.rstrip("/")
    document = requests.get(f"{address}/api/openapi.json", timeout=ANSWER_SECONDS).json()
    seen: set[tuple[str, int]] = set()
    with requests.Session() as session:

        def asking(case: AnyCase) -> None:
            seen.add((case.operation.label, check(case, session, address)))

        for described in (known(document), document):
            for operation in operations(described):
                for mode in GenerationMode:
                    if time.monotonic() < deadline and can_be(operation.label, mode):
                        ask_round(operation.as_strategy(generation_mode=mode), number, examples, asking)
    return seen


def test_what_is_promised_is_kept(server: Served) -> None:
    seen = fuzz(server, 1, SHORT_EXAMPLES, time.monotonic() + SHORT_SECONDS)
    assert len({label for label, _ in seen}) == 11, sorted(seen)
    assert {status for _, status in seen} >= {200, 400, 404}


@pytest.mark.long
def test_what_is_promised_is_kept_for_minutes(server: Served) -> None:
    deadline = time.monotonic() + LONG_SECONDS
    for number in itertools.count(2):
        if time.monotonic() > deadline:
            break
        fuzz(server, number, LONG_EXAMPLES, deadline)


def test_plain_questions_are_answered(server: Served) -> None:
    """Else all that is made up above might be answered by 404."""
    address = server.address.rstrip("/")
    span = {"begin_us": BEGIN_US, "end_us": BEGIN_US + 40 * SECOND_US}
    with requests.Session() as session:
        for operation in operations(whole_document()):
            if operation.method == "get" and not operation.path.startswith("/api/fleet"):  # none is served
                names = {parameter.name for parameter in operation.query}
                query = {name: value for name, value in {"host": HOST, **span}.items() if name in names}
                assert check(operation.Case(query=query), session, address) == 200, operation.label


def test_the_checks_can_fail(tmp_path: Path) -> None:
    with served(tmp_path) as empty:
        document = known(requests.get(f"{empty.address}api/openapi.json", timeout=ANSWER_SECONDS).json())
        del document["paths"]["/api/cores"]["get"]["responses"]["404"]
        operation = schemathesis.openapi.from_dict(document)["/api/cores"]["GET"]
        case = operation.Case(query={"host": HOST, "begin_us": BEGIN_US, "end_us": BEGIN_US + 1})
        with requests.Session() as session, pytest.raises(BaseExceptionGroup):
            check(case, session, empty.address.rstrip("/"))

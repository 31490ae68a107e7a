"""The questions about a fleet as routes. What they need is imported when the first is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Query, Response

from necroscope.fleet.packages import needs_packages
from necroscope.server.questions.failure import Failed
from necroscope.server.questions.fleet.fleet_answers import (
    Fleet,
    FleetCulprits,
    FleetDrift,
    FleetEvents,
    FleetFixed,
    FleetJobs,
    FleetMap,
    FleetMoment,
    FleetNext,
    FleetWhere,
)
from necroscope.server.questions.fleet.fleet_span import FleetSpan
from necroscope.server.questions.fleet.fleet_store import FleetStore
from necroscope.server.questions.selection import LATEST_US
from necroscope.server.routes import ERRORS, AskedRange, Columns, encoded
from necroscope.server.work import Work

LONGEST_LABEL = 1024
MOST_KINDS = 16
AT_ONCE, MOST_WAITING = 2, 16  # beside the questions about hosts, which do not wait for these

Moment = Annotated[int, Query(ge=0, le=LATEST_US, description="microseconds, UTC")]
Kind = Annotated[str, Query(max_length=64)]
Kinds = Annotated[list[Kind] | None, Query(max_length=MOST_KINDS)]
Label = Annotated[str, Query(max_length=LONGEST_LABEL, description="section/name, as labels/zone")]
Value = Annotated[str, Query(max_length=LONGEST_LABEL)]

FLEET_ERRORS: dict[int | str, dict[str, Any]] = {
    **ERRORS,
    501: {"model": Failed, "description": "a package is not installed"},
    502: {"model": Failed, "description": "the fleet's place cannot be used"},
}
# What a range and kinds of events are asked about, and the answers.
OF_A_SPAN: dict[str, type] = {
    "fleet-where": FleetWhere,
    "fleet-culprit": FleetCulprits,
    "fleet-drift": FleetDrift,
    "fleet-next": FleetNext,
    "fleet-jobs": FleetJobs,
}


async def asked_span(begin_us: Moment, end_us: Moment, kind: Kinds = None) -> FleetSpan:
    """Which events of which time."""
    return FleetSpan(begin_us, end_us, tuple(dict.fromkeys(kind or ("nic-reset",))))


AskedSpan = Annotated[FleetSpan, Depends(asked_span)]


@dataclass(frozen=True, slots=True)
class _Desk:
    """Where questions about the fleet are asked."""

    fleet: FleetStore
    work: Work

    async def ask(self, question: Callable[[FleetStore], Any]) -> Response:
        content = await self.work.ask(lambda: self._answer(question))
        return Response(content, media_type="application/json")

    def _answer(self, question: Callable[[FleetStore], Any]) -> bytes:
        with needs_packages():
            return encoded(question(self.fleet))


def fleet_work() -> Work:
    """Threads for the fleet alone."""
    return Work(AT_ONCE, MOST_WAITING)


def add_fleet_routes(app: FastAPI, fleet: FleetStore, work: Work) -> None:
    """All questions about the fleet, below /api."""
    desk = _Desk(fleet, work)
    _add_what_there_is(app, desk)
    for name, kind in OF_A_SPAN.items():
        _add_question_of_a_span(app, desk, name, kind)
    _add_rollout(app, desk)


def _add_what_there_is(app: FastAPI, desk: _Desk) -> None:
    @app.get("/api/fleet", operation_id="fleet", response_model=Fleet, responses=FLEET_ERRORS)
    async def fleet() -> Response:
        def question(store: FleetStore) -> Fleet:
            from necroscope.server.questions.fleet.fleet import ask_fleet

            return ask_fleet(store)

        return await desk.ask(question)

    @app.get("/api/fleet-map", operation_id="fleet-map", response_model=FleetMap, responses=FLEET_ERRORS)
    async def fleet_map(asked: AskedSpan, label: Label = "labels/zone", columns: Columns = 168) -> Response:
        def question(store: FleetStore) -> FleetMap:
            from necroscope.server.questions.fleet.fleet_map import ask_fleet_map

            return ask_fleet_map(store, asked, label, columns)

        return await desk.ask(question)

    @app.get(
        "/api/fleet-events", operation_id="fleet-events", response_model=FleetEvents, responses=FLEET_ERRORS
    )
    async def fleet_events(asked: AskedSpan, label: Label = "labels/zone", group: Value = "") -> Response:
        def question(store: FleetStore) -> FleetEvents:
            from necroscope.server.questions.fleet.fleet_events import ask_fleet_events

            return ask_fleet_events(store, asked, label, group)

        return await desk.ask(question)

    @app.get(
        "/api/fleet-moment", operation_id="fleet-moment", response_model=FleetMoment, responses=FLEET_ERRORS
    )
    async def fleet_moment(asked: AskedRange) -> Response:
        def question(store: FleetStore) -> FleetMoment:
            from necroscope.server.questions.fleet.fleet_moment import ask_fleet_moment

            return ask_fleet_moment(store, asked)

        return await desk.ask(question)


def _add_question_of_a_span(app: FastAPI, desk: _Desk, name: str, kind: type) -> None:
    summary = name.replace("-", " ").title()

    @app.get(f"/api/{name}", operation_id=name, summary=summary, response_model=kind, responses=FLEET_ERRORS)
    async def of_a_span(asked: AskedSpan) -> Response:
        def question(store: FleetStore) -> Any:
            from necroscope.server.questions.fleet import verbs

            return verbs.OF_A_SPAN[name](store, asked)

        return await desk.ask(question)


def _add_rollout(app: FastAPI, desk: _Desk) -> None:
    @app.get(
        "/api/fleet-fixed", operation_id="fleet-fixed", response_model=FleetFixed, responses=FLEET_ERRORS
    )
    async def fleet_fixed(asked: AskedSpan, label: Label, value: Value) -> Response:
        def question(store: FleetStore) -> FleetFixed:
            from necroscope.server.questions.fleet.verbs import ask_fleet_fixed

            return ask_fleet_fixed(store, asked, label, value)

        return await desk.ask(question)

"""The questions about a fleet as routes. What they need is imported when the first is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Query, Response

from necroscope.fleet.packages import needs_packages
from necroscope.server.fleet_span import FleetSpan
from necroscope.server.fleet_store import FleetStore
from necroscope.server.questions.failure import Failed
from necroscope.server.questions.fleet_answers import (
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
    _add_questions_about_events(app, desk)
    _add_questions_of_their_own(app, desk)


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


def _add_questions_about_events(app: FastAPI, desk: _Desk) -> None:
    @app.get(
        "/api/fleet-where", operation_id="fleet-where", response_model=FleetWhere, responses=FLEET_ERRORS
    )
    async def fleet_where(asked: AskedSpan) -> Response:
        def question(store: FleetStore) -> FleetWhere:
            from necroscope.server.questions.fleet.fleet_where import ask_fleet_where

            return ask_fleet_where(store, asked)

        return await desk.ask(question)

    @app.get(
        "/api/fleet-culprit",
        operation_id="fleet-culprit",
        response_model=FleetCulprits,
        responses=FLEET_ERRORS,
    )
    async def fleet_culprit(asked: AskedSpan) -> Response:
        def question(store: FleetStore) -> FleetCulprits:
            from necroscope.server.questions.fleet.fleet_culprit import ask_fleet_culprit

            return ask_fleet_culprit(store, asked)

        return await desk.ask(question)

    @app.get(
        "/api/fleet-drift", operation_id="fleet-drift", response_model=FleetDrift, responses=FLEET_ERRORS
    )
    async def fleet_drift(asked: AskedSpan) -> Response:
        def question(store: FleetStore) -> FleetDrift:
            from necroscope.server.questions.fleet.fleet_drift import ask_fleet_drift

            return ask_fleet_drift(store, asked)

        return await desk.ask(question)


def _add_questions_of_their_own(app: FastAPI, desk: _Desk) -> None:
    @app.get("/api/fleet-next", operation_id="fleet-next", response_model=FleetNext, responses=FLEET_ERRORS)
    async def fleet_next(asked: AskedSpan) -> Response:
        def question(store: FleetStore) -> FleetNext:
            from necroscope.server.questions.fleet.fleet_next import ask_fleet_next

            return ask_fleet_next(store, asked)

        return await desk.ask(question)

    @app.get("/api/fleet-jobs", operation_id="fleet-jobs", response_model=FleetJobs, responses=FLEET_ERRORS)
    async def fleet_jobs(asked: AskedSpan) -> Response:
        def question(store: FleetStore) -> FleetJobs:
            from necroscope.server.questions.fleet.fleet_jobs import ask_fleet_jobs

            return ask_fleet_jobs(store, asked)

        return await desk.ask(question)

    @app.get(
        "/api/fleet-fixed", operation_id="fleet-fixed", response_model=FleetFixed, responses=FLEET_ERRORS
    )
    async def fleet_fixed(asked: AskedSpan, label: Label, value: Value) -> Response:
        def question(store: FleetStore) -> FleetFixed:
            from necroscope.server.questions.fleet.fleet_fixed import ask_fleet_fixed

            return ask_fleet_fixed(store, asked, label, value)

        return await desk.ask(question)

"""The questions as routes: parameters, the question, the answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, Query, Response
from pydantic import BeforeValidator, TypeAdapter
from pydantic_core import PydanticSerializationError

from necroscope.model.visible_text import visible_json
from necroscope.server.export import ask_export
from necroscope.server.questions.cores import Cores, ask_cores
from necroscope.server.questions.culprit import Culprits, ask_culprit
from necroscope.server.questions.diagnosis import ask_diagnosis
from necroscope.server.questions.events import Events, ask_events
from necroscope.server.questions.explained import Explained
from necroscope.server.questions.failure import Failed
from necroscope.server.questions.flame import Flame, ask_flame
from necroscope.server.questions.hosts import Hosts, ask_hosts
from necroscope.server.questions.live import Live, ask_live
from necroscope.server.questions.recorded_store import RecordedStore
from necroscope.server.questions.scope import Scope, ask_scope
from necroscope.server.questions.selection import (
    LATEST_US,
    LONGEST_NAME,
    LONGEST_SEARCH,
    MOST_NAMES,
    By,
    Filters,
    Format,
    Range,
    Tree,
)
from necroscope.server.questions.zombies import Zombies, ask_zombies
from necroscope.server.work import Work

MOST_COLUMNS = 4096
MOST_CPUS = 4096

Host = Annotated[str, Query(max_length=LONGEST_NAME, description="a name from /api/hosts")]
Moment = Annotated[int, Query(ge=0, le=LATEST_US, description="microseconds, UTC")]
Columns = Annotated[int, Query(ge=1, le=MOST_COLUMNS)]
Name = Annotated[str, Query(max_length=LONGEST_NAME)]
Names = Annotated[list[Name] | None, Query(max_length=MOST_NAMES)]
Cpu = Annotated[int, Query(ge=0, le=65_535)]
Cpus = Annotated[list[Cpu] | None, Query(max_length=MOST_CPUS)]
Text = Annotated[str, Query(max_length=LONGEST_SEARCH)]
# Without the validator a number in an address stays a text, which equals none of these.
Rows = Annotated[
    Literal[10, 20, 25, 50, 100], BeforeValidator(lambda text: int(text) if text.isdigit() else text)
]
Against = Annotated[str, Query(max_length=64, description="empty, `quiet`, or BEGIN_US..END_US")]

ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": Failed, "description": "the question cannot be understood"},
    401: {"model": Failed, "description": "a token is wanted"},
    403: {"model": Failed, "description": "not permitted, or a foreign Host or Origin"},
    404: {"model": Failed, "description": "nothing is recorded there"},
    414: {"model": Failed, "description": "the address is too long"},
    431: {"model": Failed, "description": "the headers are too large"},
    500: {"model": Failed, "description": "our fault"},
    503: {"model": Failed, "description": "busy; ask again later"},
}


# These are `async` although they await nothing: FastAPI runs others in a pool of 40 threads.
async def asked_range(host: Host, begin_us: Moment, end_us: Moment) -> Range:
    """Which time a question is about."""
    return Range(host, begin_us, end_us)


async def asked_filters(  # noqa: PLR0913 - these are the parameters of the address
    *,
    cpu: Cpus = None,
    process: Names = None,
    thread: Names = None,
    event: Names = None,
    idle: bool = False,
    search: Text = "",
    regexp: bool = False,
    only_matching: bool = False,
) -> Filters:
    """Which samples count."""
    return Filters(
        cpus=tuple(cpu or ()),
        processes=tuple(process or ()),
        threads=tuple(thread or ()),
        events=tuple(event or ()),
        idle=idle,
        search=search,
        regexp=regexp,
        only_matching=only_matching,
    )


async def asked_tree(*, by: By = "comm", inverted: bool = False, against: Against = "") -> Tree:
    """How a tree of stacks is made."""
    return Tree(by, inverted, against)


AskedRange = Annotated[Range, Depends(asked_range)]
AskedFilters = Annotated[Filters, Depends(asked_filters)]
AskedTree = Annotated[Tree, Depends(asked_tree)]


ADAPTERS: dict[type, TypeAdapter[Any]] = {}  # what writes answers of a kind


def encoded(answer: object) -> bytes:
    """An answer as JSON; in the thread of the question, since a large one takes a while."""
    kind = type(answer)
    adapter = ADAPTERS.get(kind) or ADAPTERS.setdefault(kind, TypeAdapter(kind))
    try:
        return visible_json(adapter.dump_json(answer))
    except PydanticSerializationError:  # half a character in a name: JSON can write it as an escape
        return visible_json(json.dumps(adapter.dump_python(answer)).encode())


@dataclass(frozen=True, slots=True)
class _Desk:
    """Where questions are asked."""

    store: RecordedStore
    work: Work

    async def ask(self, question: Callable[[RecordedStore], Any]) -> Response:
        content = await self.work.ask(lambda: encoded(question(self.store)))
        return Response(content, media_type="application/json")


def add_routes(app: FastAPI, store: RecordedStore, work: Work, *, has_fleet: bool = False) -> None:
    """All questions about hosts, below /api; there may be some about a fleet beside them."""
    desk = _Desk(store, work)

    @app.get("/api/hosts", operation_id="hosts", response_model=Hosts, responses=ERRORS)
    async def hosts() -> Response:
        return await desk.ask(lambda store: ask_hosts(store, has_fleet=has_fleet))

    _add_questions_about_a_range(app, desk)
    _add_questions_about_samples(app, desk)


def _add_questions_about_a_range(app: FastAPI, desk: _Desk) -> None:
    @app.get("/api/cores", operation_id="cores", response_model=Cores, responses=ERRORS)
    async def cores(asked: AskedRange, columns: Columns = 1024) -> Response:
        return await desk.ask(lambda store: ask_cores(store, asked, columns))

    @app.get("/api/events", operation_id="events", response_model=Events, responses=ERRORS)
    async def events(asked: AskedRange, kind: Names = None) -> Response:
        return await desk.ask(lambda store: ask_events(store, asked, tuple(kind or ())))

    @app.get("/api/zombies", operation_id="zombies", response_model=Zombies, responses=ERRORS)
    async def zombies(asked: AskedRange, columns: Columns = 1024) -> Response:
        return await desk.ask(lambda store: ask_zombies(store, asked, columns))

    @app.get("/api/diagnosis", operation_id="diagnosis", response_model=Explained, responses=ERRORS)
    async def diagnosis(asked: AskedRange) -> Response:
        return await desk.ask(lambda store: ask_diagnosis(store, asked))

    @app.get("/api/live", operation_id="live", response_model=Live, responses=ERRORS)
    async def live(host: Host, since_us: Moment = 0) -> Response:
        return await desk.ask(lambda store: ask_live(store, host, since_us))


def _add_questions_about_samples(app: FastAPI, desk: _Desk) -> None:
    @app.get("/api/scope", operation_id="scope", response_model=Scope, responses=ERRORS)
    async def scope(asked: AskedRange, filters: AskedFilters, rows: Rows = 50) -> Response:
        return await desk.ask(lambda store: ask_scope(store, asked, filters, rows))

    @app.get("/api/flame", operation_id="flame", response_model=Flame, responses=ERRORS)
    async def flame(asked: AskedRange, filters: AskedFilters, tree: AskedTree) -> Response:
        return await desk.ask(lambda store: ask_flame(store, asked, filters, tree))

    @app.get("/api/culprit", operation_id="culprit", response_model=Culprits, responses=ERRORS)
    async def culprit(asked: AskedRange, filters: AskedFilters) -> Response:
        return await desk.ask(lambda store: ask_culprit(store, asked, filters))

    @app.get("/api/export", operation_id="export", response_class=Response, responses={**ERRORS, 200: A_FILE})
    async def export(
        asked: AskedRange, filters: AskedFilters, tree: AskedTree, format: Format = "svg"
    ) -> Response:
        file = await desk.work.ask(lambda: ask_export(desk.store, asked, filters, tree, format))
        disposition = f'attachment; filename="{file.name}"'
        return Response(
            file.content, media_type=file.media_type, headers={"Content-Disposition": disposition}
        )


_TEXT = {"schema": {"type": "string"}}
_BYTES = {"schema": {"type": "string", "format": "binary"}}
A_FILE: dict[str, Any] = {
    "description": "the file, as an attachment",
    "content": {
        "image/svg+xml": _TEXT,
        "text/plain": _TEXT,
        "text/html": _TEXT,
        "application/json": {"schema": {}},
        "application/octet-stream": _BYTES,
    },
}

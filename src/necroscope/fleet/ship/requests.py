"""What a host is asked to send: a range of time, of which it then ships whole segments."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from necroscope.errors import NecroscopeError, PlaceError
from necroscope.fleet.place.canonical import canonical
from necroscope.fleet.place.place import Place
from necroscope.model.timestamp import LATEST_US

SCHEMA = 1
LARGEST_BYTES = 10_000


@dataclass(frozen=True, slots=True)
class Range:
    """From when to when, UTC, and when that was asked."""

    begin_us: int
    end_us: int
    made_us: int


@dataclass(frozen=True, slots=True)
class Request:
    """A range that somebody wants of a host; `name` is that of the object in the place."""

    name: str
    range: Range


def folder_of(host: str) -> str:
    """Where the requests to a host are."""
    return f"hosts/{host}/requests/"


def make_request(place: Place, host: str, asked: Range) -> str:
    """Ask a host; the name of the request comes back. The same again is the same request."""
    name = f"{folder_of(host)}{_stamp(asked.begin_us)}-{_stamp(asked.end_us)}.json"
    place.write(name, canonical({"schema": SCHEMA, **asdict(asked)}))
    return name


def read_requests(place: Place, host: str) -> tuple[list[Request], list[NecroscopeError]]:
    """What a host is asked, and what of it is not understood: it stays there for who wrote it."""
    requests: list[Request] = []
    refused: list[NecroscopeError] = []
    for stored in place.below(folder_of(host)):
        content = place.read(stored.name, LARGEST_BYTES) if stored.bytes <= LARGEST_BYTES else b""
        if content is None:  # taken back meanwhile
            continue
        try:
            requests.append(Request(stored.name, _parsed(content)))
        except (ValueError, KeyError, TypeError, RecursionError):
            hint = "necroscope fleet request HOST -b T -e T makes one; remove this"
            refused.append(PlaceError(f"{stored.name} is not a request", hint=hint))
    return requests, refused


def _parsed(content: bytes) -> Range:
    document = json.loads(content)
    if document["schema"] != SCHEMA:
        raise ValueError("of another version")
    asked = Range(*(_time_us(document[name]) for name in ("begin_us", "end_us", "made_us")))
    if not 0 <= asked.begin_us < asked.end_us:
        raise ValueError("it ends before it begins")
    return asked


def _time_us(value: object) -> int:
    if type(value) is not int or not 0 <= value <= LATEST_US:
        raise ValueError("it is not a time")
    return value


def _stamp(time_us: int) -> str:
    when = datetime.fromtimestamp(time_us // 10**6, UTC)
    return f"{when:%Y%m%dT%H%M%S}.{time_us % 10**6:06d}Z"

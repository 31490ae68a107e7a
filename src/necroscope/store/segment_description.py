"""What segment.json says of a segment: all that is read of it later is looked at once, when it is read.

The fields of these dataclasses are the names in the file. Those that older versions did not write have a
default, and what only a newer version knows is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from necroscope.model.labels import Labels

BOOT_ID = re.compile(r"[\w-]{0,64}", re.ASCII)
FARTHEST_NS = 2**62  # times are 64-bit numbers, and must stay so when an offset is added
Parse = Callable[[str, Any], Any]  # of the name of a part and what stands there


@dataclass(frozen=True, slots=True)
class Clock:
    """How the times of a segment stand to the time of day."""

    offset_ns: int  # add to a time of the segment's clock to get UTC, as it showed when it was recorded
    synchronised: bool | None = None  # whether the wall clock was held to be right; None: not known
    suspended_ns: int = 0


@dataclass(frozen=True, slots=True)
class Recorder:
    """Who wrote a segment."""

    pid: int = 0


@dataclass(frozen=True, slots=True)
class SourceReadings:
    """How often a source was read, and why it gave nothing the last time it did not."""

    readings: int
    absent: int
    reason: str
    cost_ns: int = 0


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of a segment."""

    name: str
    bytes: int | None = None
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class ProfileFacts:
    """What is in a profile, in numbers. None: the capture does not say."""

    samples: int = 0
    stacks: int = 0
    frames: int = 0
    unnamed_frames: int = 0
    events: tuple[str, ...] = ()
    lost_samples: int | None = None
    lost_records: int | None = None
    gaps: tuple[str, ...] = ()
    command: tuple[str, ...] | None = None
    per_core: tuple[tuple[int, ...], ...] = ()  # CPU, samples, first, last, widest gap
    log_clock_error_ns: int | None = None

    @property
    def lost(self) -> int | None:
        """Records that the kernel dropped, samples among them: it counts a dropped sample in both."""
        return max((n for n in (self.lost_samples, self.lost_records) if n is not None), default=None)


@dataclass(frozen=True, slots=True)
class SegmentDescription:
    """A segment, as its own file describes it."""

    state: str
    host: Labels
    begin_ns: int  # UTC
    end_ns: int  # UTC; of an open segment, its begin
    clock: Clock
    recorder: Recorder = Recorder()
    ended: str = ""
    sources: Mapping[str, SourceReadings] = field(default_factory=dict)
    events: Mapping[str, int] | None = None  # None: not known
    kept: int = 0
    profile: ProfileFacts = ProfileFacts()
    no_profile: str = ""  # why there is none
    files: tuple[ListedFile, ...] = ()


def parse_document(text: str) -> dict[str, Any]:
    """Parse the text of segment.json; ValueError or TypeError if it cannot be a description."""
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    if not isinstance(document, dict):
        raise TypeError("it is no object")
    return document


def parse_description(document: Mapping[str, Any]) -> SegmentDescription:
    """Return the description in a document; ValueError, KeyError or TypeError if a part is wrong."""
    described: SegmentDescription = _parser(SegmentDescription)("the description", document)
    clock, host = described.clock, described.host
    is_complete = "hostname" in document["host"] and (
        clock.synchronised is None or "suspended_ns" in document["clock"]
    )
    if not is_complete:
        raise KeyError("the name of the host, or how long it was suspended")
    for time_ns in (described.begin_ns, described.end_ns, clock.offset_ns, clock.suspended_ns):
        if not -FARTHEST_NS <= time_ns <= FARTHEST_NS:
            raise ValueError(f"{time_ns} is no time")
    json.dumps(document["host"], ensure_ascii=False).encode()  # UnicodeEncodeError: half a character
    if not BOOT_ID.fullmatch(host.boot_id):  # the name of a file with symbols
        raise ValueError("boot_id is not that of a boot")
    return described


@cache
def _parser(hint: Any) -> Parse:
    """Return what makes a value of a type out of JSON, or raises an error with the name of the part."""
    if isinstance(hint, UnionType):
        (inner,) = (_parser(part) for part in get_args(hint) if part is not NoneType)
        return lambda name, value: None if value is None else inner(name, value)
    if get_origin(hint) is tuple:
        one = _parser(get_args(hint)[0])
        return lambda name, value: tuple(one(name, item) for item in _is(list, name, value))
    if get_origin(hint) is Mapping:
        one = _parser(get_args(hint)[1])
        return lambda name, value: {key: one(key, item) for key, item in _is(dict, name, value).items()}
    return partial(_is, hint) if hint in {int, str, bool} else _record_parser(hint)


def _record_parser(type_: type[Any]) -> Parse:
    hints = get_type_hints(type_)
    parts = [
        (part.name, _parser(hints[part.name]), part.default is part.default_factory is MISSING)
        for part in fields(type_)
    ]

    def parse(name: str, value: Any) -> Any:
        row = _is(dict, name, value)
        found = {part: inner(part, row[part]) for part, inner, is_needed in parts if is_needed or part in row}
        return type_(**found)

    return parse


def _is(kind: type[Any], name: str, value: Any) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{name} is {type(value).__name__}, not {kind.__name__}")
    return value

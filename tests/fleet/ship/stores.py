"""Stores with sealed segments of one host, and what must have arrived of them."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from necroscope.fleet.place.place import Place
from necroscope.fleet.ship.run import Shipped, ship
from necroscope.fleet.ship.stage import Wish
from necroscope.model.event import Event
from necroscope.signals.thresholds import load_thresholds
from necroscope.store.segment import Moment
from necroscope.store.store import StoredSegment
from tests.stored import HOST, SECOND_NS, anchor_at, event_of, sealed_segment, seconds_of

NOW_NS = (
    time.time_ns() // (60 * SECOND_NS) * 60 * SECOND_NS
)  # of the day of the test: old events are not shipped


def add_segments(
    store: Path, count: int, events: Mapping[int, str] | None = None, *, begin: int = 0, seconds: int = 3
) -> list[StoredSegment]:
    """Segments that follow each other, a minute apart; `events` are kinds by the number of a segment."""
    return [
        add_segment(store, begin + number, (events or {}).get(begin + number, ""), seconds)
        for number in range(count)
    ]


def add_segment(store: Path, number: int, kind: str = "", seconds: int = 3, **more: Any) -> StoredSegment:
    """One segment, an hour and so many minutes... before now."""
    later_ns = number * 60 * SECOND_NS
    moments = [_later(moment, later_ns) for moment in seconds_of(["idle", "system"] * (seconds // 2 + 1))]
    first_ns = moments[0].time_ns
    begin_ns = NOW_NS - 3600 * SECOND_NS + later_ns
    events: Sequence[Event] = ()
    if kind:
        event = event_of(kind, 0.5, sequence=number)
        events = [replace(event, time_ns=event.time_ns + later_ns)]
    return sealed_segment(
        store,
        moments[: seconds + 1],
        events,
        anchor=anchor_at(first_ns, begin_ns - first_ns, synchronised=True),
        **more,
    )


def wish_of(store: Path, **more: Any) -> Wish:
    """What is to be shipped of the host in a store; no facts, which would be those of this machine."""
    standard = Wish(store / HOST, HOST, "events", False, 256 << 20, load_thresholds(Path("/dev/null")), None)
    return replace(standard, **more)


def ship_once(store: Path, place: Place, seconds: float = 600, **more: Any) -> Shipped:
    """One run."""
    return ship(wish_of(store, **more), place, seconds)


def check_objects(objects: Mapping[str, bytes]) -> dict[str, Any]:
    """Every object is what its name says; no name is there with two contents. The parts by name come back."""
    parts: dict[str, Any] = {}
    for key, content in objects.items():
        digest = hashlib.sha256(content).hexdigest()
        _, host, kind, name = key.split("/")
        assert host == HOST
        if kind == "blobs":
            assert name == digest, f"{key} is not whole"
        elif kind == "inbox":
            bare, _, short = name.removesuffix(".json").rpartition("-")
            assert digest.startswith(short), f"{key} is not whole"
            assert bare not in parts, f"{bare} is there twice"
            parts[bare] = json.loads(content)
    _check_blobs(parts, {key.rpartition("/")[2] for key in objects if "/blobs/" in key})
    return parts


def _check_blobs(parts: Mapping[str, Any], blobs: set[str]) -> None:
    """Nothing is named that is not there, and nothing is there that is not named."""
    named = {file["sha256"] for part in parts.values() for file in part.get("files", ())}
    named |= {digest for part in parts.values() for digest in part.get("sections", {}).values()}
    assert named == blobs


def objects_in(folder: Path) -> dict[str, bytes]:
    """All objects of a folder that is a place."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _later(moment: Moment, later_ns: int) -> Moment:
    return replace(moment, time_ns=moment.time_ns + later_ns)

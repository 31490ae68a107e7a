"""What was staged and sent already: a file in the spool.

Without it all that is in the store is staged once more. That is harmless: the same parts have the same names.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from necroscope.fleet.place.canonical import canonical
from necroscope.fleet.ship.parts import FACTS
from necroscope.sources.plain_files import read_plain
from necroscope.store.durable import write_durably

SCHEMA = 1
FILE = "progress.json"
MAX_BYTES = 64 << 20
MOST_FACTS = 500  # of different facts, or hours: three weeks


@dataclass(slots=True)
class ShippingProgress:
    """Names are those of parts, without their digests."""

    place: str = ""
    staged: set[str] = field(default_factory=set)
    given_up: set[str] = field(default_factory=set)  # of those
    sections: set[str] = field(default_factory=set)  # digests of sections of facts that have arrived
    facts: list[tuple[int, str]] = field(default_factory=list)  # from when on which facts held, microseconds
    is_away: bool = False  # whether the place was, at the last attempt
    given_up_total: int = 0
    success_us: int = 0  # when all had arrived

    def facts_at(self, time_us: int, *, is_this_boot: bool) -> str:
        """The facts that held then. Before the first were taken: those, in the same boot; else not known."""
        held = [id for since_us, id in self.facts if since_us <= time_us]
        if held:
            return held[-1]
        return self.facts[0][1] if self.facts and is_this_boot else ""

    def add_facts(self, time_us: int, id: str) -> None:
        """New facts; the same again change nothing."""
        if not self.facts or self.facts[-1][1] != id:
            self.facts = [*self.facts, (time_us, id)][-MOST_FACTS:]

    def forget(self, folders: Iterable[str]) -> None:
        """Keep what is about segments that are still there: these folders."""
        there = set(folders)
        hours = sorted(name for name in self.staged if name.startswith(f"{FACTS}-"))[-48:]
        self.staged = {name for name in self.staged if _segment_in(name) in there} | set(hours)
        self.given_up &= self.staged

    def move_to(self, place: str) -> None:
        """Another place knows nothing of what the one before got."""
        if self.place != place:
            self.staged, self.given_up, self.sections = set(), set(), set()
            self.place = place

    def save(self, spool: Path) -> None:
        """Write it, whole or not at all. OSError where that cannot be."""
        document = {
            "schema": SCHEMA,
            "place": self.place,
            "staged": sorted(self.staged),
            "given_up": sorted(self.given_up),
            "sections": sorted(self.sections),
            "facts": self.facts,
            "is_away": self.is_away,
            "given_up_total": self.given_up_total,
            "success_us": self.success_us,
        }
        write_durably(spool / FILE, canonical(document))


def read_progress(spool: Path) -> ShippingProgress | None:
    """What is remembered; None where there is nothing, or it cannot be read."""
    try:
        return _parsed(json.loads(read_plain(spool / FILE, MAX_BYTES)))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _parsed(document: Any) -> ShippingProgress:
    if document["schema"] != SCHEMA:
        raise ValueError("of another version")
    names = {name: {str(one) for one in document[name]} for name in ("staged", "given_up", "sections")}
    return ShippingProgress(
        place=str(document["place"]),
        facts=[(int(since_us), str(id)) for since_us, id in document["facts"]],
        is_away=bool(document["is_away"]),
        given_up_total=int(document["given_up_total"]),
        success_us=int(document["success_us"]),
        **names,
    )


def _segment_in(name: str) -> str:
    """The folder of a segment, from the name of a part: between the kind and the boot."""
    return name.partition("-")[2].rpartition("-")[0]

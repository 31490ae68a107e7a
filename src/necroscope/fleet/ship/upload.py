"""The spool, sent: first what a part names, then the part. What has arrived is removed from the spool.

Killed at any moment, it goes on where it was: a blob that is there in its size is not sent again, and a part
that is sent again is the same object.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from necroscope.errors import PlaceError, StoreError
from necroscope.fleet.place.place import Place
from necroscope.fleet.ship.parts import FACTS
from necroscope.fleet.ship.shipping_progress import ShippingProgress
from necroscope.fleet.ship.spool import Opened, Spool, Waiting, Wanted

MOST_SKEW_US = 15 * 60 * 10**6  # what S3 itself puts up with


@runtime_checkable
class TellsTime(Protocol):
    """A place with a clock of its own."""

    def modified_us(self, name: str) -> int | None:
        """When an object was written; None: there is none."""


@dataclass(slots=True)
class Sent:
    """What has arrived, and what in the spool was of no use."""

    parts: int = 0
    blobs: int = 0
    bytes: int = 0
    damaged: list[StoreError] = field(default_factory=list)
    is_more: bool = False  # there was no time for all


class Sender:
    """Sends until a moment of the monotonic clock."""

    def __init__(self, place: Place, host: str, spool: Spool, progress: ShippingProgress, end: float) -> None:
        self.sent = Sent()
        self._place = place
        self._host = host
        self._spool = spool
        self._progress = progress
        self._end = end
        self._is_clock_known = False

    def send(self) -> None:
        """All parts that wait. PlaceError where the place does not take them: they go on waiting."""
        self.sent.is_more = False
        for waiting in self._spool.waiting():
            if time.monotonic() > self._end:
                self.sent.is_more = True
                break
            try:
                self._send(waiting)
            except StoreError as error:  # ours, not the place's: it is staged once more
                self.sent.damaged.append(error)
                self._spool.remove(waiting)
                self._progress.staged.discard(waiting.name)
        self._spool.sweep()

    def _send(self, waiting: Waiting) -> None:
        opened = self._spool.open(waiting)
        for blob in opened.blobs:
            self._send_blob(waiting, blob)
        name = f"hosts/{self._host}/inbox/{waiting.path.name}"
        self._place.write(name, opened.content)
        self._compare_clocks(name)
        self.sent.parts += 1
        self.sent.bytes += len(opened.content)
        self._spool.remove(waiting)
        if waiting.kind == FACTS:
            self._remember_sections(opened)

    def _send_blob(self, waiting: Waiting, wanted: Wanted) -> None:
        name = f"hosts/{self._host}/blobs/{wanted.digest}"
        if not self._spool.has_blob(wanted):
            is_there = wanted.digest in self._progress.sections or (
                wanted.bytes is not None and self._place.size(name) == wanted.bytes
            )
            if not is_there:
                raise StoreError(f"{waiting.path} has lost a file of it; it is staged anew")
            return
        path = self._spool.blob(wanted.digest)
        size_bytes = path.stat().st_size
        if self._place.size(name) != size_bytes:
            self._place.write_file(name, path)
            self.sent.blobs += 1
            self.sent.bytes += size_bytes

    def _remember_sections(self, opened: Opened) -> None:
        """Only those of the last facts: others may be needed again, but not soon."""
        self._progress.sections = {blob.digest for blob in opened.blobs}

    def _compare_clocks(self, name: str) -> None:
        """The SDK sets its own clock right in silence; all that we tell would still be of the wrong time."""
        if self._is_clock_known or not isinstance(self._place, TellsTime):
            return
        self._is_clock_known = True
        there_us = self._place.modified_us(name)
        if there_us is None:  # ingested already
            return
        ahead_us = time.time_ns() // 1000 - there_us
        if abs(ahead_us) > MOST_SKEW_US:
            way = "ahead of" if ahead_us > 0 else "behind"
            what = f"this host's clock is {_words(abs(ahead_us))} {way} that of {self._place.address}"
            hint = "nothing is sent until it is right: chronyc tracking shows how it is kept"
            raise PlaceError(what, hint=hint)


def _words(span_us: int) -> str:
    minutes = round(span_us / (60 * 10**6))
    days, hours = minutes // 1440, minutes // 60 % 24
    return f"{days} d {hours} h" if days else f"{hours} h {minutes % 60} min"

"""One run: stage what is new, send what waits, and say how it went."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from necroscope.errors import NecroscopeError, NothingRecordedError, PlaceError, StoreError, StoreHeldError
from necroscope.fleet.place.place import Place
from necroscope.fleet.ship.requests import Request, read_requests
from necroscope.fleet.ship.shipping_progress import ShippingProgress, read_progress
from necroscope.fleet.ship.spool import Spool
from necroscope.fleet.ship.stage import Stager, Wish
from necroscope.fleet.ship.upload import Sender
from necroscope.store.process_lock import LOCK_MODE, AlreadyHeldError, locked

LOCK = "lock"
LOCK_TRIES = 3  # somebody may look whether it is held
HINT = "ship as the user that records"


@dataclass(frozen=True, slots=True)
class Shipped:
    """How a run went. Counts are of parts; what has to be said is in `problems`."""

    staged: int
    sent: int
    blobs: int
    bytes: int
    waiting: int
    waiting_bytes: int
    given_up: tuple[str, ...]
    given_up_total: int  # since the spool was made
    success_us: int  # when all had arrived last; 0: never
    is_more: bool  # there was no time for all; the next run goes on
    problems: tuple[NecroscopeError, ...]  # damaged segments and parts, requests that are none
    error: NecroscopeError | None  # why not all has arrived


def ship(wish: Wish, place: Place, seconds: float) -> Shipped:
    """Stage and send, beginning nothing anew after so many seconds."""
    try:
        is_there = wish.folder.is_dir()
    except PermissionError as error:  # of a folder above it
        raise StoreError(f"{wish.folder}: {error.strerror}", hint=HINT) from error
    if not is_there:
        raise NothingRecordedError(f"{wish.folder}: nothing is recorded there", hint="--store, --host")
    spool = Spool(wish.folder)
    with _held(spool):
        return _Run(wish, place, spool, time.monotonic() + seconds).run()


class _Run:
    """What one run holds in its hands."""

    def __init__(self, wish: Wish, place: Place, spool: Spool, end: float) -> None:
        self._end = end
        self._place = place
        self._spool = spool
        self._progress = read_progress(spool.folder) or ShippingProgress()
        self._progress.move_to(place.address)
        self._stager = Stager(wish, spool, self._progress, end)
        self._sender = Sender(place, wish.name, spool, self._progress, end)
        self._wish = wish
        self._refused: list[NecroscopeError] = []

    def run(self) -> Shipped:
        """Stage and send in turns: what has no room in the spool is staged when the rest is sent."""
        error: NecroscopeError | None = None
        requests: list[Request] = []
        self._spool.sweep()
        if self._wish.profiles != "never":
            try:
                requests, self._refused = read_requests(self._place, self._wish.name)
            except PlaceError as problem:
                error = problem
        while True:
            error = self._turn(requests, error)
            is_more = self._stager.staged.is_more and not self._sender.sent.is_more
            if error or not is_more or time.monotonic() > self._end:
                break
        return self._told(error)

    def _turn(self, requests: list[Request], error: NecroscopeError | None) -> NecroscopeError | None:
        try:
            self._stager.stage(requests)
        except StoreError as problem:  # what is in the spool can be sent all the same, and makes room
            error = error or problem
        if not isinstance(error, PlaceError):
            try:
                self._sender.send()
                self._answer(requests)
            except PlaceError as problem:
                error = problem
        self._progress.is_away = isinstance(error, PlaceError)
        return self._saved(error)

    def _answer(self, requests: list[Request]) -> None:
        """Take away the requests that are fulfilled."""
        if self._spool.waiting():
            return
        now_us = time.time_ns() // 1000
        for asked in [one for one in requests if self._stager.is_done(one, now_us)]:
            self._place.remove(asked.name)
            requests.remove(asked)

    def _saved(self, error: NecroscopeError | None) -> NecroscopeError | None:
        if error is None and not self._spool.waiting():
            self._progress.success_us = time.time_ns() // 1000
        try:
            self._progress.save(self._spool.folder)
        except OSError as problem:
            return error or StoreError(f"{self._spool.folder}: {problem.strerror}")
        return error

    def _told(self, error: NecroscopeError | None) -> Shipped:
        staged, sent = self._stager.staged, self._sender.sent
        foreign = self._spool.foreign()
        problems = [*(damage.error for damage in staged.damaged.values()), *sent.damaged, *self._refused]
        if foreign:
            what = f"{len(foreign)} files in the spool are not of it, as {foreign[0]}"
            problems.append(StoreError(what, hint="they are left alone: remove them"))
        return Shipped(
            staged=len(staged.names),
            sent=sent.parts,
            blobs=sent.blobs,
            bytes=sent.bytes,
            waiting=len(self._spool.waiting()),
            waiting_bytes=self._spool.total_bytes(),
            given_up=tuple(staged.given_up),
            given_up_total=self._progress.given_up_total,
            success_us=self._progress.success_us,
            is_more=staged.is_more or sent.is_more,
            problems=tuple(problems),
            error=error,
        )


@contextmanager
def _held(spool: Spool) -> Iterator[None]:
    """One process at a time; the kernel lets go of the lock however we end."""
    with ExitStack() as stack:
        try:
            spool.prepare()
            stack.enter_context(locked(spool.folder / LOCK, LOCK_MODE, tries=LOCK_TRIES))
        except AlreadyHeldError as error:
            holder = f"the process with {error.holder}" if error.holder else "another process"
            what = f"{spool.folder}: {holder} ships already"
            raise StoreHeldError(what, hint="wait for it to end") from error
        except OSError as error:
            raise StoreError(f"{error.filename or spool.folder}: {error.strerror}", hint=HINT) from error
        yield

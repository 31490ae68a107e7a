"""Only one ingest at a time: a claim is an object in the place, and who sees no other live one may go on.

    ingest/HOST-PID-RANDOM.json     who it is, asking or holding; written again every half minute

An object store has no locks, but what was written is listed at once: of two that write a claim and then look,
at least one sees the other. Where both do, both give up, and wait for different times. A claim that was not
written again for three minutes, or whose process on this machine is gone, is dead. Times are the place's own.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from necroscope.errors import PlaceError, StoreError, StoreHeldError
from necroscope.fleet.place.place import BadObjectError, Place, Stored
from necroscope.sources.host import Host
from necroscope.store.store import safe_name

CLAIMS = "ingest/"
ASKING, HOLDING = "asking", "holding"
RENEW_SECONDS = 30.0
DEAD_SECONDS = 180.0
MAX_CLAIM_BYTES = 10_000  # ours have 200
PAUSE_SECONDS = (0.1, 1.0)


@dataclass(frozen=True, slots=True)
class Claimant:
    """A process, and among which others its number means something."""

    host: str
    boot_id: str
    processes: str  # the pid namespace
    pid: int

    def __str__(self) -> str:
        return f"pid {self.pid} on {self.host}"


def this_process() -> Claimant:
    """Who we are."""
    host = Host(Path("/"))
    boot_id = host.word("/proc/sys/kernel/random/boot_id")
    return Claimant(host.name(), boot_id, host.link_name("/proc/self/ns/pid"), os.getpid())


class Claim:
    """Our claim in a place."""

    def __init__(self, place: Place) -> None:
        us = this_process()
        self._place, self._us, self._is_held = place, us, False
        self._name = f"{CLAIMS}{safe_name(us.host) or 'host'}-{us.pid}-{secrets.token_hex(4)}.json"
        self.now_us = 0  # when it was looked for others last, by the clock of the place

    def ask(self) -> str:
        """Hold it if nobody else is there; who is, if somebody is."""
        self.renew()
        if others := self._others():
            self.give_up()
            return others[0]
        self._is_held = True
        self.renew()
        return ""

    def renew(self) -> None:
        """Write it again: we are alive."""
        content = {**asdict(self._us), "state": HOLDING if self._is_held else ASKING}
        self._place.write(self._name, json.dumps(content, sort_keys=True).encode())

    def confirm(self) -> None:
        """Right before the one write that matters: it is still ours. StoreError: we were held for dead."""
        last_us = next((one.modified_us for one in self._place.below(CLAIMS) if one.name == self._name), 0)
        self.renew()
        others = self._others(HOLDING)
        if others or self.now_us - last_us > DEAD_SECONDS * 10**6 / 2:
            hint = "nothing is lost: what hosts have sent stays until it is in the tables"
            raise StoreError("this ingest was away for so long that another may have taken over", hint=hint)

    def give_up(self) -> None:
        """Take it away."""
        with suppress(PlaceError):  # it dies by itself
            self._place.remove(self._name)

    def _others(self, state: str = "") -> list[str]:
        """Who else is there and alive; what the dead left is taken away."""
        claims = list(self._place.below(CLAIMS))
        self.now_us = next((one.modified_us for one in claims if one.name == self._name), self.now_us)
        found = []
        for one in claims:
            if one.name != self._name:
                who, their_state = self._who(one)
                if not who:
                    self._place.remove(one.name)
                elif state in ("", their_state):
                    found.append(who)
        return found

    def _who(self, stored: Stored) -> tuple[str, str]:
        """Whose claim it is, and its state; empty: nobody's, who lives."""
        if self.now_us - stored.modified_us > DEAD_SECONDS * 10**6:
            return "", ""
        try:
            content = self._place.read(stored.name, MAX_CLAIM_BYTES)
            if content is None:  # given up meanwhile
                return "", ""
            document = json.loads(content)
            state = str(document.pop("state"))
            who, us = Claimant(**document), self._us
            is_near = (who.host, who.boot_id, who.processes) == (us.host, us.boot_id, us.processes)
            return ("", "") if is_near and who.pid != us.pid and not _is_alive(who.pid) else (str(who), state)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, BadObjectError):
            return stored.name, HOLDING


@contextmanager
def claimed(place: Place, wait_seconds: float) -> Iterator[Claim]:
    """Hold the claim for as long as it takes. StoreHeldError: another has it for longer than we wait."""
    claim = _wait_for(place, wait_seconds)
    done = threading.Event()
    thread = threading.Thread(target=_keep, args=(claim, done), daemon=True)
    thread.start()
    try:
        yield claim
    finally:
        done.set()
        thread.join()
        claim.give_up()


def _wait_for(place: Place, wait_seconds: float) -> Claim:
    claim = Claim(place)
    end = time.monotonic() + wait_seconds
    try:
        while other := claim.ask():
            if time.monotonic() >= end:
                hint = "it ingests for all; should it be dead, others may after three minutes"
                raise StoreHeldError(f"{place.address}: another ingest is at work: {other}", hint=hint)
            time.sleep(random.uniform(*PAUSE_SECONDS))
    except BaseException:
        claim.give_up()
        raise
    return claim


def _keep(claim: Claim, done: threading.Event) -> None:
    while not done.wait(RENEW_SECONDS):
        with suppress(PlaceError):  # `confirm` tells it, should it last
            claim.renew()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True

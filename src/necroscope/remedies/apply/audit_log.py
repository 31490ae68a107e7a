"""The audit log: one line of JSON for all that fixes did on this store's machine, and who did it.

It is for people and for whoever collects logs; what a fix has come to is read from its journal alone.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from necroscope.errors import NecroscopeError, UntrustedFolderError
from necroscope.model.timestamp import iso_utc
from necroscope.remedies.apply.fixes_folder import opened_fixes
from necroscope.remedies.apply.site import Who

LOG = "log.jsonl"
REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class LogLine:
    """Something that was done, or refused."""

    what: str  # a happening of journal.py, or `refused`
    fix: str = ""  # its id; empty where it was refused before it had one
    host: str = ""
    treatments: tuple[str, ...] = ()
    step: int = 0  # from 1 on; 0: all of it
    action: str = ""
    target: str = ""
    command: str = ""  # the step's; of a refusal, what was asked for: --apply, --continue or --undo
    before: Mapping[str, str] = field(default_factory=dict)
    after: str = ""  # what the step makes of it
    outcome: str = ""  # what the step reported, why it failed, why it was refused


def add_to_log(store: Path, who: Who, at_ns: int, line: LogLine) -> None:
    """Append a line, durably. Raises OSError, UntrustedFolderError."""
    document = {"at": iso_utc(at_ns), "who": asdict(who), **asdict(line)}
    with opened_fixes(store) as fixes:
        descriptor = fixes.open(LOG, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        os.write(descriptor, _end_of_torn_line(descriptor) + json.dumps(document).encode() + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def log_refusal(store: Path, who: Who, line: LogLine, error: NecroscopeError) -> None:
    """Note that something was not carried out, where there is a log; no folder is made for it."""
    with suppress(OSError, UntrustedFolderError):  # the refusal itself is what counts
        add_to_log(store, who, time.time_ns(), replace(line, outcome=error.what))


def _end_of_torn_line(descriptor: int) -> bytes:
    """A line feed where a crash left a line without one: its rest must not swallow ours."""
    length = os.fstat(descriptor).st_size
    return b"\n" if length and os.pread(descriptor, 1, length - 1) != b"\n" else b""

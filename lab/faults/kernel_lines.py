"""Write lines into the kernel log, as a program can: they carry a facility of their own.

A program's line counts as nothing, so whoever looks for it or records it has to be given `TRUST`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

KMSG = Path("/dev/kmsg")
TRUST = "--trust-kmsg"  # of `doctor` and `record`
LINES_PER_OPENING = 10  # kernel.printk_devkmsg=ratelimit: ten lines per opened file in five seconds


def why_not() -> str | None:
    """Why lines cannot be written here, or None."""
    return None if os.access(KMSG, os.W_OK) else "needs a writable /dev/kmsg (root)"


def write_lines(lines: Iterable[str]) -> None:
    """Write every line as a record of its own."""
    pending: Iterator[str] = iter(lines)
    while block := list(islice(pending, LINES_PER_OPENING)):
        descriptor = os.open(KMSG, os.O_WRONLY)
        try:
            for line in block:
                # Without the newline the record stays open until the next one.
                os.write(descriptor, f"<6>{line}\n".encode())
        finally:
            os.close(descriptor)

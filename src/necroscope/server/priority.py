"""The threads of questions give way to everything else on the node, the recorder above all."""

from __future__ import annotations

import os
import threading
from contextlib import suppress

NICENESS = 10


def give_way() -> None:
    """Lower the priority of the calling thread; on Linux a niceness belongs to a thread."""
    with suppress(OSError):  # some sandboxes forbid it: the work is done all the same
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + NICENESS)

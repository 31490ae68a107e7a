"""Wakes the recorder: at the next second, when the kernel logs a line, or when somebody calls."""

from __future__ import annotations

import os
import select
import stat
import time
from contextlib import suppress

from necroscope.sources.host import Host
from necroscope.sources.kernel_log import KMSG_DEVICE

CALM_SECONDS = 0.1  # a kernel that logs without pause is read ten times a second, not for every line


class Bell:
    """Something to wait at."""

    def __init__(self, host: Host) -> None:
        self._poll = select.poll()
        self._call = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._poll.register(self._call, select.POLLIN)
        self._log = _open_log(host)
        self._calm_until = 0.0

    def ring(self) -> None:
        """Wake who waits; safe in a signal handler."""
        os.eventfd_write(self._call, 1)

    def wait(self, until_ns: int) -> bool:
        """Wait for a moment or a call; True when the kernel has logged something meanwhile."""
        while (left_ms := (until_ns - time.monotonic_ns()) / 1e6) > 0:
            calm_ms = (self._calm_until - time.monotonic()) * 1000
            self._listen(self._log is not None and calm_ms <= 0)
            rung = {descriptor for descriptor, _ in self._poll.poll(min(left_ms, max(calm_ms, 0) or left_ms))}
            if self._call in rung:
                with suppress(BlockingIOError):
                    os.eventfd_read(self._call)
                return False
            if self._log is not None and self._log in rung:
                os.lseek(self._log, 0, os.SEEK_END)  # whoever reads the log has a place of his own
                self._calm_until = time.monotonic() + CALM_SECONDS
                return True
        return False

    def close(self) -> None:
        """Give the descriptors back."""
        os.close(self._call)
        if self._log is not None:
            os.close(self._log)

    def _listen(self, wanted: bool) -> None:
        if self._log is None:
            return
        with suppress(KeyError):
            self._poll.unregister(self._log)
        if wanted:
            self._poll.register(self._log, select.POLLIN)


def _open_log(host: Host) -> int | None:
    """A place in the kernel's log that is always at its end; None where we may not read it."""
    try:
        path = host.path("/dev/kmsg")
        status = path.stat()
        if not host.is_live or not stat.S_ISCHR(status.st_mode) or status.st_rdev != KMSG_DEVICE:
            return None
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.lseek(descriptor, 0, os.SEEK_END)
    except OSError:
        return None
    return descriptor

"""A process that is really killed, just before its n-th change on disk or message to systemd."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHANGES = (
    *("write", "fsync", "ftruncate", "rename", "replace", "symlink", "link", "unlink", "remove"),
    *("mkdir", "rmdir", "chmod", "chown", "lchown", "fchmod", "fchown"),
)


def run_killed(
    point: int, work: Callable[[], int], *, torn: bool = False, once_on_record: bool = False
) -> bool:
    """Do some work in a process of its own, which is killed at a point. Whether it got there.

    `torn`: points are writes, of which half gets to the disk. `once_on_record`: they are counted from the
    moment on at which a fix gets its name.
    """
    child = os.fork()
    if child == 0:
        try:
            _silence()
            _kill_at(point, torn=torn, once_on_record=once_on_record)
            os._exit(work())
        finally:
            os._exit(99)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0, f"the work itself failed with {os.WEXITSTATUS(status)}"
    return False


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - until the process ends


def _kill_at(point: int, *, torn: bool, once_on_record: bool) -> None:
    left = [point]
    is_counting = [not once_on_record]

    def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            left[0] -= is_counting[0]
            is_counting[0] |= name == "rename"
            if left[0] == 0:
                if torn:
                    real(arguments[0], arguments[1][: len(arguments[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **named)

        return call

    for name in ("write",) if torn else CHANGES:
        setattr(os, name, counted(name, getattr(os, name)))
    if not torn:
        setattr(socket.socket, "sendall", counted("sendall", socket.socket.sendall))  # noqa: B010 - for mypy

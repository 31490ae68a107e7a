"""The machine or image that is about to be changed."""

from __future__ import annotations

import os
from pathlib import Path

from necroscope.errors import CannotLookError
from necroscope.sources.host import Host


def host_to_change(root: Path) -> Host:
    """A running machine only where the root is that of the processes seen in it; else an image.

    An image that is being worked on has the /proc and the /run of the machine that builds it, as with
    arch-chroot: what is asked of systemd there would be done to that machine.
    """
    host = Host(root.absolute())
    if host.is_own or not host.is_live:
        return host
    holds = host.holds_its_processes()
    if holds.value is None:
        what = f"whether {host.root} is the root of a running machine is not known: {holds.reason}"
        raise CannotLookError(what, hint="run as root")
    return host if holds.value else host.as_image()


def one_name(root: Path) -> Path:
    """The same for a root however it is written: `//x`, `a/../a`, a link.

    Not for /proc/PID/root, which the kernel follows into another place than where its text leads.
    """
    resolved = root.resolve()
    return resolved if _mounted(resolved) == _mounted(root) else root.absolute()


def _mounted(folder: Path) -> tuple[int, str]:
    """A folder as the kernel knows it: which one, on which mount."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        lines = Path(f"/proc/self/fdinfo/{descriptor}").read_text().splitlines()
        mount = next((line for line in lines if line.startswith("mnt_id")), str(descriptor))
        return os.fstat(descriptor).st_ino, mount
    except OSError:  # without /proc: unlike any other
        return descriptor, str(folder)
    finally:
        os.close(descriptor)

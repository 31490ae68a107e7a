"""Where a fix happens: the machine that is changed, the store of its record, and who does it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from necroscope.errors import CannotLookError
from necroscope.sources.host import Host
from necroscope.store.trusted_folder import name_of_user

NOBODY = "4294967295"  # the login uid of what no login started


@dataclass(frozen=True, slots=True)
class Who:
    """The user of a process, and who that is in person."""

    uid: int
    name: str
    sudo_user: str  # empty without sudo
    login_name: str  # who logged in, which neither su nor sudo changes; empty for a service
    terminal: str
    pid: int

    def __str__(self) -> str:
        return ", ".join((self.name + self._through(), f"pid {self.pid}"))

    def _through(self) -> str:
        """Through whom, where that is known."""
        if self.sudo_user:
            return f" (sudo: {self.sudo_user})"
        return f" (login: {self.login_name})" if self.login_name not in ("", self.name) else ""


def who_am_i() -> Who:
    """This process."""
    uid = os.geteuid()
    return Who(
        uid=uid,
        name=name_of_user(uid),
        sudo_user=os.environ.get("SUDO_USER", ""),
        login_name=_login_name(),
        terminal=next(_terminals(), ""),
        pid=os.getpid(),
    )


def _login_name() -> str:
    try:
        text = Path("/proc/self/loginuid").read_text().strip()
    except OSError:  # a kernel without audit
        return ""
    return "" if text in ("", NOBODY) else name_of_user(int(text))


def _terminals() -> Iterator[str]:
    for descriptor in range(3):
        try:
            yield os.ttyname(descriptor)
        except OSError:
            continue


@dataclass(frozen=True, slots=True)
class Site:
    """The machine that is changed, the store that keeps the record, and who does it."""

    host: Host
    store: Path
    say: Callable[[str], None] = lambda _: None  # for whoever watches
    who: Who = field(default_factory=who_am_i)


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

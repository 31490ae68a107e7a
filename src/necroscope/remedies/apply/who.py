"""Who carries out a fix, for the record."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

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

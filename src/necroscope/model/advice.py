"""What a reader may do about a finding or a diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from necroscope.model.shell_command import necroscope_command, option, shell_command


@dataclass(frozen=True, slots=True)
class Advice:
    """Something to do, in words, and the command that does it or shows more."""

    text: str
    command: str = ""  # of model/shell_command.py; empty if there is none

    def __str__(self) -> str:
        return f"{self.text}: {self.command}" if self.command else self.text


def fix_command(what: str, subject: str = "", options: Sequence[str] = ()) -> str:
    """Return the command that plans a fix: of a remedy or a finding, for its subject if it has one."""
    return necroscope_command("fix", [what, *([subject] if subject else [])], options)


def around_command(event: str) -> str:
    """Return the command that shows the samples around an event."""
    return necroscope_command("flame", options=option("--around", event))


def journal_command(unit: str) -> str:
    """Return the command that shows the last lines of a unit."""
    return shell_command(["journalctl", "-n", "50", "-u", unit])

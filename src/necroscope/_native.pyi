"""The Rust core (native/core) as Python sees it."""

from pathlib import Path

def list_directories(root: str | Path) -> tuple[list[str], int]:
    """A directory and all below it, as paths relative to it; and how many would not open."""

class TaskScanner:
    """Remembers the CPU time of every thread below a proc mount."""

    def __init__(self, proc: str | Path) -> None: ...
    def scan(
        self, most: int
    ) -> tuple[int, list[tuple[int, int, str, int, int, int]], list[tuple[int, str, int]]]:
        """Processes seen; (pid, tid, comm, core, user ticks, system ticks) of the `most` busiest threads of
        every core since the scan before; (pid, comm, ticks) of parents whose children ended since."""

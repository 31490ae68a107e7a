"""What a scenario has while it is played: a folder, a voice, the program, and a place for its results."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.recorders import PROGRAM, Recorder, RecorderError, recording
from lab.running.expectation import Results

ASK_SECONDS = 300.0
END_WITH_RUNNER = ("setpriv", "--pdeathsig", "TERM")  # should the runner be killed
SEGMENT = ("--segment", "10s")


class AskError(RuntimeError):
    """The program did not answer as it should have."""


@dataclass(slots=True)
class Stage:
    """One run of one scenario.

    `folder` is that of the run: the store is in it, and so is what is left for a person to look at. It lies
    where a container sees it, if it is among its `binds`.
    """

    folder: Path
    tell: Callable[[str], None] = print  # says what happens next
    kernel: Path | None = None  # a kernel to boot in a guest instead of the usual ones
    without: frozenset[str] = frozenset()  # parts that are left out on request
    times_faster: float = 1.0  # of what takes long by its nature, such as a soak
    results: Results = field(default_factory=dict)
    gauges: dict[str, Callable[[], str]] = field(default_factory=dict)  # for the live view, beside the cores
    not_run: dict[str, str] = field(default_factory=dict)  # part: why
    stand_ins: list[str] = field(default_factory=list)  # what was not the kernel's or the program's own

    @property
    def store(self) -> Path:
        """Where this run records."""
        return self.folder / "store"

    def leave_out(self, part: str, why: str) -> None:
        """Say that a part of the scenario cannot be played here."""
        self.not_run[part] = why
        self.tell(f"not run: {part}: {why}")

    def stand_in(self, what: str) -> None:
        """Say that something is not the real thing."""
        self.stand_ins.append(what)

    @contextmanager
    def gauge(self, name: str, read: Callable[[], str]) -> Iterator[None]:
        """Show a value in the live view for some time."""
        self.gauges[name] = read
        try:
            yield
        finally:
            del self.gauges[name]

    def ask(
        self, *words: str, prefix: Sequence[str] = (), codes: Sequence[int] = (0, 1), store: bool = True
    ) -> dict[str, Any]:
        """The JSON that a verb of the program answers, in a process of its own, behind a prefix."""
        where = ["--store", str(self.store)] if store else []
        command = [*prefix, str(PROGRAM), *words, *where, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=ASK_SECONDS, check=False)
        if done.returncode not in codes:
            said = f"{done.stdout}\n{done.stderr}".strip()
            raise AskError(f"necroscope {' '.join(words)} ended with {done.returncode}: {said}")
        body: dict[str, Any] = json.loads(done.stdout)
        return body

    def show(self, *words: str, prefix: Sequence[str] = (), codes: Sequence[int] = (0, 1)) -> str:
        """What a verb prints for a person."""
        command = [*prefix, str(PROGRAM), *words, "--store", str(self.store)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=ASK_SECONDS, check=False)
        if done.returncode not in codes:
            raise AskError(f"necroscope {' '.join(words)} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    @contextmanager
    def recording(self, *words: str, prefix: Sequence[str] = (), samples: bool = True) -> Iterator[Recorder]:
        """A recorder into the store, from its first second on; in the end it is asked to end, and must.

        The prefix must become the recorder, and not start it as a child. Whoever ends it earlier waits for
        its answer by `Recorder.end`.
        """
        wrapper = (*END_WITH_RUNNER, *prefix)
        with recording(self.store, *SEGMENT, *words, samples=samples, wrapper=wrapper) as one:
            yield one
            code = one.process.poll()
            code = one.end()[0] if code is None else code
            if code not in (0, 1):
                raise RecorderError(f"the recorder ended with {code}: {one.said()}")

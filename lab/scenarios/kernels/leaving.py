"""Leave zombie memory cgroups behind, on cgroup v1 or v2, each held by one file.

The parent of them hands memory on and has no processes, as that of a container runtime. In the end the files
and the parent are removed, which lets the zombies go.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from necroscope.sources.hierarchies import Hierarchy

AGENT = Path(__file__).with_name("agent.py")
AGENT_NAME = "lab-agent"
CONTROL = "cgroup.subtree_control"
SETTLE_SECONDS = 4.0  # every removed cgroup is dying for a moment; a zombie stays so


@dataclass(frozen=True, slots=True)
class Files:
    """What holds zombies: files to be read or written, and the folder that was made for them."""

    paths: tuple[Path, ...]
    verb: str
    folder: Path | None = None


def read_files(count: int, top: Path) -> Files:
    """Files that nobody has read since the boot."""
    found = (path for path in top.rglob("*.py") if path.name != "__init__.py")  # many of those are empty
    return Files(tuple(islice(found, count)), "read")


@contextmanager
def new_files(count: int, where: str | Path) -> Iterator[Files]:
    """Files to be written in a folder, which is removed in the end."""
    folder = Path(tempfile.mkdtemp(prefix="necroscope-lab-", dir=where))
    try:
        yield Files(tuple(folder / str(number) for number in range(count)), "write", folder)
    finally:
        shutil.rmtree(folder)


@contextmanager
def parent_of_zombies(hierarchy: Hierarchy, name: str) -> Iterator[Path]:
    """A living cgroup without processes, whose children have memory of their own."""
    parent = Path(hierarchy.mount, name)
    with ExitStack() as undo:
        if hierarchy.version == 2:
            undo.enter_context(_memory_handed_on(parent.parent))
        parent.mkdir()
        undo.callback(_remove, parent)
        if hierarchy.version == 2:
            (parent / CONTROL).write_text("+memory")
        yield parent


@contextmanager
def _memory_handed_on(top: Path) -> Iterator[None]:
    """A cgroup that gives memory to its children, as long as it is needed if it did not before."""
    control = top / CONTROL
    if "memory" in control.read_text().split():
        yield
        return
    control.write_text("+memory")
    try:
        yield
    finally:
        with suppress(OSError):  # somebody else hands it on by now; the comparison of the machine tells
            control.write_text("-memory")


def _remove(parent: Path) -> None:
    for child in parent.iterdir():
        if child.is_dir():  # only after an interruption
            child.rmdir()
    parent.rmdir()


def leave(parent: Path, files: Files, script: str = "", suffix: str = "") -> int:
    """Leave a zombie for each file; how many bytes were charged."""
    names: Mapping[str, Path] = {f"{number}{suffix}": path for number, path in enumerate(files.paths)}
    lines = "".join(f"{name}\t{path}\n" for name, path in names.items())
    command = [sys.executable, "-IS", str(AGENT), str(parent), files.verb, *([script] if script else [])]
    agent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        output, _ = agent.communicate(lines)
    except BaseException:
        agent.send_signal(signal.SIGINT)
        agent.wait()
        raise
    if agent.returncode:
        raise RuntimeError(f"the agent ended with {agent.returncode}")
    os.sync()  # dirty pages cannot be let go
    return int(output)


def wait_for(count: Callable[[], int], at_most: int, seconds: float = 30.0) -> int:
    """Wait until so few are left: freeing is asynchronous. How many are left."""
    deadline = time.monotonic() + seconds
    while (left := count()) > at_most and time.monotonic() < deadline:
        time.sleep(0.2)
    return left

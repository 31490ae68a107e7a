"""The only door to a machine's files: live `/`, a container's `/host`, or a recorded tree."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from necroscope._native import find_below
from necroscope.model.reading import Absence, Reading
from necroscope.sources.in_cluster import own_node

# The largest pseudo-file we read, /proc/interrupts of a 512-core machine, has some 10 MB.
LARGEST_FILE_BYTES = 32 << 20

MOST_LINKS = 40  # as many as the kernel follows
# The largest number of cores that any Linux can be built for.
MOST_CORES = 8192

_ABSENCE = {
    errno.ENODEV: Absence.NOT_SUPPORTED,
    errno.ENXIO: Absence.NOT_SUPPORTED,
    errno.EOPNOTSUPP: Absence.SWITCHED_OFF,
}


def absence_of(error: OSError) -> Absence:
    """Which kind of absence an error stands for."""
    # By class first: an error that the Rust core raises carries no errno.
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return Absence.NOT_SUPPORTED
    if isinstance(error, PermissionError):
        return Absence.NOT_PERMITTED
    return _ABSENCE.get(error.errno or 0, Absence.BROKEN)


def missing(name: str, error: OSError) -> Reading[Any]:
    """The reading that an OSError on `name` stands for."""
    return Reading(absence=absence_of(error), detail=f"{name}: {error.strerror or error}")


@dataclass(frozen=True, slots=True)
class Host:
    """A machine seen through its files."""

    root: Path = Path("/")
    is_live: bool = field(init=False)
    is_own: bool = field(init=False)  # the machine we run on, under its own names

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_live", _is_procfs(self.root / "proc"))
        object.__setattr__(self, "is_own", self.root == Path("/"))

    def as_image(self) -> Host:
        """The same files, seen as those of a machine that does not run, whatever is mounted among them."""
        image = Host(self.root)
        object.__setattr__(image, "is_live", False)
        return image

    def holds_its_processes(self) -> Reading[bool]:
        """Whether what its /proc shows runs in this root; else that /proc was mounted into an image."""
        try:
            # Not self.path(): the kernel itself has to follow this link.
            return Reading(os.path.samestat(self.root.stat(), (self.root / "proc/1/root").stat()))
        except OSError as error:
            return missing("/proc/1/root", error)

    def path(self, name: str) -> Path:
        """Where the file that the machine itself calls `name` is for us, never outside of the root.

        Raises OSError where there are too many links on the way.
        """
        if self.is_own:
            return Path("/") / name.lstrip("/")
        return _inside(self.root, name)

    @contextmanager
    def found(self, name: str) -> Iterator[str]:
        """Give a path to open a file by. Nobody can lead it out of the root meanwhile. Raises OSError."""
        if self.is_own:
            yield name
            return
        descriptor = find_below(self.root, name)
        try:
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)

    def read(self, name: str, errors: str = "strict") -> Reading[str]:
        """The text of one file, with errno turned into a reason rather than an exception."""
        try:
            if self.is_own:  # without the price of a context, which is more than that of a small read
                return _text(name, read_whole(name), errors)
            with self.found(name) as path:
                return _text(name, read_whole(path), errors)
        except OSError as error:
            return missing(name, error)

    def read_regular(
        self, name: str, errors: str = "strict", most_bytes: int = LARGEST_FILE_BYTES
    ) -> Reading[str]:
        """The same, of a file that somebody wrote: a device or a pipe by its name could say anything."""
        try:
            with self.found(name) as path:
                status = os.stat(path)  # noqa: PTH116 - the price of a Path
                if not stat.S_ISREG(status.st_mode):
                    return Reading(absence=Absence.BROKEN, detail=f"{name} is no regular file")
                if status.st_size > most_bytes:
                    return Reading(absence=Absence.BROKEN, detail=f"{name} is too large for a configuration")
                return _text(name, read_whole(path), errors)
        except OSError as error:
            return missing(name, error)

    def names(self, folder: str) -> Reading[tuple[str, ...]]:
        """The sorted names in a folder."""
        try:
            with self.found(folder) as path:
                return Reading(tuple(sorted(os.listdir(path))), detail=folder)  # noqa: PTH208
        except OSError as error:
            return missing(folder, error)

    def word(self, name: str) -> str:
        """The line of a one-line file; empty where it cannot be read."""
        return (self.read(name).parsed(only_line).value or "").strip()

    def name(self) -> str:
        """What the machine calls itself; empty where nothing says so."""
        kernel, file = "/proc/sys/kernel/hostname", "/etc/hostname"
        if self.is_own:
            names = [self.word(kernel), self.word(file)]
        else:
            # The kernel answers with the name of whoever asks: behind another root that may be us, and in a
            # pod it is another with every pod. The node need not have the file.
            names = [self.word(file), own_node() if self.is_live else "", self.word(kernel)]
        names = [*filter(None, names), ""]
        return next((name for name in names if not name.startswith("localhost")), "") or names[0]

    def shows_all_processes(self) -> bool:
        """Whether we see other users' processes: the first is always there, unless hidepid hides it."""
        # With hidepid=1 only what is in its folder is hidden.
        return self.read("/proc/1/stat", errors="replace").absence is None

    def link_name(self, name: str) -> str:
        """The name of what a symbolic link leads to; empty where there is none."""
        try:
            if not self.is_own:
                link = self.path(name)  # followed already
                return link.name if link.exists() else ""
            target = os.readlink(name).rpartition("/")[2]  # noqa: PTH115 - the price of a Path
            # To follow a link costs ten times as much as to read it.
            return Path(name).resolve(strict=True).name if target in ("", "..") else target
        except (OSError, RuntimeError):  # RuntimeError: a loop of links
            return ""


def _text(name: str, data: bytes, errors: str) -> Reading[str]:
    try:
        return Reading(data.decode(errors=errors), detail=name)
    except UnicodeDecodeError:
        return Reading(absence=Absence.BROKEN, detail=f"{name} is not text")


def _inside(root: Path, name: str) -> Path:
    """`name` below a root, its absolute links led back into it as they are for the machine itself."""
    path = root
    pending = [part for part in reversed(name.split("/")) if part not in ("", ".")]
    links = 0
    while pending:
        part = pending.pop()
        if part == "..":
            path = path.parent if path != root else root
            continue
        path = path / part
        try:
            target = str(path.readlink())
        except OSError:  # not a link, or not there: whoever opens it will see
            continue
        links += 1
        if links > MOST_LINKS:
            # The kernel would follow what is left of them, out of the root.
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        path = root if target.startswith("/") else path.parent
        pending.extend(part for part in reversed(target.split("/")) if part not in ("", "."))
    return path


def _is_procfs(proc: Path) -> bool:
    # The root of a mounted proc file system has inode 1; a recorded folder has any other.
    try:
        return proc.lstat().st_ino == 1 and proc.is_mount()  # lstat: a link would lead to our own
    except OSError:
        return False


def read_whole(path: str | Path) -> bytes:
    """All bytes of a file, up to a bound. In small steps: the kernel refuses huge reads of its sysctls."""
    # Non-blocking, so that a pipe in somebody's tree cannot hold us up.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        chunks: list[bytes] = []
        length = 0
        while length < LARGEST_FILE_BYTES and (chunk := os.read(descriptor, 1 << 16)):
            chunks.append(chunk)
            length += len(chunk)
        if not chunks and stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            # A pipe without a writer says nothing, which is not the same as an empty file.
            raise OSError(errno.EINVAL, "a pipe and not a file", str(path))
        return b"".join(chunks)
    finally:
        os.close(descriptor)


def whole_lines(text: str) -> list[str]:
    """The lines of a kernel file, or ValueError where it is empty or was cut in the middle of one."""
    if not text:
        raise ValueError("the file is empty")
    if not text.endswith("\n"):
        raise ValueError("the file ends in the middle of a line")
    return text[:-1].split("\n")  # splitlines() would also cut at form feeds and the like


def only_line(text: str) -> str:
    """The line of a one-line kernel file."""
    lines = whole_lines(text)
    if len(lines) > 1:
        raise ValueError(f"{len(lines)} lines, not 1")
    return lines[0]


def parse_core_list(text: str) -> tuple[int, ...]:
    """`0-3,8` as the kernel writes sets of cores."""
    cores: list[int] = []
    for part in text.strip().split(",") if text.strip() else ():
        first, dash, last = part.partition("-")
        begin, end = int(first), int(last if dash else first)
        if end >= MOST_CORES:
            raise ValueError(f"no Linux has a core {end}")
        cores.extend(range(begin, end + 1))
    return tuple(cores)

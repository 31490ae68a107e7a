"""The database of RPM: the installed packages of Fedora, RHEL, Amazon Linux and SUSE, and their files.

Reads    a copy of rpmdb.sqlite, Packages.db (NDB) or Packages (Berkeley DB) in /usr/lib/sysimage/rpm,
         /var/lib/rpm or /usr/share/rpm, with `rpm -qa`
Needs    the program rpm, built for that kind of database (Debian's cannot read NDB); room for a copy of at
         most 256 MiB in TMPDIR, or in /tmp if the user that rpm runs as cannot enter TMPDIR
Costs    80 ms for 520 packages with 20 MB of headers, 0.18 s for owners among their 150,000 files (measured)

An image may be hostile, so rpm is never let near it: it gets a folder with nothing but the copy, no
configuration and no macros of anybody, no capabilities, no other processes, and limits of time, memory and
output. If we are root, it runs as a user who owns nothing else. Root without CAP_SETUID, as in the pod of the
level `full`, cannot change its user: rpm then stays root, but without capabilities and unable to regain any.

A damaged record makes the whole database unreadable for us: a package that is left out would look like one
that is not installed.
"""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import IO, BinaryIO, TypeVar

from necroscope.model.package import Package
from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host, missing

T = TypeVar("T")
_libc = ctypes.CDLL(None)  # now: to load it in a child could wait for a lock forever

FOLDERS = ("/usr/lib/sysimage/rpm", "/var/lib/rpm", "/usr/share/rpm")  # the last is that of rpm-ostree
BACKENDS = {"rpmdb.sqlite": "sqlite", "Packages.db": "ndb", "Packages": "bdb_ro"}
LOGS = ("-wal", "-journal")  # what SQLite has not merged into the database yet
MAX_COPY_BYTES = 256 << 20  # the service's TMPDIR is memory; 520 packages take 20 MB
MAX_PACKAGES = 100_000
MAX_SECONDS = 60
LIMITS = {
    resource.RLIMIT_CPU: MAX_SECONDS,
    resource.RLIMIT_FSIZE: 256 << 20,  # of what it answers; the files of 10,000 packages take 50 MB
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_AS: 1 << 30,
    resource.RLIMIT_NPROC: 64,  # of all that run at once; rpm itself starts none. The kernel exempts root
}
FALLBACK = Path("/tmp")
PREFIX = "necroscope-rpm-"
STALE_SECONDS = 600  # a copy this old is of somebody who was killed
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
NO_CAPABILITIES = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()  # as capset takes them
CAP_SETUID = 7
TO_CHANGE_USER = {"CAP_CHOWN": 0, "CAP_KILL": 5, "CAP_SETGID": 6}
UNUSED_ID = 65521  # no distribution gives it to anybody
NO_BACKEND = b"dummy database"  # what rpm takes instead
FAILURES = (b"error: ", b"warning: using dummy database")
RPM = ("rpm", "--macros", "/dev/null", "--rcfile", "/dev/null", "--nosignature")
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
# Packages, and then the folders and files of each. A state is that of a file on this machine.
PACKAGES = r"P\t%{NAME}\t%{EVR}\t%{ARCH}\n"
FILES = r"[D\t%{DIRNAMES}\n][F\t%{DIRINDEXES}\t%{FILESTATES}\t%{BASENAMES}\n]"
# Normal, on a shared file system, and not recorded; any other file is not there, or another package's.
INSTALLED_STATES = (b"0", b"3", b"(none)")


def read_installed(host: Host) -> Reading[tuple[Package, ...]]:
    """The installed packages."""
    return _ask_rpm(host, PACKAGES, parse_packages)


def find_owners(host: Host, paths: Collection[str]) -> Reading[Mapping[str, str]]:
    """The packages that own these paths; of several the first by name."""
    wanted = frozenset(map(os.fsencode, paths))
    return _ask_rpm(host, PACKAGES + FILES, lambda lines: parse_owners(lines, wanted))


def parse_packages(lines: Iterable[bytes]) -> tuple[Package, ...] | None:
    """The packages that rpm lists; None if there are none."""
    packages = []
    for line in lines:
        name, version, architecture = line.decode(errors="replace").rstrip("\n").split("\t")[1:]
        packages.append(Package(name, version, "" if architecture == "(none)" else architecture))
        if len(packages) > MAX_PACKAGES:
            raise ValueError(f"more than {MAX_PACKAGES} packages")
    return tuple(packages) or None


def parse_owners(lines: Iterable[bytes], wanted: Collection[bytes]) -> Mapping[str, str] | None:
    """The owners of the wanted paths; None if rpm lists no package at all."""
    names_by_folder: dict[bytes, set[bytes]] = {}
    for path in wanted:
        folder, slash, name = path.rpartition(b"/")
        names_by_folder.setdefault(folder + slash, set()).add(name)
    owners: dict[str, str] = {}
    package = ""
    folders: list[bytes] = []
    for line in lines:
        kind, _, rest = line.rstrip(b"\n").partition(b"\t")
        if kind == b"P":
            name, _version, _architecture = rest.split(b"\t")
            package, folders = name.decode(errors="replace"), []
        elif kind == b"D":
            folders.append(rest)
        elif kind == b"F":
            number, state, name = rest.split(b"\t", 2)
            folder = folders[int(number)]
            if state in INSTALLED_STATES and name in names_by_folder.get(folder, ()):
                path_text = os.fsdecode(folder + name)
                owners[path_text] = min(package, owners.get(path_text, package))
    return owners if package else None


def _ask_rpm(host: Host, query: str, parse: Callable[[Iterable[bytes]], T | None]) -> Reading[T]:
    """What `parse` makes of the answer about the first database that has packages."""
    for folder, (file, backend) in product(FOLDERS, BACKENDS.items()):
        name = f"{folder}/{file}"
        try:
            with copied(host, name) as copy:
                value = _query(copy, backend, query, parse)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            return missing(name, error)
        except (ValueError, IndexError) as error:
            return Reading(absence=Absence.BROKEN, detail=f"{name}: {error}")
        if value is not None:  # RPM leaves an empty one behind when it is asked in the wrong place
            return Reading(value)
    return Reading(absence=Absence.NOT_SUPPORTED, detail=f"no packages of RPM in {', '.join(FOLDERS)}")


@contextmanager
def copied(host: Host, name: str) -> Iterator[Path]:
    """Give a folder with a copy of the database and its logs. Raises FileNotFoundError if there is none.

    SQLite resolves links and opens files by their names: who owns an image could lead it out of there.
    """
    with ExitStack() as stack:
        files = {name: stack.enter_context(_open(host, name))}
        for log in (name + ending for ending in LOGS):
            with suppress(FileNotFoundError):
                files[log] = stack.enter_context(_open(host, log))
        before = [_version(file) for file in files.values()]
        total = sum(size for size, _ in before)
        if total > MAX_COPY_BYTES:
            raise ValueError(f"{total} bytes are too many to copy, more than {MAX_COPY_BYTES}")
        try:
            room = _room()
            _remove_stale_copies(room)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=PREFIX, dir=room)))
            for (each, file), (size, _) in zip(files.items(), before, strict=True):
                with (folder / Path(each).name).open("xb") as copy:
                    _copy(file, copy, size)
        except OSError as error:
            raise ValueError(f"no copy to read it in: {error}") from error
        if before != [_version(file) for file in files.values()]:
            raise ValueError("it is being changed at this moment")
        yield folder


def _open(host: Host, name: str) -> BinaryIO:
    with host.found(name) as path:
        status = os.stat(path)  # noqa: PTH116 - the price of a Path
        if not stat.S_ISREG(status.st_mode):  # to open a pipe in somebody's tree would hold us up
            raise ValueError(f"{name} is not a file")
        return open(path, "rb")  # noqa: PTH123


def _copy(source: BinaryIO, target: BinaryIO, size: int) -> None:
    """Copy no more than this, whatever somebody appends meanwhile."""
    while size > 0 and (data := source.read(min(size, 1 << 20))):
        target.write(data)
        size -= len(data)


def _room() -> Path:
    """Return TMPDIR, or /tmp if the user that rpm runs as cannot enter TMPDIR.

    Neither a working directory nor a descriptor helps this user: SQLite opens files by their full names.
    """
    chosen = Path(tempfile.gettempdir()).resolve()
    if not _changes_user():
        return chosen
    for folder in (chosen, FALLBACK):
        if all(parent.stat().st_mode & stat.S_IXOTH for parent in (folder, *folder.parents)):
            return folder
    raise ValueError(
        f"user {UNUSED_ID} cannot enter {chosen}; set TMPDIR to a folder that all users can enter"
    )


def _remove_stale_copies(room: Path) -> None:
    own = {os.geteuid(), UNUSED_ID}
    for folder in room.glob(f"{PREFIX}*"):
        with suppress(OSError):
            status = folder.lstat()
            if status.st_uid in own and status.st_mtime < time.time() - STALE_SECONDS:
                shutil.rmtree(folder)  # it follows no link, and removes none


def _version(file: BinaryIO) -> tuple[int, int]:
    status = os.fstat(file.fileno())
    return status.st_size, status.st_mtime_ns


def _query(folder: Path, backend: str, query: str, parse: Callable[[Iterable[bytes]], T]) -> T:
    """What `parse` makes of rpm's answer about a copy of a database. Raises ValueError if rpm fails."""
    # In files, which RLIMIT_FSIZE bounds, and which nobody has to read while rpm runs.
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as complaints:
        code = _run_rpm(folder, (f"_db_backend {backend}", "-qa", "--qf", query), answer, complaints)
        complaints.seek(0)
        # That it leaves out what is damaged is no failure to rpm.
        failure = next((line for line in complaints if line.startswith(FAILURES)), b"").strip()
        if NO_BACKEND in failure:
            raise ValueError(f"the rpm of this system cannot read databases of the kind {backend}")
        if failure or code:
            raise ValueError(f"rpm says: {failure.decode(errors='replace') or code}")
        answer.seek(0)
        return parse(answer)


def _run_rpm(folder: Path, words: Sequence[str], answer: IO[bytes], complaints: IO[bytes]) -> int:
    changes_user = _changes_user()
    try:
        if changes_user:
            for path in (folder, *folder.iterdir()):
                os.chown(path, UNUSED_ID, UNUSED_ID)
        process = subprocess.Popen(
            [*RPM, "--dbpath", str(folder), "--define", *words],
            stdin=subprocess.DEVNULL,
            stdout=answer,
            stderr=complaints,
            env=ENVIRONMENT,
            cwd="/",
            start_new_session=True,
            preexec_fn=_limit,  # noqa: PLW1509 - it takes no lock that another thread may hold
            user=UNUSED_ID if changes_user else None,
            group=UNUSED_ID if changes_user else None,
            extra_groups=() if changes_user else None,
        )
    except FileNotFoundError as error:
        raise ValueError("the program rpm is missing; install rpm to read these packages") from error
    except (OSError, subprocess.SubprocessError) as error:
        raise ValueError(f"rpm cannot be run: {error}") from error
    try:
        code = process.wait(MAX_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise ValueError(f"rpm was ended after {MAX_SECONDS} s") from error
    finally:
        with suppress(ProcessLookupError):  # the usual case
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if code < 0:
        raise ValueError(f"rpm was ended by {signal.Signals(-code).name}")
    return code


def _changes_user() -> bool:
    """Return whether rpm runs as another user. Raises ValueError if root can change it, but only in part."""
    held = _own_capabilities()
    if os.geteuid() != 0 or not held >> CAP_SETUID & 1:
        return False
    lacking = [name for name, number in TO_CHANGE_USER.items() if not held >> number & 1]
    if lacking:
        raise ValueError(f"to run rpm as user {UNUSED_ID} takes {', '.join(lacking)} as well")
    return True


def _own_capabilities() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("CapEff:")[2].split()[0], 16)


def _limit() -> None:
    _libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)  # the recorder's user has some
    # What root drops, a program that it starts would get back but for the second of these.
    if _libc.capset(*NO_CAPABILITIES) or _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError("capabilities cannot be dropped")
    for limit, most in LIMITS.items():
        _, hard = resource.getrlimit(limit)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (least, least))

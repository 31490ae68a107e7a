"""One perf at work in a folder of its own, from its start to its end.

    FOLDER/7/perf.data                     being written; gone once perf has ended as it should
    FOLDER/7/perf.data.2026111518494211    closed; the suffix is the time (UTC) in steps of 10 ms
    FOLDER/7/pid                           "PID STARTTIME", while it runs

Nothing here waits for perf.
"""

from __future__ import annotations

import fcntl
import io
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from necroscope.profiles.perf_command import CONTROL, DATA_NAME, ROLLING, PerfCommand, complaint_in, last_line
from necroscope.sources.host import Host
from necroscope.sources.processes import TICKS_PER_SECOND
from necroscope.store.durable import FOLDER_MODE, make_folders, write_durably

HEAD_BYTES = 104
MOST_STDERR_BYTES = 64 << 10  # perf adds two lines at every switch, for ever
GUESSED_READY_NS = 2 * 10**9
UNANSWERED_READY_NS = 10 * 10**9  # perf before 5.12 has a control descriptor and does not know `ping`
CLEAN_EXITS = (0, -signal.SIGINT, -signal.SIGTERM)  # perf closes its file, then ends by the same signal
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
LIVE = Host()  # our own processes, wherever the machine that is looked at is mounted

# A ~/.perfconfig may ask for 8 KiB of stack with each sample. perf's suffix is local time: UTC, so that
# names sort through the end of summer time.
ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC", "PERF_CONFIG": "/dev/null"}


class PerfSession:
    """A perf process and its files. What happens to it is state, not an exception."""

    def __init__(self, folder: Path, command: PerfCommand, perf: str, now_ns: int) -> None:
        """Start perf in a new folder; OSError where that cannot be done.

        From the main thread only: perf is ended by the kernel when the thread that started it ends.
        """
        make_folders(folder.parent)
        folder.mkdir(mode=FOLDER_MODE)
        self.number = int(folder.name)
        self.folder = folder
        self.command = command
        self.started_ns = now_ns
        self.file_began_ns = now_ns
        self._file_number: int | None = None
        self.ready_ns: int | None = None
        self.exit_code: int | None = None  # minus the signal, as subprocess has it
        self.asked_to_end = ""  # why, where we did
        self.asked_ns = 0
        self._cpu_seconds = 0.0
        self._announced: set[str] = set()
        self._process = self._spawn(perf)
        with suppress(OSError):  # a full disk: perf will say so itself
            status = read_status(self._process.pid)
            text = f"{self._process.pid} {status.start_ticks if status else 0}\n"
            write_durably(folder / "pid", text.encode(), sync=False)

    def _spawn(self, perf: str) -> subprocess.Popen[bytes]:
        self._channel, theirs = socket.socketpair()
        self._channel.setblocking(False)
        try:
            # In memory: on a full disk perf could not even say so.
            self._stderr = io.FileIO(os.memfd_create("stderr of perf"), "r+")
            fcntl.fcntl(self._stderr, fcntl.F_SETFL, os.O_APPEND)
            with theirs:
                # Without a preexec_fn Python uses vfork: 0.2 ms rather than 20 in a process of 300 MB.
                return subprocess.Popen(
                    self.command.line(perf, self.folder, theirs.fileno()),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=self._stderr,
                    env={**os.environ, **ENVIRONMENT},
                    # Our end too, so that perf does not see it closed when we are killed: perf 6.1 then
                    # ends by "pollfd index mismatch", and does not close its file.
                    pass_fds=(theirs.fileno(), self._channel.fileno()),
                    start_new_session=True,  # a Ctrl-C at our terminal is not perf's
                )
        except OSError:
            self._channel.close()
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def look(self, now_ns: int) -> None:
        """See how perf is, and ask it to write out what its rings hold."""
        if self.exit_code is not None or self._reap():
            return
        answer = b""
        with suppress(OSError):  # nothing yet
            answer = self._channel.recv(4096)
        with suppress(OSError):  # it is just ending
            self._channel.send(b"ping\n")
        patience_ns = UNANSWERED_READY_NS if self.command.has(CONTROL) else GUESSED_READY_NS
        if self.ready_ns is None and (answer or now_ns - self.started_ns >= patience_ns):
            self.ready_ns = now_ns
        if os.fstat(self._stderr.fileno()).st_size > MOST_STDERR_BYTES:
            self._stderr.truncate(0)

    def _reap(self) -> bool:
        self.cpu_seconds()  # in case that somebody else reaps it
        try:
            # Popen would throw the resource usage away.
            pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
            if not pid:
                return False
            self._cpu_seconds = usage.ru_utime + usage.ru_stime
            self.exit_code = os.waitstatus_to_exitcode(status)
        except ChildProcessError:
            self.exit_code = 0
        self._process.returncode = self.exit_code
        self._channel.close()
        with suppress(OSError):
            (self.folder / "pid").unlink()
        return True

    def file_bytes(self, now_ns: int) -> int:
        """Return the size of the file that it writes, 0 if there is none; note when a new one begins."""
        try:
            status = (self.folder / DATA_NAME).stat()
        except OSError:
            return 0
        if status.st_ino != self._file_number:
            self._file_number, self.file_began_ns = status.st_ino, now_ns
        return status.st_size

    def limit_file(self, limit_bytes: int) -> None:
        """Have the kernel end perf when a file of it gets larger than this."""
        if self.exit_code is None:
            with suppress(OSError, ValueError):  # perf has capabilities that we have not, or a lower limit
                _, most = resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE)
                resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (limit_bytes, most))

    def switch(self) -> bool:
        """Have perf close its file and go on in a new one; False where it would not."""
        if self.exit_code is not None or self.ready_ns is None or not self.command.has(ROLLING):
            return False
        is_safe = catches(self._process.pid, signal.SIGUSR2)  # it would be killed otherwise
        if is_safe:
            self._send(signal.SIGUSR2)
        return is_safe

    def ask_to_end(self, why: str, now_ns: int) -> None:
        """Have perf close its file and end."""
        if self.exit_code is None and not self.asked_to_end:
            self.asked_to_end, self.asked_ns = why, now_ns
            self._send(signal.SIGINT)

    def kill(self) -> None:
        """End perf at once; its file stays unfinished."""
        if self.exit_code is None:
            self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        # Not Popen's: that would reap it. Until we do, the number cannot be another process.
        with suppress(ProcessLookupError, PermissionError):
            os.kill(self._process.pid, number)

    def newly_closed(self) -> list[Path]:
        """Files that were closed since the last call, the oldest first."""
        names = {path.name for path in closed_files(self.folder)}
        if self._finished_its_only_file():
            names.add(DATA_NAME)
        fresh = sorted(names - self._announced)
        self._announced = names
        return [self.folder / name for name in fresh]

    def _finished_its_only_file(self) -> bool:
        if self.exit_code not in CLEAN_EXITS or self.command.has(ROLLING):
            return False
        return self.ready_ns is not None and DATA_NAME in names_in(self.folder)

    def was_refused(self) -> bool:
        """Whether perf ended by itself before it was ready, rather than by a signal."""
        return self.ready_ns is None and not self.asked_to_end and (self.exit_code or 0) > 0

    def leftover(self) -> Path | None:
        """What an ended perf has not closed; None, and no file, where it holds nothing."""
        path = self.folder / DATA_NAME
        if self._finished_its_only_file():
            return None
        with suppress(OSError):
            if path.stat().st_size > HEAD_BYTES:
                return path
            path.unlink()
        return None

    def stderr(self) -> str:
        """perf's own words, the latest of them."""
        return os.pread(self._stderr.fileno(), 2 * MOST_STDERR_BYTES, 0).decode(errors="replace")

    def reason(self) -> str:
        """How it ended."""
        code = self.exit_code or 0
        how = f"{signal.strsignal(-code) or 'signal'} ({-code})" if code < 0 else f"exit code {code}"
        words = last_line(complaint_in(self.stderr()))
        return self.asked_to_end or f"perf ended, {how}{f': {words}' if words else ''}"

    def resident_bytes(self) -> int:
        """Memory it has now."""
        if self.exit_code is not None:
            return 0
        fields = (LIVE.read(f"/proc/{self._process.pid}/statm").value or "").split()
        return int(fields[1]) * PAGE_BYTES if fields else 0

    def cpu_seconds(self) -> float:
        """CPU time it has used, in all."""
        status = read_status(self._process.pid) if self.exit_code is None else None
        if status:
            self._cpu_seconds = status.cpu_seconds
        return self._cpu_seconds

    def remove_if_empty(self) -> bool:
        """Remove the folder once no file of samples is in it; True where it is gone."""
        if any(name.startswith(DATA_NAME) for name in names_in(self.folder)):
            return False
        self.discard()
        return True

    def discard(self) -> None:
        """Remove the folder with all that is in it."""
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """What /proc/PID/stat says of a process."""

    comm: str
    state: str
    cpu_seconds: float  # its children's included
    start_ticks: int


def parse_status(text: str) -> ProcessStatus:
    """`4711 (perf) S 1 ...`; the name may hold anything, brackets and blanks too."""
    before, _, after = text.rpartition(")")
    fields = after.split()
    ticks = sum(map(int, fields[11:15]))
    return ProcessStatus(before.partition("(")[2], fields[0], ticks / TICKS_PER_SECOND, int(fields[19]))


def read_status(pid: int) -> ProcessStatus | None:
    """A process of ours; None where it is gone."""
    return LIVE.read(f"/proc/{pid}/stat", errors="replace").parsed(parse_status).value


def catches(pid: int, number: signal.Signals) -> bool:
    """Whether a process has a handler for a signal."""
    status = LIVE.read(f"/proc/{pid}/status", errors="replace").value or ""
    caught = re.search(r"^SigCgt:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return caught is not None and bool(int(caught[1], 16) >> (number - 1) & 1)


def closed_files(folder: Path) -> list[Path]:
    """The files that perf has closed, the oldest first. perf writes them whole and then renames them."""
    suffixed = re.compile(re.escape(DATA_NAME) + r"\.\d+")
    return [folder / name for name in names_in(folder) if suffixed.fullmatch(name)]


def sessions_in(folder: Path) -> list[Path]:
    """The folders of sessions, the oldest first."""
    return [folder / str(number) for number in sorted(int(n) for n in names_in(folder) if n.isdecimal())]


def names_in(folder: Path) -> tuple[str, ...]:
    """Names in a folder of ours, sorted; none where it is gone or its disk is."""
    return LIVE.names(str(folder)).value or ()

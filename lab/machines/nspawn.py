"""A real systemd in a container over this machine's own `/`, gone without a trace afterwards.

    with Container(units={"crashy.service": "[Service]..."}, enable=("crashy.service",)) as machine:
        machine.run(["systemctl", "is-active", "crashy.service"]).stdout

The container sees every file of the root file system, and what it changes stays in a tmpfs. It does not see
the host's /tmp and /run, other file systems mounted below `/`, or what the host has set in /etc/systemd.
Enter it from a thread that outlives it: the kernel ends the container together with that thread. Only when
Python itself is killed, empty cgroups and a folder in /tmp stay behind, all named lab-*.

Needs    root, overlayfs, a writable cgroup tree, and the Debian packages systemd-container and util-linux
Costs    0.3 s to boot and 0.1 s to stop on two cores (measured), and memory for what is written inside
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from lab.machines.whole_machine import ALL_CONTROLLERS, SEE_MACHINE, WHOLE_MACHINE
from lab.running.processes import END_WITH_PARENT, mark_environment

CGROUPS = Path("/sys/fs/cgroup")
SYSTEMD = "/usr/lib/systemd/systemd"
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}

# Run in a mount namespace of its own, so that the mounts end with its last process, whatever ends it. The
# tmpfs hides the host's /run, where nspawn leaves locks, and holds the layers, because the kernel refuses an
# upper layer that lies inside the lower one. Without -n, mount leaves a /run/mount behind.
LAYERS = """set -e
mount -n -t tmpfs -o mode=0755 lab /run
mkdir /run/upper /run/work /run/root
mount -n -t overlay -o lowerdir=/,upperdir=/run/upper,workdir=/run/work lab /run/root
"""

# A killed nspawn leaves its container running, and a killed Python its nspawn. With END_WITH_PARENT neither
# does, if the parent still lived when it was set: BEGIN asks for our pid, and INIT writes to nspawn's end of
# the console.
BEGIN = '[ "$PPID" = "$PARENT" ] || exit\n' + LAYERS
BECOME_NSPAWN = 'cp -r "$0" /run/upper/etc; exec "$@"'

# nspawn mounts the v1 controllers read-only and over any --bind, so pid 1 undoes that before it becomes
# systemd. This is also why nspawn is not called with --boot, which has no room for a command before.
INIT = """set -e
echo "pid 1 is here"
if [ "$0" = unlock ]; then mount -n -o remount,bind,rw /sys/fs/cgroup/memory; fi
exec "$@"
"""

# Takes cgroup.procs files, "--", and the command to run in those cgroups.
JOIN = 'while [ "$1" != -- ]; do echo $$ >"$1" || exit; shift; done; shift; exec "$@"'

# What packages start without its being enabled in /etc/systemd, and few containers have a use for.
MASKED_UNITS = ("getty.target", "systemd-logind.service", "systemd-sysctl.service", "systemd-udevd.service")
# These would start what the host has in /etc/init.d and /etc/rc.local.
MASKED_GENERATORS = ("systemd-rc-local-generator", "systemd-sysv-generator")


class BootError(RuntimeError):
    """The container ended or was not ready in time; the message holds what its console said."""


def why_not() -> str | None:
    """Say why no container can run here, or None when one can."""
    if os.geteuid() != 0:
        return "not root"
    for tool in ("systemd-nspawn", "nsenter", "setpriv", "unshare", SYSTEMD):
        if shutil.which(tool) is None:
            return f"{tool} is missing: apt-get install systemd-container util-linux"
    cgroups = find_cgroups(os.getpid())
    if not cgroups:
        return f"no cgroup hierarchy of ours below {CGROUPS}"
    for cgroup in cgroups.values():
        if not os.access(cgroup, os.W_OK):
            return f"{cgroup} is not writable"
    return _why_no_layers()


@cache
def _why_no_layers() -> str | None:
    """Tried once: a list of scenarios asks again for each."""
    try_layers = ["unshare", "--mount", "sh", "-c", LAYERS]
    tried = subprocess.run(try_layers, check=False, capture_output=True, text=True)
    return f"cannot mount an overlay over /: {tried.stderr.strip()}" if tried.returncode else None


@dataclass
class Container:
    """One machine. `units` are files below /etc/systemd/system; `enable` is what multi-user.target wants.

    With `memory_cgroups` it may make cgroups where the memory controller is v1; where it is v2, the container
    has the controllers that our own cgroup passes on. Without `private_network` it has the host's
    interfaces, addresses and ports. With `whole_machine` it sees all cgroups (where the memory controller is
    v1) and interrupts, may change them and the kernel's settings as a host's own systemd may, and what limits
    us does not limit it: for remedies. `binds` are folders to show although they lie under the host's /tmp;
    `extra` are more arguments of systemd-nspawn, to permit what it forbids by default.
    """

    units: Mapping[str, str] = field(default_factory=dict)
    enable: Sequence[str] = ()
    memory_cgroups: bool = True
    private_network: bool = True
    whole_machine: bool = False
    boot_timeout_seconds: float = 60.0
    binds: Sequence[Path] = ()
    extra: Sequence[str] = ()
    name: str = field(init=False, default_factory=lambda: f"lab-{uuid.uuid4().hex[:12]}")
    leader: int = field(init=False, default=0)

    @property
    def root(self) -> Path:
        """The container's files, seen from here."""
        return Path(f"/proc/{self.leader}/root")

    def __enter__(self) -> Container:
        with ExitStack() as undo:
            self._scratch = Path(tempfile.mkdtemp(prefix=f"{self.name}-"))
            undo.callback(shutil.rmtree, self._scratch)
            self._write_etc()
            # Below our own cgroups and not at the top, so that limits on us hold for the container too.
            # Without a cgroup namespace, systemd wants the same path in all hierarchies, with the `payload`
            # that nspawn makes in its own.
            places = find_hierarchies() if self.whole_machine else find_cgroups(os.getpid())
            self._cgroups = {key: place / self.name for key, place in places.items()}
            for cgroup in self._cgroups.values():
                undo.callback(remove_cgroup, cgroup)
                cgroup.mkdir()
            if self.whole_machine:
                (self._cgroups["memory"] / "payload").mkdir()
            # Closed after the boot: nspawn would block on a socket that nobody reads.
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifications:
                notifications.bind(f"{self._scratch}/notify")
                nspawn = self._start()
                undo.callback(stop, nspawn)
                self._wait_for_boot(nspawn, notifications)
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *_error: object) -> None:
        self._undo.close()

    @property
    def prefix(self) -> tuple[str, ...]:
        """What to put before a command for it to run inside, as `run` has it."""
        leaders = find_cgroups(self.leader)
        namespaces: tuple[str, ...] = ("--all", "--")
        if self.whole_machine:
            see = ("unshare", "--mount", "sh", "-c", SEE_MACHINE, str(self.leader))
            namespaces = ("--mount", "--uts", "--ipc", "--net", "--", *see)
        enter = ("nsenter", f"--target={self.leader}", *namespaces)
        return tuple(in_cgroups([leaders[key] for key in self._cgroups], enter))

    def run(self, argv: Sequence[str], timeout_seconds: float = 60.0) -> subprocess.CompletedProcess[str]:
        """Run a command as root inside; when time is up it is killed and TimeoutExpired raised.

        It is in the container's namespaces and its init.scope, but free of nspawn's limits on system calls
        and capabilities. A unit has those. With `whole_machine` it sees the host's processes and events, and
        reaches systemd over the bus only, which dbus-daemon has to serve.
        """
        with subprocess.Popen(
            [*self.prefix, *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="surrogateescape",
            env=ENVIRONMENT | {"HOME": "/root"} | mark_environment(),
            start_new_session=True,
        ) as process:
            try:
                stdout, stderr = process.communicate(timeout=timeout_seconds)
            except BaseException:
                # nsenter forks to enter the pid namespace: killing it alone leaves the command running.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                raise
        return subprocess.CompletedProcess(argv, process.returncode, stdout, stderr)

    def _write_etc(self) -> None:
        """Write what replaces the host's /etc/systemd, and the files that go over others in its /etc."""
        etc = self._scratch / "etc"
        system = self._scratch / "systemd/system"
        wants = system / "multi-user.target.wants"
        generators = self._scratch / "systemd/system-generators"
        for folder in (etc, wants, generators):
            folder.mkdir(parents=True)
        for name in {*MASKED_UNITS} - {*self.units, *self.enable}:
            (system / name).symlink_to("/dev/null")
        for name in MASKED_GENERATORS:
            (generators / name).symlink_to("/dev/null")
        (system / "default.target").symlink_to("/usr/lib/systemd/system/multi-user.target")
        for name, text in self.units.items():
            (system / name).parent.mkdir(exist_ok=True)
            (system / name).write_text(text)
        for name in self.enable:
            (wants / name).symlink_to(f"../{name}")
        (etc / "hostname").write_text(f"{self.name}\n")
        # Some images have an empty one, at which systemd enables everything it finds.
        (etc / "machine-id").write_text(f"{uuid.uuid4().hex}\n")
        # The host's disks are not ours to mount.
        (etc / "fstab").touch()
        (etc / "crypttab").touch()

    def _start(self) -> subprocess.Popen[bytes]:
        unlock = self.memory_cgroups and "memory" in self._cgroups
        nspawn = [
            "systemd-nspawn",
            "--directory=/run/root",
            f"--machine={self.name}",
            # There may be no systemd and no machined here to register with and to ask for a cgroup.
            "--register=no",
            "--keep-unit",
            "--link-journal=no",  # leave nothing in the host's journal
            # Hides whatever the host has enabled or configured.
            f"--bind={self._scratch}/systemd:/etc/systemd",
            *(f"--bind={str(path).replace(':', chr(92) + ':')}" for path in self.binds),
            # Relay READY=1 from the systemd inside, which it sends when the boot has finished.
            "--notify-ready=yes",
            # On SIGTERM, pull the plug: an orderly shutdown waits for units that do not want to stop.
            "--kill-signal=SIGKILL",
            "--console=read-only",
            "--setenv=SYSTEMD_COLORS=0",
            *(["--private-network"] if self.private_network else []),
            *self.extra,
            *[*END_WITH_PARENT, "sh", "-c", INIT, "unlock" if unlock else "leave", SYSTEMD],
        ]
        start = BEGIN + (ALL_CONTROLLERS if self.whole_machine else "") + BECOME_NSPAWN
        layered = ["unshare", "--mount", "sh", "-c", start, f"{self._scratch}/etc", *nspawn]
        environment = {"NOTIFY_SOCKET": f"{self._scratch}/notify", "PARENT": str(os.getpid())}
        environment |= WHOLE_MACHINE if self.whole_machine else {}
        with (self._scratch / "console").open("wb") as console:
            return subprocess.Popen(
                [*END_WITH_PARENT, *in_cgroups(self._cgroups.values(), layered)],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                env=ENVIRONMENT | environment | mark_environment(),
                start_new_session=True,  # Ctrl-C is for us, who then stop the container
            )

    def _wait_for_boot(self, nspawn: subprocess.Popen[bytes], notifications: socket.socket) -> None:
        deadline = time.monotonic() + self.boot_timeout_seconds
        notifications.settimeout(0.1)
        while nspawn.poll() is None and time.monotonic() < deadline:
            with suppress(TimeoutError):
                lines = notifications.recv(4096).decode().splitlines()
                for line in lines:
                    if line.startswith("X_NSPAWN_LEADER_PID="):
                        self.leader = int(line.partition("=")[2])
                if "READY=1" in lines:
                    return
        console = (self._scratch / "console").read_text(errors="replace")
        if nspawn.returncode is None:
            raise BootError(f"the container had not booted after {self.boot_timeout_seconds:g} s\n{console}")
        raise BootError(
            f"the container ended with status {nspawn.returncode} before it had booted\n{console}"
        )


def find_cgroups(pid: int) -> dict[str, Path]:
    """Where a process is in the hierarchies that a container gets a part of, by their name in /proc.

    In the other v1 hierarchies the container stays where we are, and nspawn lets it only read.
    """
    mounts = _mounts()
    places = (line.split(":", 2) for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines())
    found = {key: mounts[key] / path.lstrip("/") for _, key, path in places if key in mounts}
    return {key: place for key, place in found.items() if (place / "cgroup.procs").exists()}


def find_hierarchies() -> dict[str, Path]:
    """The tops of the same hierarchies."""
    return {key: mount for key, mount in _mounts().items() if (mount / "cgroup.procs").exists()}


def _mounts() -> dict[str, Path]:
    unified = CGROUPS / "unified"
    return {
        "": unified if unified.is_dir() else CGROUPS,
        "name=systemd": CGROUPS / "systemd",
        "memory": CGROUPS / "memory",
    }


def in_cgroups(cgroups: Iterable[Path], argv: Sequence[str]) -> list[str]:
    """Make a command that joins the cgroups and becomes another command."""
    return ["sh", "-c", JOIN, "sh", *(f"{cgroup}/cgroup.procs" for cgroup in cgroups), "--", *argv]


def stop(nspawn: subprocess.Popen[bytes]) -> None:
    """Have nspawn kill its pid 1, and so everything inside, and wait until it has reaped it."""
    nspawn.terminate()
    try:
        nspawn.wait(timeout=10)
    finally:
        nspawn.kill()
        nspawn.wait()


def remove_cgroup(top: Path) -> None:
    """Remove a cgroup and all below it, once their last processes have gone."""
    deadline = time.monotonic() + 10
    while top.exists():
        try:
            for folder, _, _ in os.walk(top, topdown=False):
                Path(folder).rmdir()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)

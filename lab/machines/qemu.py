"""A kernel of our choice under QEMU, with this machine's files in it.

    guest = Guest(kernels.kernel_of("6.1"), cgroups="v2")
    result = guest.run(["uname", "-r"], timeout_seconds=60)

The guest sees the host's `/` read-only through virtio-9p with an overlay in its own memory on top: every
program of the host runs unmodified, and nothing the guest writes comes back but its stdout and stderr (write
a tar to stdout to bring files). There is no systemd, no udev and no way out to the network.

Needs    root, and the apt packages qemu-system-x86, busybox-static, cpio, kmod; not KVM
Costs    5 to 8 s a boot on two idle cores (measured, software emulation)
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lab.machines.kernel_modules import in_load_order, read_module
from lab.machines.kernels import Kernel

Cgroups = Literal["v1", "v2", "hybrid"]

PACKAGES = {
    "apt-get": "apt",
    "busybox": "busybox-static",
    "cpio": "cpio",
    "depmod": "kmod",
    "qemu-system-x86_64": "qemu-system-x86",
}
CONSOLE_LINES = 80
# Code that one emulated CPU patches, another may run half patched: some boot in a hundred ends there.
HALF_PATCHED = "Oops: int3"
MOST_BOOTS = 3

INIT = """\
#!/bin/busybox sh
set -e  # the kernel panics when init ends, and run() reports the console
/bin/busybox --install -s /bin
PATH=/bin
for module in /modules/*.ko; do [ ! -e "$module" ] || insmod "$module"; done
on() { mkdir -p "$1"; mount -t "$2" -o "${3:-rw}" "${4:-$2}" "$1"; }  # folder, type, options, device
share() { on "$1" 9p "trans=virtio,version=9p2000.L,msize=512000,$3" "$2"; }
share /host host ro,cache=loose
on /memory tmpfs
mkdir /memory/upper /memory/work
on /new overlay lowerdir=/host,upperdir=/memory/upper,workdir=/memory/work
on /new/proc proc
on /new/sys sysfs
on /new/sys/kernel/tracing tracefs
on /new/sys/kernel/debug debugfs
on /new/dev devtmpfs
on /new/dev/pts devpts
on /new/dev/shm tmpfs
on /new/run tmpfs mode=755

v1() {  # the mounts that systemd makes; 6.12 has neither cpuset nor memory to give
    on $cgroups tmpfs mode=755
    cd $cgroups
    for set in cpuset cpu,cpuacct blkio memory devices freezer net_cls,net_prio perf_event hugetlb pids rdma
    do
        on $set cgroup $set || { rmdir $set; continue; }
        case $set in *,*) ln -s $set ${set%,*}; ln -s $set ${set#*,} ;; esac
    done
    on systemd cgroup none,name=systemd
    # As systemd does; before 5.11 a cgroup has no part in what is below it otherwise.
    [ ! -e memory/memory.use_hierarchy ] || echo 1 >memory/memory.use_hierarchy
}
v2() {
    on $1 cgroup2
    for controller in $(cat $1/cgroup.controllers); do echo +$controller >$1/cgroup.subtree_control; done
}
cgroups=/new/sys/fs/cgroup
case @CGROUPS@ in
    v1) v1 ;;
    v2) v2 $cgroups ;;
    hybrid) v1; v2 $cgroups/unified ;;
esac

hostname @HOSTNAME@
ip link set lo up
ip link set eth0 up
mkdir -p /new/lib/modules
[ -z @MODULES@ ] || [ -e /new/lib/modules/@RELEASE@ ] || ln -s @MODULES@ /new/lib/modules/@RELEASE@
share /new/run/guest run rw
exec switch_root /new /bin/sh /run/guest/command
"""
COMMAND = """\
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
@COMMAND@ </dev/null >/run/guest/stdout 2>/run/guest/stderr
echo $? >/run/guest/status
echo b >/proc/sysrq-trigger  # reboots at once, which ends QEMU (-no-reboot)
"""


class GuestError(RuntimeError):
    """The guest ended, or was ended, before its command did; the message has the end of its console."""


@dataclass(frozen=True, slots=True)
class Guest:
    """A machine to boot afresh for every command."""

    kernel: Kernel
    cgroups: Cgroups = "v2"
    cpus: int = 2
    memory_mebibytes: int = 1024
    kernel_arguments: str = ""
    hostname: str = "guest"
    network: str = "user,restrict=on"  # what the NIC is connected to, in the words of QEMU's -netdev

    def run(self, command: Sequence[str], *, timeout_seconds: float) -> subprocess.CompletedProcess[str]:
        """Boot, run `command` as root in `/`, and return what it wrote and its exit code.

        The time limit covers the boot; one that the emulation spoils is tried again. A command ended by
        signal N returns 128 + N, as in a shell. Bytes that are not UTF-8 come back as surrogates:
        `.encode(errors="surrogateescape")` gives them exactly.
        """
        with tempfile.TemporaryDirectory(prefix="necroscope-guest-") as name:
            folder = Path(name)
            share = folder / "share"
            share.mkdir()
            (share / "command").write_text(COMMAND.replace("@COMMAND@", shlex.join(command)))
            _pack_initramfs(self, folder)
            for _ in range(MOST_BOOTS):
                ended = _boot(self, folder, timeout_seconds)
                if (share / "stdout").exists() or HALF_PATCHED not in _text(folder / "console"):
                    break
            status = _text(share / "status").strip()
            if not status:
                raise GuestError(_obituary(self, command, folder, ended))
            output = _text(share / "stdout"), _text(share / "stderr")
            return subprocess.CompletedProcess(list(command), int(status), *output)


def why_not() -> str | None:
    """Why no guest can run here, or None. For pytest's skipif."""
    missing = [package for program, package in PACKAGES.items() if shutil.which(program) is None]
    if missing:
        return f"apt packages missing: {' '.join(missing)}"
    if b"/ld-linux" in Path(shutil.which("busybox") or "").read_bytes():
        return "this busybox needs libraries and cannot be the guest's init: install busybox-static"
    if os.geteuid() != 0:
        return "not root: the guest could not read all of the host's files"
    return None


def _boot(guest: Guest, folder: Path, timeout_seconds: float) -> str:
    """Boot and wait; what QEMU said, or why it was ended."""
    try:
        done = subprocess.run(
            _qemu_command(guest, folder), capture_output=True, text=True, timeout=timeout_seconds, check=False
        )
    except subprocess.TimeoutExpired:  # run() has killed it
        return f"killed after {timeout_seconds} s"
    return done.stderr


def _pack_initramfs(guest: Guest, folder: Path) -> None:
    tree = folder / "initramfs"
    for needed in ("bin", "modules"):
        (tree / needed).mkdir(parents=True)
    shutil.copy2(shutil.which("busybox") or "", tree / "bin/busybox")
    modules = guest.kernel.modules
    for number, path in enumerate(in_load_order(modules) if modules else ()):
        name = path.name.partition(".")[0]
        (tree / "modules" / f"{number:02}-{name}.ko").write_bytes(read_module(path))
    values = {
        "CGROUPS": guest.cgroups,
        "HOSTNAME": guest.hostname,
        "RELEASE": guest.kernel.release,
        "MODULES": str(modules or ""),
    }
    (tree / "init").write_text(re.sub(r"@([A-Z]+)@", lambda name: shlex.quote(values[name[1]]), INIT))
    (tree / "init").chmod(0o755)
    names = "\n".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
    pack = ["cpio", "-o", "-H", "newc", "--quiet"]
    with (folder / "initramfs.cpio").open("wb") as archive:
        subprocess.run(pack, cwd=tree, input=names.encode(), stdout=archive, check=True)


def _qemu_command(guest: Guest, folder: Path) -> list[str]:
    def share(tag: str, path: Path, access: str) -> tuple[str, str]:
        where = str(path).replace(",", ",,")  # QEMU's way of quoting
        return "-virtfs", f"local,path={where},mount_tag={tag},security_model=none,multidevs=remap,{access}"

    return [
        *("setpriv", "--pdeathsig", "KILL"),  # no guest outlives us
        *("qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-accel", "tcg", "-cpu", "max"),  # the same machine everywhere, with or without KVM
        *("-smp", str(guest.cpus), "-m", f"{guest.memory_mebibytes}M"),
        *("-kernel", str(guest.kernel.image), "-initrd", str(folder / "initramfs.cpio")),
        *("-append", f"console=ttyS0 quiet panic=-1 {guest.kernel_arguments}".rstrip()),
        *("-serial", f"file:{folder / 'console'}"),
        # -nic would do, but gives the NIC no MSI vectors and so no interrupt per queue
        *("-netdev", f"{guest.network},id=net", "-device", "virtio-net-pci,netdev=net"),
        *share("host", Path("/"), "readonly=on"),
        *share("run", folder / "share", "readonly=off"),
    ]


def _obituary(guest: Guest, command: Sequence[str], folder: Path, ended: str) -> str:
    console = _text(folder / "console")
    what = "the kernel panicked" if "Kernel panic" in console else "the command did not end"
    parts = {
        "QEMU": ended,
        "console": "\n".join(console.splitlines()[-CONSOLE_LINES:]),
        "stdout": _text(folder / "share/stdout"),
        "stderr": _text(folder / "share/stderr"),
    }
    heading = f"Linux {guest.kernel.release}, cgroup {guest.cgroups}, `{shlex.join(command)}`: {what}"
    return "\n".join([heading, *(f"--- {name}\n{text.strip()}" for name, text in parts.items() if text)])


def _text(path: Path) -> str:
    """The file's bytes as text, unchanged; empty if the guest never came to write it."""
    return path.read_bytes().decode(errors="surrogateescape") if path.exists() else ""

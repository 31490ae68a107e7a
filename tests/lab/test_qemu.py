"""Every guest is what it promises to be, and says so when it dies."""

import shlex
import sys
from pathlib import Path

import pytest

from lab.machines import qemu
from lab.machines.kernels import KernelError, kernel_of
from lab.machines.qemu import Cgroups, Guest, GuestError, why_not

pytestmark = [pytest.mark.servers, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]

MACHINES: list[tuple[str, Cgroups]] = [("5.10", "v1"), ("6.1", "v2"), ("6.1", "hybrid"), ("6.12", "v2")]
BOOT_SECONDS = 120  # other guests may be at work
PYTHON = """
import os, sys
print(os.uname().release, os.cpu_count(), os.uname().nodename)
sys.stdout.buffer.write(bytes(range(256)))
print("grief", file=sys.stderr)
sys.exit(3)
"""
ZOMBIE = """
cd /sys/fs/cgroup
mkdir doomed
sh -c 'echo $$ >doomed/cgroup.procs; echo legacy >/dev/shm/legacy'
rmdir doomed
sleep 2  # every removed cgroup is dying for a moment; a zombie stays so
grep nr_dying_descendants cgroup.stat
"""


def boot(series: str, cgroups: Cgroups = "v2") -> Guest:
    try:
        return Guest(kernel=kernel_of(series), cgroups=cgroups, hostname="node")
    except KernelError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("machine", MACHINES, ids="-".join)
def test_it_is_the_machine_that_was_asked_for_and_only_its_output_comes_back(
    machine: tuple[str, Cgroups],
) -> None:
    """One boot for all of it: that is what takes the time."""
    guest = boot(*machine)
    script = f"""
    echo lost >'{__file__}' && cat '{__file__}'
    cat /proc/1/mounts /proc/interrupts
    exec '{sys.executable}' -c {shlex.quote(PYTHON)}
    """
    result = guest.run(["sh", "-c", script], timeout_seconds=BOOT_SECONDS)
    assert result.returncode == 3
    assert result.stderr == "grief\n"
    files, _, written = result.stdout.encode(errors="surrogateescape").partition(bytes(range(256)))
    assert written == f"{guest.kernel.release} 2 node\n".encode()
    assert files.startswith(b"lost\n") and Path(__file__).read_text() != "lost\n"
    require_cgroups_and_devices(guest, files.decode())


def require_cgroups_and_devices(guest: Guest, files: str) -> None:
    mounts = {fields[1]: fields[2] for line in files.splitlines() if len(fields := line.split()) > 2}
    cgroup = "/sys/fs/cgroup"
    assert (mounts[cgroup] == "cgroup2") == (guest.cgroups == "v2")
    assert (mounts.get(f"{cgroup}/memory") == "cgroup") == (guest.cgroups != "v2")
    assert (mounts.get(f"{cgroup}/unified") == "cgroup2") == (guest.cgroups == "hybrid")
    assert mounts["/"] == "overlay"
    assert mounts["/sys/kernel/tracing"] == "tracefs"
    assert "virtio0-input.0" in files  # the NIC, with an interrupt per queue


@pytest.mark.parametrize("series", ["6.1", "6.12"])
def test_a_memory_cgroup_can_become_a_zombie(series: str) -> None:
    result = boot(series).run(["sh", "-ec", ZOMBIE], timeout_seconds=BOOT_SECONDS)
    assert (result.stdout, result.stderr) == ("nr_dying_descendants 1\n", "")


def test_a_panic_is_an_error_with_the_console() -> None:
    with pytest.raises(GuestError, match=r"(?s)the kernel panicked.*sysrq triggered crash.*last words"):
        boot("6.1").run(
            ["sh", "-c", "echo last words; echo c >/proc/sysrq-trigger"], timeout_seconds=BOOT_SECONDS
        )


@pytest.mark.parametrize(("bad_boots", "is_told"), [(0, False), (1, False), (2, False), (3, True)])
def test_a_boot_that_the_emulation_spoils_is_tried_again(
    bad_boots: int, is_told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    boots: list[Path] = []

    def boot_or_die(_: Guest, folder: Path, __: float) -> str:
        boots.append(folder)
        is_bad = len(boots) <= bad_boots
        (folder / "console").write_text(f"{qemu.HALF_PATCHED}: Kernel panic" if is_bad else "")
        if not is_bad:
            (folder / "share/stdout").write_text("done")
            (folder / "share/status").write_text("0")
        return ""

    monkeypatch.setattr(qemu, "_boot", boot_or_die)
    guest = boot("6.1")
    if is_told:
        with pytest.raises(GuestError, match="the kernel panicked"):
            guest.run(["true"], timeout_seconds=1)
    else:
        assert guest.run(["true"], timeout_seconds=1).stdout == "done"
    assert len(boots) == min(bad_boots + 1, qemu.MOST_BOOTS)


def test_a_guest_that_hangs_is_killed() -> None:
    with pytest.raises(GuestError, match=r"(?s)the command did not end.*killed after 30 s.*still here"):
        boot("6.1").run(["sh", "-c", "echo still here; sleep 600"], timeout_seconds=30)


def test_a_kernel_that_debian_lacks_is_named() -> None:
    with pytest.raises(KernelError, match=r"Linux 2\.4"):
        kernel_of("2.4")

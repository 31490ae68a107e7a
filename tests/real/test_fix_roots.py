"""Which roots are running machines, and which are images with another machine's /proc and /run in them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.machines.nspawn import Container, why_not
from necroscope.remedies.apply.site import host_to_change
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_activity import read_activity
from tests.unprivileged import as_nobody

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

CHECKOUT = Path(__file__).parents[2]
UNIT = "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"
# As arch-chroot and its like prepare an image; and the same with its own files, to be worked on from inside.
PREPARE = """set -e
mkdir -p /mnt/image/usr/lib/systemd/system /mnt/image/etc/systemd/system/multi-user.target.wants
cd /mnt/image
cp /etc/systemd/system/here.service usr/lib/systemd/system
ln -s /usr/lib/systemd/system/here.service etc/systemd/system/multi-user.target.wants
mkdir proc run sys
mount -t proc proc proc
mount --bind /run run
mkdir /mnt/host /mnt/inside
mount --rbind / /mnt/host
mount -t tmpfs tmpfs /mnt/inside
cd /mnt/inside
for path in /*; do
    case $path in /proc|/run|/mnt|/sys|/dev|/tmp) continue;; esac
    if [ -L $path ]; then cp -P $path .; continue; fi
    if [ -d $path ]; then mkdir .$path; mount --rbind $path .$path; fi
done
mkdir proc run
mount -t proc proc proc
mount --bind /run run
for path in "$@"; do mkdir -p ".$path"; mount --rbind "$path" ".$path"; done
"""
LOOK = """
import sys
from pathlib import Path
from necroscope.remedies.apply.site import host_to_change
from necroscope.sources.systemd.unit_activity import read_activity
host = host_to_change(Path(sys.argv[1]))
print(host.is_live, read_activity(host).value is not None)
"""


@pytest.fixture(scope="module")
def machine() -> Iterator[Container]:
    with Container(units={"here.service": UNIT}, enable=("here.service",), binds=(CHECKOUT,)) as container:
        # The program is there, too, wherever it lies.
        done = container.run(["sh", "-c", PREPARE, "sh", str(CHECKOUT), sys.base_prefix])
        assert done.returncode == 0, done.stderr
        yield container


ORDER = """
from necroscope.remedies.actions.systemd import order
from necroscope.sources.host import Host
order(Host(), lambda bus: bus.call("StopUnit", "ss", ("here.service", "replace")))
"""


def look(machine: Container, root: str, *before: str) -> str:
    """Whether it is a running machine, and whether its systemd answers."""
    done = machine.run([*before, sys.executable, "-c", LOOK, root])
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_machine_is_one_from_inside_from_outside_and_through_another_mount(machine: Container) -> None:
    assert look(machine, "/") == "True True"
    assert look(machine, "/mnt/host") == "True True"
    host = host_to_change(machine.root)
    assert host.is_live and read_activity(host).value is not None


def test_an_image_with_the_machine_s_own_proc_and_run_is_an_image(machine: Container) -> None:
    assert look(machine, "/mnt/image").startswith("False")
    command = ["necroscope", "audit", "--root", "/mnt/image", "--json", "-d", "1s"]
    done = machine.run([sys.executable, "-m", *command])
    assert '"live": false' in done.stdout, done.stdout + done.stderr
    command = ["necroscope", "fix", "disable-unit", "here", "--root", "/mnt/image", "--apply"]
    machine.run([sys.executable, "-m", *command, "-d", "1s", "--baseline", "0", "--store", "/var/tmp/store"])
    assert machine.run(["systemctl", "is-active", "here.service"]).stdout == "active\n"
    assert not list((machine.root / "mnt/image/etc/systemd/system/multi-user.target.wants").iterdir())
    assert (machine.root / "etc/systemd/system/multi-user.target.wants/here.service").is_symlink()


def test_from_inside_such_an_image_the_machine_s_systemd_gets_no_orders(machine: Container) -> None:
    done = machine.run(["chroot", "/mnt/inside", sys.executable, "-c", ORDER])
    assert "ChangeError: systemd did not do it: the systemd that answers is not that of /" in done.stderr
    assert machine.run(["systemctl", "is-active", "here.service"]).stdout == "active\n"


def test_a_root_that_cannot_be_compared_is_not_guessed_at(machine: Container) -> None:
    nobody = as_nobody()
    done = machine.run([*nobody, sys.executable, "-c", LOOK, "/mnt/host"])
    assert "CannotLookError" in done.stderr
    assert look(machine, "/", *nobody) == "True True"
    assert Host(machine.root).is_live

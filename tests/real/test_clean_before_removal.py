"""A service that leaves page cache behind leaks a memory cgroup at every start, unless it is emptied."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.faults import zombies
from lab.faults.crash_loops import leaked, wait_until_freed
from lab.machines import nspawn
from lab.machines.nspawn import Container
from necroscope.model.remedy_ids import CLEAN_BEFORE_REMOVAL
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER
from necroscope.sources.host import Host
from tests.real.carry_out import carry_out, listing, plan_for, take_back

STARTS = 20
# A shell writes a file of its own and fails; $$$$ is systemd's way to write the shell's $$.
UNIT = """[Unit]
StartLimitIntervalSec=0
[Service]
ExecStart=/bin/sh -c 'head -c 100000 /dev/urandom >{folder}/$$$$; exit 1'
Restart=always
RestartSec=50ms
"""
NAMES = ("leaves.service", r"cle\x2dans.service")


def _why_not() -> str | None:
    if reason := zombies.why_not() or nspawn.why_not():
        return reason
    return None if Path("/sys/kernel/tracing/instances").is_dir() else "needs tracefs at /sys/kernel/tracing"


pytestmark = pytest.mark.skipif(_why_not() is not None, reason=str(_why_not()))


@pytest.fixture
def disk() -> Iterator[Path]:
    """A folder whose files have page cache, which those of the container's own tmpfs have not."""
    folder = Path(tempfile.mkdtemp(prefix="necroscope-lab-", dir="/var/tmp"))
    yield folder
    shutil.rmtree(folder)


def test_an_emptied_cgroup_leaves_no_zombie(disk: Path) -> None:
    level = leaked()
    ledger = CGROUP_LEDGER.open(Host())
    with Container(units=dict.fromkeys(NAMES, UNIT.format(folder=disk)), binds=(disk,)) as machine:
        host = Host(machine.root)
        files = listing(machine.root)
        plan = plan_for(host, CLEAN_BEFORE_REMOVAL, NAMES[1])
        before = carry_out(host, plan)
        assert plan_for(host, CLEAN_BEFORE_REMOVAL, NAMES[1]).steps == ()
        machine.run(["systemctl", "start", *NAMES])
        deadline = time.monotonic() + 60
        counts = dict.fromkeys(NAMES, (0, 0))
        while (
            min(zombie + freed for zombie, freed in counts.values()) < STARTS and time.monotonic() < deadline
        ):
            time.sleep(0.5)
            groups = ledger().value
            assert groups
            for name in NAMES:
                own = [
                    group
                    for group in groups.groups
                    if machine.name in group.example and name in group.example
                ]
                counts[name] = (sum(group.zombies for group in own), sum(group.released for group in own))
        machine.run(["systemctl", "stop", *NAMES])
        take_back(host, plan, before)
        assert listing(machine.root) == files
    (leaves, _), (cleans, freed) = counts.values()
    assert leaves >= STARTS * 0.8
    assert cleans <= STARTS * 0.1 and freed >= STARTS * 0.8
    for path in disk.iterdir():
        path.unlink()
    wait_until_freed(level)

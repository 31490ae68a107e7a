"""What empties a cgroup before its removal, on kernels with cgroup v2 and others, in QEMU guests."""

from __future__ import annotations

import json
import sys

import pytest

from lab.machines.kernels import KernelError, kernel_of
from lab.machines.qemu import Cgroups, Guest, why_not
from necroscope.remedies.plan.clean_before_removal import SCRIPT

pytestmark = [pytest.mark.servers, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]

COUNT = 25
# Each child reads a file that nobody has read before, whose pages are then charged to its cgroup. The parent
# of all hands memory on, as a slice does.
LEAVE = """
import json, os, sys, time
from pathlib import Path
count, script = int(sys.argv[1]), sys.argv[2]
v1, v2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
root = v1 if v1.exists() else v2
slice = root / "system.slice"
slice.mkdir()
if root == v2:
    for one in (root, slice):
        (one / "cgroup.subtree_control").write_text("+memory")
files = iter(sorted(path for path in Path("/usr/bin").iterdir() if path.is_file() and not path.is_symlink()))

def zombies():
    if root == v2:
        rows = dict(line.split() for line in (slice / "cgroup.stat").read_text().splitlines())
        return int(rows["nr_dying_descendants"])
    rows = {row[0]: int(row[2]) for row in map(str.split, Path("/proc/cgroups").read_text().splitlines()[1:])}
    return rows["memory"] - sum(1 for _ in os.walk(root))

def leave(name, cleans):
    for number in range(3 if name == "warm" else count):
        cgroup = slice / f"{name}-{number}.service"
        cgroup.mkdir()
        if (child := os.fork()) == 0:
            (cgroup / "cgroup.procs").write_text("0")
            next(files).read_bytes()
            if cleans:
                os.execv("/bin/sh", ["sh", "-c", script, "sh", cgroup.name])
            os._exit(0)
        next(files)
        os.waitpid(child, 0)
        cgroup.rmdir()
    time.sleep(5)
    return zombies()

warm = leave("warm", True)  # the shell and its libraries are read once
left = leave("left", False)
cleaned = leave("cleaned", True)
print(json.dumps({"left": left - warm, "cleaned": cleaned - left}))
"""


@pytest.mark.parametrize(("series", "cgroups"), [("5.10", "v1"), ("6.12", "v2")])
def test_an_emptied_cgroup_leaves_no_zombie(series: str, cgroups: Cgroups) -> None:
    try:
        guest = Guest(kernel_of(series), cgroups=cgroups, hostname="node")
    except KernelError as error:
        pytest.skip(str(error))
    done = guest.run([sys.executable, "-c", LEAVE, str(COUNT), SCRIPT], timeout_seconds=480)
    assert done.returncode == 0, done.stderr
    zombies = json.loads(done.stdout)
    assert zombies["left"] > COUNT / 2, zombies
    assert zombies["cleaned"] < zombies["left"] / 4, zombies

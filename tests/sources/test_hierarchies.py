from __future__ import annotations

import pytest

from necroscope.model.reading import Absence
from necroscope.sources.hierarchies import Hierarchy, find_hierarchy, parse_mountinfo, read_hierarchies
from necroscope.sources.host import Host
from tests.sources.conftest import Deny, Tree

TMPFS = "35 28 0:30 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
# Amazon Linux 2 and CentOS 7 mount like this, the latter with seclabel.
V1 = (
    TMPFS
    + "36 35 0:31 / /sys/fs/cgroup/systemd rw,nosuid - cgroup cgroup rw,seclabel,xattr,"
    + "release_agent=/usr/lib/systemd/systemd-cgroups-agent,name=systemd\n"
    + "37 35 0:32 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,seclabel,cpu,cpuacct\n"
    + "39 35 0:34 / /sys/fs/cgroup/memory rw,relatime shared:11 - cgroup cgroup rw,seclabel,memory\n"
    + "40 35 0:35 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,noprefix,clone_children,cpuset\n"
)
V2 = "35 28 0:30 / /sys/fs/cgroup rw,nosuid,relatime - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n"
UNIFIED = "48 35 0:43 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
CONTROLLERS = "cpuset cpu io memory pids\n"


def test_v1_has_a_hierarchy_for_each_controller_or_pair() -> None:
    assert parse_mountinfo(V1) == (
        Hierarchy(1, "/sys/fs/cgroup/systemd", ("name=systemd",)),
        Hierarchy(1, "/sys/fs/cgroup/cpu,cpuacct", ("cpu", "cpuacct")),
        Hierarchy(1, "/sys/fs/cgroup/memory", ("memory",)),
        Hierarchy(1, "/sys/fs/cgroup/cpuset", ("cpuset",)),
    )


def test_v2_has_one_and_hybrid_has_both() -> None:
    assert parse_mountinfo(V2) == (Hierarchy(2, "/sys/fs/cgroup", ()),)
    assert parse_mountinfo(V1 + UNIFIED)[-1] == Hierarchy(2, "/sys/fs/cgroup/unified", ())
    assert parse_mountinfo(TMPFS) == ()


def test_names_for_people() -> None:
    assert [h.name for h in parse_mountinfo(V1 + UNIFIED)][1:3] == ["cpu,cpuacct (v1)", "memory (v1)"]
    assert parse_mountinfo(V2)[0].name == "unified (v2)"


def test_blanks_and_other_letters_in_a_mount_point() -> None:
    text = V2.replace("/sys/fs/cgroup ", r"/my\040größe\134x\012/cgroup" + "\u2028 ")
    assert parse_mountinfo(text)[0].mount == "/my größe\\x\n/cgroup\u2028"


def test_mounts_of_others_cannot_break_it() -> None:
    other = "90 1 0:90 / /home/me/form\x0cfeed\u2028 rw - fuse.sshfs me@host:/a\\040-\\040b rw\n"
    nameless = "91 1 0:91 / /mnt rw - tmpfs  rw\n"
    assert parse_mountinfo(other + nameless + V2) == parse_mountinfo(V2)


def test_mount_points_that_are_not_utf_8(tree: Tree) -> None:
    other = b"90 1 0:90 / /home/me/\xff\xfe rw - tmpfs tmpfs rw\n"
    host = tree({"/proc/1/mountinfo": other + V2.replace("/cgroup ", "/\xe9 ").encode("latin-1")})
    tree({"/sys/fs/\udce9/cgroup.controllers": CONTROLLERS})
    assert read_hierarchies(host).value == (Hierarchy(2, "/sys/fs/\udce9", ()),)
    assert find_hierarchy(host, "memory").value == Hierarchy(2, "/sys/fs/\udce9", ())


def test_a_hierarchy_mounted_twice_counts_once() -> None:
    again = V2.replace("/sys/fs/cgroup", "/var/lib/container/sys/fs/cgroup")
    assert parse_mountinfo(V2 + again) == parse_mountinfo(V2)


@pytest.mark.parametrize(
    "text", ["\n", "35 28 0:30 / /sys/fs/cgroup\n", "1 - cgroup2 cgroup2 rw\n", "1 2 - cgroup\n"]
)
def test_lines_that_no_kernel_writes(text: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        parse_mountinfo(text)


def test_where_a_controller_is(tree: Tree) -> None:
    files = {"/proc/1/mountinfo": V1 + UNIFIED, "/sys/fs/cgroup/unified/cgroup.controllers": "io\n"}
    host = tree({**files, "/sys/fs/cgroup/memory": None, "/sys/fs/cgroup/cpu,cpuacct": None})
    mounts = {name: find_hierarchy(host, name) for name in ("memory", "cpuacct", "io", "hugetlb", "cpuset")}
    assert {name: h.value and h.value.mount for name, h in mounts.items()} == {
        "memory": "/sys/fs/cgroup/memory",
        "cpuacct": "/sys/fs/cgroup/cpu,cpuacct",
        "io": "/sys/fs/cgroup/unified",
        "hugetlb": None,
        "cpuset": None,
    }
    assert mounts["hugetlb"].absence is Absence.SWITCHED_OFF
    assert "hugetlb" in mounts["hugetlb"].detail
    assert mounts["cpuset"].absence is Absence.NOT_SUPPORTED  # the folder itself is not there
    assert "/sys/fs/cgroup/cpuset" in mounts["cpuset"].detail


def test_controllers_that_cannot_be_read_are_not_switched_off(tree: Tree, deny: Deny) -> None:
    host = tree({"/proc/1/mountinfo": V2, "/sys/fs/cgroup/cgroup.controllers": CONTROLLERS})
    assert find_hierarchy(host, "memory").value == Hierarchy(2, "/sys/fs/cgroup", ())
    deny("cgroup.controllers")
    assert find_hierarchy(host, "memory").absence is Absence.NOT_PERMITTED


def test_a_part_of_a_hierarchy_is_refused(tree: Tree) -> None:
    host = tree({"/proc/1/mountinfo": V2, "/sys/fs/cgroup/cgroup.controllers": CONTROLLERS})
    object.__setattr__(host, "is_live", True)  # a folder of ours has not the inode number of a root
    reading = find_hierarchy(host, "memory")
    assert reading.absence is Absence.NOT_PERMITTED
    assert "/sys/fs/cgroup shows a part" in reading.detail


def test_this_machine() -> None:
    hierarchies = read_hierarchies(Host())
    assert hierarchies.value is not None or hierarchies.detail

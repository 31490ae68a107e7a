from __future__ import annotations

import pytest

from necroscope.agent.sealing import MAX_MEMORY_BYTES, OTHERS_BYTES, seal_memory_bytes
from necroscope.sources.host import Host
from necroscope.sources.own_memory_limit import read_own_memory_limit
from necroscope.store.config import RecordSettings
from tests.sources.conftest import Tree

MOUNT = "/sys/fs/cgroup"
V1 = f"30 23 0:26 / {MOUNT}/memory rw - cgroup cgroup rw,memory\n"
V2 = f"30 23 0:26 / {MOUNT} rw - cgroup2 cgroup2 rw\n"
NONE = "9223372036854771712\n"


@pytest.mark.parametrize(
    ("mounts", "own", "limits", "limit"),
    [
        (V2, "0::/a.slice/b.service\n", {"/a.slice/b.service/memory.max": "max\n"}, None),
        (
            V2,
            "0::/a.slice/b.service\n",
            {"/a.slice/memory.max": "7\n", "/a.slice/b.service/memory.max": "9\n"},
            7,
        ),
        (V2, "0::/\n", {"/memory.max": "536870912\n"}, 536_870_912),
        (V2, "0::/../../pod\n", {"/memory.max": "5\n"}, 5),
        (V1, "4:memory:/pod\n3:cpu:/x\n", {"/memory/memory.limit_in_bytes": NONE}, int(NONE)),
        (V1, "4:memory:/pod\n", {"/memory/pod/memory.limit_in_bytes": "4096\n"}, 4096),
        (V1, "", {}, None),
    ],
)
def test_the_least_limit_counts(
    tree: Tree, mounts: str, own: str, limits: dict[str, str], limit: int | None
) -> None:
    files = {f"{MOUNT}{name}": text for name, text in limits.items()}
    host = tree({"/proc/1/mountinfo": mounts, "/proc/self/cgroup": own, **files})
    assert read_own_memory_limit(host) == limit


def test_a_real_cgroup_can_be_read() -> None:
    limit = read_own_memory_limit(Host())
    assert limit is None or limit > 0


def test_a_sealing_child_leaves_room_for_the_recorder() -> None:
    settings = RecordSettings()
    assert seal_memory_bytes(settings, None) == MAX_MEMORY_BYTES
    assert seal_memory_bytes(settings, 64 << 30) == MAX_MEMORY_BYTES
    assert seal_memory_bytes(settings, 512 << 20) == (512 << 20) - OTHERS_BYTES
    assert seal_memory_bytes(settings, 200 << 20) == 100 << 20

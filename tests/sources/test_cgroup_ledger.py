"""What is made of the ledger; tests/real/test_ledger.py has it at work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from necroscope._native import CgroupTrace
from necroscope.model.reading import Absence
from necroscope.sources.cgroup_ledger import (
    CGROUP_LEDGER,
    CgroupLedger,
    Leak,
    LedgerGroup,
    _merged,
    older_zombies,
    owner_of,
    parse_hierarchy_number,
    parse_memory_cgroup,
)
from necroscope.sources.host import Host
from necroscope.store.tables import shape_of

POD = "/kubepods.slice/kubepods-pod#.slice/cri-containerd-#.scope"


def group(pattern: str = "/a-#", **more: Any) -> LedgerGroup:
    plain = LedgerGroup(pattern, "runc", "/x", "", "systemd", "init.scope", 9, 8, 6, 2, 1, "/a-7")
    return plain._replace(**more)


@pytest.mark.parametrize(
    ("pattern", "creator_unit", "owner"),
    [
        ("/system.slice/ecs.service", "init.scope", "ecs.service"),
        ("/system.slice/ecs.service/task-#", "init.scope", "ecs.service"),
        ("/machine.slice/vm.scope/system.slice/nginx.service", "", "vm.scope"),
        (POD, "init.scope", "cri-containerd-#.scope"),
        ("/docker/#", "docker.service", "docker.service"),
        ("/docker/#", "", "runc"),
    ],
)
def test_who_has_to_answer(pattern: str, creator_unit: str, owner: str) -> None:
    assert owner_of(group(pattern, creator_unit=creator_unit)) == owner


def test_nobody_is_named_where_nothing_is_known() -> None:
    assert owner_of(group(creator="", creator_unit="")) == ""


def test_the_number_of_the_hierarchy() -> None:
    head = "#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
    assert parse_hierarchy_number(f"{head}cpu\t1\t1\t1\nmemory\t4\t79\t1\n") == 4
    with pytest.raises(KeyError):
        parse_hierarchy_number(f"{head}cpu\t1\t1\t1\n")


@pytest.mark.parametrize(
    ("text", "cgroup"),
    [
        ("9:name=systemd:/\n4:memory:/a:b\n0::/u\n", "/a:b"),
        ("5:cpuset,memory:/m\n", "/m"),
        ("0::/u\n", "/u"),
        ("9:name=systemd:/s\n", ""),
    ],
)
def test_the_memory_cgroup_of_a_process(text: str, cgroup: str) -> None:
    assert parse_memory_cgroup(text) == cgroup


def test_groups_that_look_the_same_are_one() -> None:
    other = group(remover_unit="")
    merged = _merged([group(), other, group(zombies=2, dying=2)])
    assert merged == (group(made=18, removed=16, released=12, dying=4, zombies=3), other)


def test_older_zombies_are_what_the_kernel_counts_beyond() -> None:
    ledger = CgroupLedger(1, 0, 0, 0, 40, 30, (), (), ())
    assert older_zombies(90, ledger) == 50
    assert older_zombies(39, ledger) == 0


def test_it_can_be_recorded_and_read_back() -> None:
    leak = Leak(7, "/a-7", None, 5, "", None, "", "", "systemd", 1, "init.scope")
    ledger = CgroupLedger(1, 2, 3, 4, 5, 6, (group(), group("/b")), (leak,), (7, 8))
    shape = shape_of(CGROUP_LEDGER)
    rows = shape.rows(ledger)
    assert shape.fits(rows)
    assert shape.value(rows) == ledger
    assert [table.name for table in shape.tables] == [
        *("cgroup-ledger", "cgroup-ledger.groups", "cgroup-ledger.leaks", "cgroup-ledger.freed")
    ]


def test_a_recorded_tree_has_none() -> None:
    reading = CGROUP_LEDGER.open(Host(Path(__file__).parents[1] / "hosts/debian-6.1-v2"))()
    assert reading.absence is Absence.NOT_SUPPORTED
    assert "counted and not named" in CGROUP_LEDGER.hint(Absence.NOT_SUPPORTED)


def test_without_tracefs_the_refusal_names_the_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"tracing/instances: "):
        CgroupTrace(tmp_path / "tracing", "/proc", 4)


def test_without_the_tracepoints_the_refusal_names_the_file(tmp_path: Path) -> None:
    """An ordinary folder takes the place of a kernel whose instances have nothing in them."""
    (tmp_path / "instances").mkdir()
    with pytest.raises(FileNotFoundError, match=r"/trace_clock: "):
        CgroupTrace(tmp_path, "/proc", 4)
    assert not [*(tmp_path / "instances").iterdir()], "nothing is left behind"

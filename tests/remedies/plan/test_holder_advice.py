from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.model.zombie_holder import HolderKind, HoldingProcess, ZombieHolder
from necroscope.remedies.actions.holding import Holding, held_by
from necroscope.remedies.plan.holder_advice import MOST_COMMANDS, advise, programs_hold
from necroscope.sources.host import Host
from necroscope.sources.process_mappings import SharedSegment
from necroscope.sources.zombie_holders import ZombieHolders
from necroscope.sources.zombie_pins import PinnedMemory, ZombiePins

PAGE = 4096
ZOMBIES = 5_000
AGENT = HoldingProcess(4711, "agent", "agent.service")
SHELL = HoldingProcess(815, "bash", "session-3.scope")
PINS = ZombiePins(PinnedMemory(0, 0, 0, 0, None), (), 128 * PAGE, 0, 5, 5, True)
CHANGES = ("rm ", "kill ", "ipcrm ", "systemctl ", "sync")


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A machine without units and with one core."""
    return Host(tmp_path)


def holding(*holders: ZombieHolder, segments: tuple[SharedSegment, ...] = ()) -> Holding:
    return Holding(PINS, (), ZombieHolders(holders, segments, False, 0.1), "")


def holder(
    kind: HolderKind,
    name: str,
    *users: HoldingProcess,
    pages: int = 200,
    sure: bool = True,
    more: bool = False,
    program: bool = False,
) -> ZombieHolder:
    return ZombieHolder(kind, name, "/pods", pages * PAGE, sure, users, more, program)


def test_a_tmpfs_file_is_removed_by_its_quoted_name(host: Host) -> None:
    (advice,) = advise(host, holding(holder(HolderKind.TMPFS_FILE, "/dev/shm/a b")), (), ZOMBIES)
    assert advice.commands == ("rm -- '/dev/shm/a b'",)
    assert "/pods" in advice.why and "at most 200 zombies" in advice.why and "lost" in advice.cost


def test_a_file_that_a_process_still_has_needs_its_end_too(host: Host) -> None:
    (advice,) = advise(host, holding(holder(HolderKind.TMPFS_FILE, "/dev/shm/ring", AGENT)), (), ZOMBIES)
    assert advice.commands == (
        "rm -- /dev/shm/ring",
        "# agent, pid 4711",
        "systemctl restart -- agent.service",
    )


def test_a_process_without_a_service_is_told_by_number(host: Host) -> None:
    (advice,) = advise(host, holding(holder(HolderKind.PROCESS, "bash", SHELL)), (), ZOMBIES)
    assert advice.commands == ("# bash in session-3.scope: restart it as it was started", "kill 815")


def test_many_files_of_a_folder_are_one_advice_and_not_a_thousand_lines(host: Host) -> None:
    files = [holder(HolderKind.TMPFS_FILE, f"/dev/shm/ring/{number}", pages=1) for number in range(1000)]
    (advice,) = advise(host, holding(*files), (), ZOMBIES)
    assert len(advice.commands) == MOST_COMMANDS + 1
    assert advice.commands[-1] == "# and 980 more like these: /dev/shm/ring/"
    assert held_by(holding(*files)) == "1,000 tmpfs files in /dev/shm/ring/ (3.9 MiB)"


def test_a_file_in_each_of_many_folders_is_one_advice_too(host: Host) -> None:
    files = [holder(HolderKind.TMPFS_FILE, f"/pods/{number}/volumes/x", pages=1) for number in range(1000)]
    (advice,) = advise(host, holding(*files), (), ZOMBIES)
    assert advice.commands[-1] == "# and 980 more like these: /pods/"


@pytest.mark.parametrize("kind", [HolderKind.TMPFS_FILE, HolderKind.PROCESS, HolderKind.MAPPED_FILE])
def test_nobody_is_asked_to_act_for_a_hundredth_of_the_zombies(host: Host, kind: HolderKind) -> None:
    few = holding(holder(kind, "/dev/shm/x", AGENT, pages=99))
    assert advise(host, few, (), 5_000) == ()
    assert advise(host, few, (), 4_950) != (), "99 of them are enough"


@pytest.mark.parametrize("kind", list(HolderKind))
def test_where_it_is_not_sure_the_commands_only_look(host: Host, kind: HolderKind) -> None:
    advice = advise(host, holding(holder(kind, "/dev/shm/x", AGENT, sure=False)), (), ZOMBIES)
    if kind is HolderKind.MAPPED_FILE:
        assert not advice, "the libraries of all that lives could be"
        return
    (only,) = advice
    assert "may be held by" in only.why and "look at it" in only.why
    assert only.commands and not any(line.startswith(CHANGES) for line in only.commands)


@pytest.mark.parametrize(
    "process",
    [
        HoldingProcess(1, "init", ""),
        HoldingProcess(432, "systemd", "init.scope"),
        HoldingProcess(433, "systemd", "user@1000.service"),
        HoldingProcess(451, "systemd-journal", "systemd-journald.service"),
        HoldingProcess(463, "dbus-daemon", "dbus.service"),
        HoldingProcess(464, "sshd", ""),
        HoldingProcess(465, "kubelet", ""),
    ],
)
@pytest.mark.parametrize("kind", list(HolderKind))
def test_nobody_is_sent_to_end_what_a_node_cannot_do_without(
    host: Host, kind: HolderKind, process: HoldingProcess
) -> None:
    (advice,) = advise(host, holding(holder(kind, "/dev/shm/x", AGENT, process)), (), ZOMBIES)
    assert not any(line.startswith(CHANGES) for line in advice.commands)
    assert "nobody is to be ended" in advice.why


def test_ending_some_of_its_users_frees_nothing(host: Host) -> None:
    shared = holder(HolderKind.TMPFS_FILE, "/dev/shm/ring", AGENT, SHELL, more=True)
    (advice,) = advise(host, holding(shared), (), ZOMBIES)
    assert advice.commands == ("fuser -v /dev/shm/ring",)


@pytest.mark.parametrize("pages", [200, 60])
def test_what_belongs_to_systemd_is_looked_at_only(host: Host, pages: int) -> None:
    names = ("/run/systemd/units/x", "/run/udev/data/x", "/run/a/x", "/run/b/x")
    files = [holder(HolderKind.TMPFS_FILE, name, pages=pages) for name in names]
    commands = [line for advice in advise(host, holding(*files), (), ZOMBIES) for line in advice.commands]
    removed = [line for line in commands if line.startswith("rm ")]
    assert removed == ["rm -- /run/a/x", "rm -- /run/b/x"]
    assert "fuser -v /run/systemd/units/x" in commands


def test_nobody_is_ended_for_programs_and_libraries(host: Host) -> None:
    library = holding(holder(HolderKind.MAPPED_FILE, "/usr/lib/libc.so", AGENT, pages=4000, program=True))
    assert advise(host, library, (), ZOMBIES) == ()
    assert "none has to be ended" in programs_hold(library, ())
    assert programs_hold(library, ("/pods",)).endswith("a step unmaps their pages")


def test_segments_are_removed_by_id_and_those_of_nobody_are_looked_at(host: Host) -> None:
    unattached = (SharedSegment(7, 1 << 20, PAGE, 0),)
    first, second = advise(
        host, holding(holder(HolderKind.SEGMENT, "3", AGENT), segments=unattached), (), ZOMBIES
    )
    assert first.commands[0] == "ipcrm -m 3"
    assert second.commands == ("ipcs -m -t -p",)
    assert "may be" in second.why


def test_mapped_files_are_for_a_person_only_where_reclaim_does_not_reach(host: Host) -> None:
    mapped = holding(holder(HolderKind.MAPPED_FILE, "/var/lib/index", AGENT))
    assert advise(host, mapped, ("/pods",), ZOMBIES) == ()
    (advice,) = advise(host, mapped, ("/others",), ZOMBIES)
    assert advice.commands[-1].startswith("sync; echo 1 >")


def test_what_is_sure_is_named_first_and_mapped_files_last() -> None:
    unsure = holder(HolderKind.TMPFS_FILE, "/run/x", pages=900, sure=False)
    library = holder(HolderKind.MAPPED_FILE, "/usr/lib/libc.so", pages=800)
    sure = holder(HolderKind.TMPFS_FILE, "/run/y", pages=256)
    hidden = holder(HolderKind.MAPPED_FILE, "/usr/lib/libm.so", AGENT, sure=False)
    assert held_by(holding(library, hidden, unsure, sure)) == (
        "tmpfs file /run/y (1.0 MiB); mapped file /usr/lib/libc.so (3.1 MiB);"
        " perhaps tmpfs file /run/x (3.5 MiB)"
    )

"""purge-zombies on real zombies (cgroup v1): what holds them is named, and what can be freed is."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from lab.faults.zombie_holds import (
    IN_MEMORY,
    IPC_RMID,
    ON_DISK,
    HeldZombies,
    _in_segment,
    _libc,
    held_zombies,
)
from lab.faults.zombies import HIERARCHY, in_use, tracked, why_not
from necroscope.model.plan import Step
from necroscope.remedies.actions import holding
from necroscope.remedies.actions.catalog import ALL_ACTIONS
from necroscope.remedies.actions.counting import noise_floor
from necroscope.remedies.actions.holding import read_holding
from necroscope.remedies.plan.purge_zombies import plan_purge_zombies
from necroscope.remedies.plan.remedy import Part
from necroscope.sources.host import Host
from necroscope.sources.zombie_holders import read_zombie_holders

PAGE_BYTES = 4096
EACH = 500
MANY = 20_000
HOST = Host()
OTHERS = 120  # zombies that others make or free meanwhile
# A process of the parent itself, with a file of its own; at the end it leaves the parent, which is removed.
LIVE = """
import os, sys
def enter(cgroup):
    with open(cgroup + "/cgroup.procs", "w") as members:
        members.write(str(os.getpid()))
enter("{parent}")
with open("{file}", "wb") as file:
    file.write(bytes({size}))
print("written", flush=True)
sys.stdin.read()
enter("{home}")
"""


@pytest.fixture(autouse=True)
def _enough_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests keep the machine busy: here it matters what the search finds, not in which time."""
    patient = partial(read_zombie_holders, most_seconds=30.0)
    monkeypatch.setattr(holding, "read_zombie_holders", patient)


def kind_of(folder: str) -> str:
    command = ["stat", "--file-system", "--format=%T", folder]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


pytestmark = [
    pytest.mark.skipif(why_not() is not None, reason=str(why_not())),
    pytest.mark.skipif(kind_of(ON_DISK) in ("tmpfs", "overlayfs"), reason=f"{ON_DISK} is not on a disk"),
]


def dying() -> int:
    return tracked() - in_use()


def plan_once_seen(held: HeldZombies, least_bytes: int) -> Part:
    """The plan for one parent, once the kernel's statistics show what is held: they are two seconds late."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        parents = [one for one in read_holding(HOST, (held.cgroup,)).parents if one.held]
        if sum(sum(one.held.by_kind().values()) for one in parents if one.held) >= least_bytes:
            break
        time.sleep(0.5)
    return plan_purge_zombies(HOST, held.cgroup)


def carry_out(step: Step) -> str:
    action = ALL_ACTIONS[step.action]
    outcome = action.do(HOST, step)
    deadline = time.monotonic() + 30
    while (amiss := action.check(HOST, step)) and time.monotonic() < deadline:
        assert "still frees" in amiss, amiss  # also what others have left: the kernel counts for all
    assert amiss == ""
    return outcome


@pytest.mark.parametrize("kind", ["page-cache", "mapped"])
def test_page_cache_is_freed_below_its_parent_alone(kind: str) -> None:
    with held_zombies(kind, EACH) as held:
        part = plan_once_seen(held, EACH * PAGE_BYTES)
        (step,) = part.steps
        assert step.command == f"sync; echo 0 >{held.parent}/memory.force_empty"
        assert f"mapped files in {held.folder}/" in "\n".join(part.seen) or kind == "page-cache"
        assert not part.by_hand, "reclaim takes mapped pages as well"
        before = dying()
        outcome = carry_out(step)
        assert dying() < before - EACH * 0.9, outcome
        again = carry_out(step)
        # Where others have as few as would not show, it is tried again, and finds nothing.
        is_left_out = again.startswith(("not done", "not needed"))
        assert is_left_out or "nothing is seen to be held" in again, f"there is nothing left to do: {again}"


def test_planning_twice_gives_the_same_steps_and_changes_nothing() -> None:
    with held_zombies("page-cache", EACH) as held:
        part = plan_once_seen(held, EACH * PAGE_BYTES)
        before = dying()
        again = plan_purge_zombies(HOST, held.cgroup)
        assert (part.steps, part.assumptions) == (again.steps, again.assumptions)
        assert dying() == pytest.approx(before, abs=OTHERS)


def test_each_holder_that_no_purge_can_free_is_named_with_its_command() -> None:
    """Tmpfs, memfd, SysV segments, a process that moved on; beside page cache, which can be freed."""
    with ExitStack() as stack:
        first = stack.enter_context(held_zombies("tmpfs", EACH))
        held = {
            kind: stack.enter_context(held_zombies(kind, EACH, first.parent))
            for kind in ("memfd", "segment", "attached", "moved", "page-cache", "mapped")
        }
        part = plan_once_seen(first, 7 * EACH * PAGE_BYTES)
        commands = {advice.why: advice.commands for advice in part.by_hand}

        def advised(words: str) -> str:
            (why,) = [why for why in commands if words in why]
            return "\n".join(commands[why])

        assert f"rm -- {first.folder}/0\n" in advised("tmpfs files in")
        assert f"kill {held['memfd'].pid}" in advised("deleted files open in").splitlines()
        assert f"kill {held['moved'].pid}" in advised("which has moved on").splitlines()
        assert f"kill {held['attached'].pid}" in advised("SysV segments of").splitlines()
        assert advised("nobody attached") == "ipcs -m -t -p", "they may be the wrong ones"
        (step,) = part.steps
        before = dying()
        outcome = carry_out(step)
        assert dying() == pytest.approx(before - 2 * EACH, abs=OTHERS), outcome
        assert f"{EACH} tmpfs files in {first.folder}/" in outcome, "what is left is told by name"


def test_the_command_for_a_tmpfs_file_frees_its_zombies() -> None:
    with held_zombies("tmpfs", EACH) as held:
        part = plan_once_seen(held, EACH * PAGE_BYTES)
        (step,) = part.steps
        before = dying()
        outcome = carry_out(step)
        assert outcome.startswith("not done"), "reclaim cannot free them, and would only cost"
        assert f"{EACH} tmpfs files in {held.folder}/" in outcome
        (advice,) = part.by_hand
        subprocess.run(["sh", "-c", "\n".join(advice.commands)], check=True)
        freed = sum(line.startswith("rm ") for line in advice.commands)
        deadline = time.monotonic() + 30
        while dying() > before - freed and time.monotonic() < deadline:
            time.sleep(0.2)
        assert dying() <= before - freed + OTHERS / 10


def test_a_living_file_of_the_parent_itself_is_not_to_be_removed() -> None:
    """It is written right before the plan, so that it does not show as the parent's own at first."""
    with held_zombies("tmpfs", EACH) as held, tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        plan_once_seen(held, EACH * PAGE_BYTES)
        living = Path(folder) / "database"
        program = LIVE.format(parent=held.parent, home=HIERARCHY, file=living, size=120 * PAGE_BYTES)
        process = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        try:
            assert process.stdout and process.stdout.readline() == b"written\n"
            part = plan_purge_zombies(HOST, held.cgroup)
        finally:
            process.communicate()
    commands = [line for advice in part.by_hand for line in advice.commands]
    assert not any(line.startswith("rm ") for line in commands), commands
    assert f"perhaps tmpfs file {living} " in "\n".join(part.seen)


def test_a_segment_is_not_suspected_where_files_explain_all() -> None:
    segment = _in_segment(0, Path("/"))  # charged to our own cgroup
    try:
        with held_zombies("tmpfs", EACH) as held:
            part = plan_once_seen(held, EACH * PAGE_BYTES)
    finally:
        _libc.shmctl(segment, IPC_RMID, None)
    (advice,) = part.by_hand
    assert f"tmpfs files in {held.folder}/" in advice.why
    assert "SysV" not in "\n".join(part.seen)


def test_caches_are_not_dropped_for_zombies_that_tmpfs_holds() -> None:
    count = max(3 * EACH, 15 * dying())  # most of all there are
    with held_zombies("tmpfs", count) as held:
        plan_once_seen(held, count * PAGE_BYTES)
        part = plan_purge_zombies(HOST, "")
        assert f"{held.parent}" not in [step.target for step in part.steps]
        assert "drop-caches will be left out: it would cool the whole node for at most" in "\n".join(
            part.seen
        )
        outcome = carry_out(part.steps[-1])
    assert outcome.startswith("not done, since it would cool the whole node for at most "), outcome


def test_page_cache_directly_below_the_root_needs_the_caches_dropped() -> None:
    with held_zombies("page-cache", EACH, HIERARCHY):
        time.sleep(2.5)
        part = plan_purge_zombies(HOST, "")
        step = part.steps[-1]
        assert (step.action, step.target, step.value) == ("drop-caches", "/proc/sys/vm/drop_caches", "1")
        before = dying()
        outcome = carry_out(step)
        assert dying() < before - EACH * 0.8, outcome


@pytest.mark.servers
def test_twenty_thousand_are_gone_in_one_step() -> None:
    with held_zombies("page-cache", MANY) as held:
        part = plan_once_seen(held, MANY * PAGE_BYTES)
        (step,) = part.steps
        before = dying()
        assert before >= MANY * 0.95, "others may have dropped caches"
        outcome = carry_out(step)
        # What others have is theirs; of ours, no more than cores keep.
        assert dying() <= max(before - MANY, 0) + noise_floor(HOST) + OTHERS, outcome

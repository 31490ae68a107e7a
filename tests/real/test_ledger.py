"""The ledger against the kernel's own numbers: real leaks by several programs among real clean cycles."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.faults.leaks import UNIFIED, Leaker, leakers
from lab.faults.zombies import HIERARCHY, in_use, tracked, why_not, zombies
from necroscope.model.reading import Absence
from necroscope.sources.cgroup_ledger import (
    CGROUP_LEDGER,
    SETTLED_SECONDS,
    CgroupLedger,
    owner_of,
)
from necroscope.sources.host import Host
from necroscope.sources.source import Read
from tests.real.conftest import evidence, findings
from tests.unprivileged import as_nobody

INSTANCES = Path("/sys/kernel/tracing/instances")
Doctor = Callable[..., dict[str, Any]]


def _why_not() -> str | None:
    if reason := why_not():
        return reason
    return None if INSTANCES.is_dir() else "needs tracefs at /sys/kernel/tracing"


pytestmark = pytest.mark.skipif(_why_not() is not None, reason=str(_why_not()))


def taken(read: Read[CgroupLedger]) -> CgroupLedger:
    reading = read()
    assert reading.value, reading.reason
    return reading.value


def kernel_dying() -> int:
    return tracked() - in_use()


def quiet_start(read: Read[CgroupLedger]) -> tuple[int, int]:
    """How many the kernel keeps, and how many older ones were freed, when nothing of that moves any more."""
    for _ in range(40):
        before, freed = kernel_dying(), taken(read).freed_older
        time.sleep(0.5)
        if (kernel_dying(), taken(read).freed_older) == (before, freed):
            break
    return before, freed


def agrees(read: Read[CgroupLedger], before: int, freed: int) -> bool:
    """Whether the ledger comes to the kernel's own number, which a release reaches a moment later."""
    for _ in range(100):
        ledger = taken(read)
        # Zombies of others from before may be freed meanwhile: the ledger sees that, too.
        if ledger.dying == kernel_dying() - before + ledger.freed_older - freed:
            return True
        time.sleep(0.2)
    return False


def sums(ledger: CgroupLedger, *wanted: str) -> dict[str, dict[str, tuple[int, ...]]]:
    """By creator and kind of path, some counts."""
    result: dict[str, dict[str, tuple[int, ...]]] = {}
    for group in ledger.groups:
        kind = "leak" if "/leak-" in group.pattern else "clean" if "/clean-" in group.pattern else "parent"
        counts = tuple(getattr(group, name) for name in wanted)
        before = result.setdefault(group.creator, {}).get(kind, (0,) * len(counts))
        result[group.creator][kind] = tuple(a + b for a, b in zip(before, counts, strict=True))
    return result


def zombies_of(ledger: CgroupLedger, *programs: Leaker) -> int:
    """Those of some programs; others on this machine may leave their own."""
    names = {one.name for one in programs}
    return sum(group.zombies for group in ledger.groups if group.creator in names)


def test_counts_of_every_creator_are_exact_and_the_purge_is_seen() -> None:
    plans = (
        Leaker("leaker-a", 2_000, 1_000, "lab-a.service"),
        Leaker("leaker-b", 1_700, 2_000, "lab-b.service"),
        Leaker("leaker-c", 1_300, 2_000),
    )
    read = CGROUP_LEDGER.open(Host())
    before, freed = quiet_start(read)
    with leakers(*plans):
        time.sleep(SETTLED_SECONDS + 0.5)
        ledger = taken(read)
        assert agrees(read, before, freed)
    assert ledger.lost == 0
    counts = sums(ledger, "made", "removed", "released", "zombies")
    for plan in plans:
        assert counts[plan.name]["leak"] == (plan.leaks, plan.leaks, 0, plan.leaks)
        assert counts[plan.name]["clean"] == (plan.clean, plan.clean, plan.clean, 0)
    assert zombies_of(ledger, *plans) == 5_000
    _check_owners(ledger)
    newest = [leak for leak in ledger.leaks if leak.path.startswith("/leaker-")][-1]
    assert newest.creator in newest.path
    assert newest.creator_pid == newest.remover_pid == int(newest.path.split("/")[1].rpartition("-")[2])
    assert (newest.made_ns or 0) < newest.removed_ns
    after = taken(read)
    assert zombies_of(after, *plans) == 0
    assert agrees(read, before, freed)
    assert len(set(after.freed)) == len(after.freed) >= 5_000, "a list of names must lose every one of them"
    counts = sums(after, "made", "released")
    assert all(counts[plan.name]["leak"] == (plan.leaks, plan.leaks) for plan in plans)


def _check_owners(ledger: CgroupLedger) -> None:
    def of(name: str) -> set[str]:
        return {owner_of(group) for group in ledger.groups if group.creator == name}

    assert of("leaker-c") == {"leaker-c"}
    if UNIFIED.is_dir():
        assert (of("leaker-a"), of("leaker-b")) == ({"lab-a.service"}, {"lab-b.service"})


FLOOD = """
import os, sys
for n in range(int(sys.argv[2])):
    os.mkdir(sys.argv[1] + "/" + str(n))
    os.rmdir(sys.argv[1] + "/" + str(n))
"""


def test_a_flood_is_counted_to_the_last() -> None:
    cycles = 20_000  # by two programs at once, three events each
    read = CGROUP_LEDGER.open(Host())
    folders = [HIERARCHY / f"flood-{os.getpid()}-{number}" for number in range(2)]
    for folder in folders:
        folder.mkdir()
    try:
        words = [[sys.executable, "-c", FLOOD, str(folder), str(cycles)] for folder in folders]
        running = [subprocess.Popen(command) for command in words]
        assert [process.wait() for process in running] == [0, 0]
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            ledger = taken(read)
            flood = [group for group in ledger.groups if group.pattern == "/flood-#-#/#"]
            if not sum(group.dying for group in flood):
                break
            time.sleep(0.1)
    finally:
        for folder in folders:
            folder.rmdir()
    events = sum(group.made + group.removed + group.released for group in flood)
    assert events + ledger.lost >= 2 * 3 * cycles
    assert events <= 2 * 3 * cycles
    if not ledger.lost:
        assert [sum(getattr(g, n) for g in flood) for n in ("made", "removed", "released")] == [
            2 * cycles
        ] * 3


# In a process of its own, so that only the ledger's memory counts: says at every line what it has by now.
ALONE = """
import os, sys
from necroscope.sources.host import Host
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
read = CGROUP_LEDGER.open(Host())
read()
before = resident()
for line in iter(sys.stdin.readline, ""):
    value = read().value
    counts = (value.lost, value.dying, value.zombies, value.untracked, value.freed_older)
    print(*counts, resident() - before, flush=True)
"""


@pytest.mark.servers  # half a minute
def test_a_hundred_thousand_and_more_zombies_stay_within_the_bound() -> None:
    """Not all of them can be remembered: the rest is counted, and every one of them is counted out."""
    process = subprocess.Popen(
        [sys.executable, "-c", ALONE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )

    def ask() -> list[int]:
        assert process.stdin
        assert process.stdout
        process.stdin.write("\n")
        return [int(word) for word in process.stdout.readline().split()]

    try:
        assert ask()[:2] == [0, 0]
        time.sleep(2)  # what other tests left is freed
        before, freed = kernel_dying(), ask()[4]
        with zombies(104_000):
            time.sleep(SETTLED_SECONDS)
            ask()
            lost, dying, settled, untracked, freed_older, grown = ask()
            rise = kernel_dying() - before
        assert (lost, dying) == (0, settled)
        assert dying == pytest.approx(104_000, abs=10), "the kernel may free one or the other by itself"
        assert rise + freed_older - freed == pytest.approx(104_000, abs=10), (
            "some older ones are on their way"
        )
        assert 3_000 < untracked <= 4_100
        assert grown < 16 << 20, f"{grown:,} bytes"
        deadline = time.monotonic() + 60  # the kernel tells of a release first, and counts it later
        while time.monotonic() < deadline:
            lost, dying, _, untracked, freed_older, _ = ask()
            rise = kernel_dying() - before
            if dying - freed_older + freed == rise:
                break
            time.sleep(0.2)
        # Per-CPU batches and stocks of the kernel hold some tens at most; the ledger has the same ones. A
        # release that was lost, because others kept the machine busy, is told as such.
        assert untracked <= lost and dying <= 50 + lost
        assert rise - 10 <= dying - freed_older + freed <= rise + lost + 10
    finally:
        process.communicate()


def test_an_instance_that_a_killed_process_left_is_removed_by_the_next() -> None:
    code = (
        "import time; from necroscope.sources.host import Host;"
        "from necroscope.sources.cgroup_ledger import CGROUP_LEDGER;"
        "read = CGROUP_LEDGER.open(Host()); print(read().value is not None, flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout
    assert process.stdout.readline() == b"True\n"
    left = INSTANCES / f"necroscope-{process.pid}"
    taken(CGROUP_LEDGER.open(Host()))
    assert left.is_dir(), "that of a process which lives is left alone"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert left.is_dir()
    taken(CGROUP_LEDGER.open(Host()))
    assert not left.exists()


def test_nothing_is_left_when_the_reader_goes_or_the_program_ends() -> None:
    read = CGROUP_LEDGER.open(Host())
    own = INSTANCES / f"necroscope-{os.getpid()}"
    assert own.is_dir()
    del read
    assert not own.exists()
    code = (
        "import os; from necroscope.sources.host import Host;"
        "from necroscope.sources.cgroup_ledger import CGROUP_LEDGER;"
        "read = CGROUP_LEDGER.open(Host()); print(os.getpid())"
    )
    pid = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert not (INSTANCES / f"necroscope-{pid.strip()}").exists()


def test_the_services_user_reads_what_its_unit_prepares() -> None:
    """With the capability of the unit, which may read everything and write nothing."""
    prepared = INSTANCES / "necroscope"
    if prepared.exists():
        try:
            prepared.rmdir()  # of a test that was killed
        except OSError:
            pytest.skip("a necroscope.service runs here")
    unit = (Path(__file__).parents[2] / "deploy/systemd/necroscope.service").read_text()
    (command,) = re.findall(r"^ExecStartPre=-\+/bin/sh -c '(.*)'$", unit, re.MULTILINE)
    folder = HIERARCHY / f"prepared-{os.getpid()}"
    code = (
        "import sys; from necroscope.sources.host import Host;"
        "from necroscope.sources.cgroup_ledger import CGROUP_LEDGER;"
        "read = CGROUP_LEDGER.open(Host()); print(read().reason, flush=True); sys.stdin.read();"
        "print([(group.pattern, group.made, group.removed) for group in read().value.groups])"
    )
    only = "-all,+dac_read_search,+sys_ptrace"
    as_user = [*as_nobody(), "--inh-caps", only, "--ambient-caps", only, "--bounding-set", only]
    try:
        subprocess.run(["sh", "-c", command.replace("$$", "$")], check=True)
        words = [*as_user, sys.executable, "-c", code]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout
        assert process.stdout.readline() == "\n"
        folder.mkdir()
        folder.rmdir()
        output, _ = process.communicate()
        assert "('/prepared-#', 1, 1)" in output
    finally:
        prepared.rmdir()


def test_another_user_is_told_what_is_missing() -> None:
    os.seteuid(65534)
    try:
        reading = CGROUP_LEDGER.open(Host())()
    finally:
        os.seteuid(0)
    assert reading.absence is Absence.NOT_PERMITTED
    assert "tracing" in reading.detail


def test_doctor_names_the_leaker_and_not_the_clean_one(doctor: Doctor) -> None:
    command = "from tests.real.test_ledger import leak_later; leak_later()"
    root = Path(__file__).parents[2]
    process = subprocess.Popen([sys.executable, "-c", command], stdin=subprocess.PIPE, cwd=root)
    try:
        body = doctor("-d", "9s")
    finally:
        process.communicate()
    (finding,) = findings(body, "memory-cgroup-leak")
    facts = evidence(finding)
    assert facts["made by"] == "leaker-a"
    assert facts["leaked while looking"] == facts["removed"] == 300


def leak_later() -> None:
    """In a process beside doctor: leak after two seconds, and hold until told otherwise."""
    time.sleep(2)
    with leakers(Leaker("leaker-a", 300, 0, "lab-a.service"), Leaker("tidy", 0, 300)):
        sys.stdin.read()

"""No path through the program changes the machine without --apply.

Every verb runs in a container with a real systemd, a unit that leaks, and the host's cgroups and interrupts,
which it may change. All file systems are read-only but the folder that the verb was given, strace sees every
call that could change something, and what there is to change is compared before and after.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lab.faults import leaking_units
from lab.faults.leaking_units import LeakingUnit, leaking_unit
from necroscope.cli.main import VERBS
from necroscope.model import remedy_ids as ids
from necroscope.sources.host import Host
from necroscope.sources.nic_queues import open_nic_queues
from tests.fleet.jobs.answers import Said, Server, serving
from tests.real.forbidden_calls import READING_METHODS, forbidden
from tests.real.system_calls import Call, bus_methods, read_calls, under_watch


def why_not() -> str | None:
    if shutil.which("strace") is None:
        return "strace is missing: apt-get install strace"
    return leaking_units.why_not()


pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
CHECKOUT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).with_name("necroscope")
UNIT = "ecs.service"
LOOK = "-d 1s"

# What others read, in this order; {} is the folder that is given, {api} the API server of a cluster.
WRITERS = (
    "record -d 3s --store {}/store --textfile {}/necroscope.prom",
    "import {}/stacks.folded --store {}/store",
    "seal --store {}/store",
    "fleet ship --store {}/store --fleet {}/fleet",
    "snapshot -o {}/one.json",
    "snapshot -o {}/two.json",
    f"fix {UNIT} {LOOK} -o {{}}/plan.json",
)
SUBJECTS = {
    ids.DISABLE_UNIT: UNIT,
    ids.LIMIT_CRASH_LOOP: UNIT,
    ids.CLEAN_BEFORE_REMOVAL: UNIT,
    ids.MOVE_INTERRUPTS: "0",
}
READERS = (
    f"doctor {LOOK}",
    "timeline --store {}/store",
    "events --store {}/store",
    "scope --store {}/store",
    "flame --store {}/store",
    "diagnose --store {}/store",
    "culprit --store {}/store",
    f"zombies {LOOK}",
    f"audit {LOOK}",
    "drift {}/one.json {}/two.json",
    "report --store {}/store -o {}/report.md",
    "serve --store {}/store -o {}/page.html",
    "rules prometheus,prometheus-operator,grafana,npd -o {}/rules",
    "kubernetes show --store {}/store --address {api} --node node-a",
    "verify --at 2s --window 1s --now --store {}/store",
    "verify --at 1s --window 2s --store {}/store",
    "explain zombie-memory-cgroups",
    "list",
    "completions bash",
    f"fix {LOOK}",
    "fix --list --store {}/store",
    "fix --plan {}/plan.json",
    f"fix {UNIT} {LOOK}",
    f"fix zombie-memory-cgroups {LOOK}",
    *(f"fix {id} {SUBJECTS.get(id, '')} {LOOK}" for id in ids.REMEDIES),
)
ROWS = (*WRITERS, *READERS)
AT_ONCE = 3

# Not proc, sysfs and the cgroups: there the program looks whether it could write.
READ_ONLY = r"""
given=$1; shift
while read -r _ place type _; do
  place=$(printf %s "$place" | sed 's/\\040/ /g')
  case $type:$place in
    proc:*|sysfs:*|cgroup*:*|tracefs:*|*:/proc/*|*:"$given") ;;
    *) mount -n -o remount,bind,ro "$place" || exit ;;
  esac
done </proc/self/mounts
for place in / /etc /etc/systemd /usr /run /tmp /var/tmp /dev/shm; do
  if [ -w "$place" ]; then echo "$place can be written" >&2; exit 99; fi
done
exec "$@"
"""
# Python's own cache beside its modules, where it may be written: not the program's doing.
ENVIRONMENT = "PYTHONDONTWRITEBYTECODE=1"


@dataclass(frozen=True, slots=True)
class Run:
    """One row, and what came of it."""

    row: str
    code: int
    stdout: str
    stderr: str
    calls: list[Call] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Watch:
    """The machine, the folder that the program may write to, and where what it does is written down."""

    leak: LeakingUnit
    given: Path
    traces: Path
    api: Server

    def run(self, row: str, *before: str) -> Run:
        """One row of words; `before` is what makes all read-only."""
        trace = Path(tempfile.mkdtemp(dir=self.traces))
        words = row.replace("{}", str(self.given)).replace("{api}", self.api.address).split()
        command = under_watch(trace, [str(PROGRAM), *words, "--json"])
        done = self.leak.machine.run([*before, "env", ENVIRONMENT, *command], timeout_seconds=180)
        return Run(row, done.returncode, done.stdout, done.stderr, read_calls(trace))

    def run_read_only(self, row: str) -> Run:
        """The same, where nothing can be written but the folder and what strace writes."""
        writable = str(self.given.parent)
        return self.run(row, "unshare", "--mount", "sh", "-c", READ_ONLY, "sh", writable)


def state(leak: LeakingUnit) -> dict[str, str]:
    """What there is to change: files, links, interrupts, settings, cgroups, what systemd knows of units."""
    root = leak.machine.root
    found = {}
    for top in ("etc", "usr/lib/systemd", "run/systemd/system", "run/systemd/transient"):
        for folder, folders, files in os.walk(root / top):
            for path in (Path(folder) / name for name in (*folders, *files)):
                status = path.lstat()
                link = str(path.readlink()) if path.is_symlink() else ""
                found[str(path)] = f"{status.st_mode:o} {status.st_uid} {status.st_mtime_ns} {link}"
    for pattern in ("irq/*/smp_affinity_list", "sys/vm/*", "sys/kernel/p*", "sys/kernel/kptr_restrict"):
        for path in Path("/proc").glob(pattern):
            # The kernel itself lowers the rate of samples where they take too long.
            if path.is_file() and path.stat().st_mode & 0o400 and "perf_event_max_sample" not in path.name:
                found[str(path)] = path.read_text()
    # The unit comes and goes, and what it leaks.
    cgroups = (folder for folder, _, _ in os.walk(leak.cgroup.parent) if "/ecs" not in folder)
    found["cgroups"] = " ".join(sorted(cgroups))
    listed = leak.machine.run(["systemctl", "list-unit-files", "--no-legend"]).stdout
    return {**found, "unit files": listed, **loaded_units(leak)}


def loaded_units(leak: LeakingUnit) -> dict[str, str]:
    """What each unit was loaded from. systemd forgets one that is not active when nothing refers to it."""
    shown = "--property=ActiveState,Id,LoadState,UnitFileState,FragmentPath,DropInPaths"
    found = {}
    for unit in leak.machine.run(["systemctl", "show", shown, "*"]).stdout.strip().split("\n\n"):
        state = dict(line.split("=", 1) for line in unit.splitlines())
        if state.pop("ActiveState") == "active" or state["Id"] == UNIT:
            found[f"unit {state['Id']}"] = str(state)
    return found


@pytest.fixture(scope="module")
def watch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watch]:
    place = tmp_path_factory.mktemp("watch")
    (place / "given/fleet").mkdir(parents=True)
    (place / "traces").mkdir()
    (place / "given/stacks.folded").write_text("kubelet;shrink_node;mem_cgroup_iter 12\n")
    node = Said(b'{"kind": "Node", "status": {"conditions": []}}')
    with (
        serving(lambda _: node) as api,  # it can only be asked: it knows no other method than GET
        leaking_unit(300, 20, binds=(CHECKOUT, place), private_network=False) as leak,
    ):
        yield Watch(leak, place / "given", place / "traces", api)


@pytest.fixture(scope="module")
def before(watch: Watch) -> dict[str, str]:
    return state(watch.leak)


@pytest.fixture(scope="module")
def runs(watch: Watch, before: dict[str, str]) -> dict[str, Run]:
    """All rows, each run once."""
    written = [watch.run_read_only(row) for row in WRITERS]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        read = list(pool.map(watch.run_read_only, READERS))
    return {run.row: run for run in (*written, *read)}


@pytest.fixture(scope="module")
def after(runs: dict[str, Run], watch: Watch) -> dict[str, str]:
    return state(watch.leak)


each_row = pytest.mark.parametrize("row", ROWS)


def test_every_verb_has_a_row() -> None:
    assert {row.split()[0] for row in ROWS} == set(VERBS)


@each_row
def test_it_works_on_a_read_only_machine(runs: dict[str, Run], row: str) -> None:
    run = runs[row]
    if "page not built" in run.stderr:
        pytest.skip(run.stderr)
    verdicts = (0, 3, 4) if row.startswith("verify") else (0, 1)
    assert run.code in verdicts, run.stderr + run.stdout
    assert json.loads(run.stdout)["ok"]


@each_row
def test_it_does_not_try_to_change_anything(runs: dict[str, Run], watch: Watch, row: str) -> None:
    calls = runs[row].calls
    assert any(call.name == "execve" for call in calls), "the watch saw nothing"
    assert list(forbidden(calls, str(watch.given))) == []


@each_row
def test_it_only_asks_systemd(runs: dict[str, Run], row: str) -> None:
    assert bus_methods(runs[row].calls) <= set(READING_METHODS)


def test_the_machine_is_as_it_was(before: dict[str, str], after: dict[str, str]) -> None:
    assert len(before) > 1000
    assert {name: after.get(name) for name in before if after.get(name) != before[name]} == {}
    assert set(after) - set(before) == set()


def test_systemd_was_asked_and_the_ledger_was_there(runs: dict[str, Run]) -> None:
    """Else the rows above have not gone the way that they do on a node."""
    doctor = runs[f"doctor {LOOK}"]
    assert "Get" in bus_methods(doctor.calls)
    assert any("instances/necroscope-" in path for call in doctor.calls for path in call.paths)


def test_the_cluster_was_asked(runs: dict[str, Run], watch: Watch) -> None:
    assert {path.partition("?")[0] for path, _ in watch.api.asked} == {"/api/v1/nodes/node-a"}


@pytest.fixture
def fix(watch: Watch) -> Iterator[Callable[[str], Run]]:
    """Carry out a remedy under the watch, and take it back in the end."""
    store = f"--store {watch.given}/store"
    done = []

    def apply(words: str) -> Run:
        run = watch.run(f"fix {words} {LOOK} --apply --baseline 0s {store}")
        assert run.code == 0, run.stderr
        done.append(json.loads(run.stdout)["fix"]["id"])
        return run

    yield apply
    for id in done:
        undone = watch.run(f"fix --undo {id} {store}")
        assert undone.code == 0, undone.stderr


def test_the_watch_sees_interrupts_move(
    watch: Watch, after: dict[str, str], fix: Callable[[str], Run]
) -> None:
    """A control: with --apply, the calls and the comparison show it."""
    queues = open_nic_queues(Host())().value
    if not queues or (os.cpu_count() or 1) < 2:
        pytest.skip("needs a network device with queues, and two cores")
    run = fix(f"move-interrupts {queues[0].cores[0]}")
    seen = list(forbidden(run.calls, str(watch.given)))
    moved = [call for call in seen if "smp_affinity_list" in call]
    others = [call for call in seen if "necroscope-fixes" not in call and call not in moved]  # the lock
    assert moved
    assert not others
    changed = state(watch.leak)
    assert {name for name in changed if changed[name] != after.get(name)} == {
        f"/proc/irq/{queue.irq}/smp_affinity_list" for queue in queues if queue.cores == queues[0].cores
    }


def test_the_watch_sees_a_unit_being_stopped(
    watch: Watch, after: dict[str, str], fix: Callable[[str], Run]
) -> None:
    """The same of what systemd is told, and of files."""
    assert state(watch.leak) == after
    run = fix(f"disable-unit {UNIT}")
    assert "StopUnit" in bus_methods(run.calls)
    assert list(forbidden(run.calls, str(watch.given)))
    assert state(watch.leak) != after

"""The kernels scenario: as expected on all of them, its page is what its results say, and it undoes all."""

from __future__ import annotations

import copy
import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from lab.faults import zombies as v1_zombies
from lab.machines import qemu
from lab.running.run import run
from lab.running.scenario import all_scenarios
from lab.running.stage import Stage
from lab.scenarios.kernels.counting import added, count_by_all_methods
from lab.scenarios.kernels.judging import (
    JUDGED,
    MUST_HOLD,
    MUST_HOLD_IN_GUESTS,
    growing_reads,
    leaves_zombies,
    methods,
    pins_told,
    where_not,
)
from lab.scenarios.kernels.machines import DEBIAN, HERE, machines, probing
from lab.scenarios.kernels.page import kernels_page
from lab.scenarios.kernels.reading_cost import compared
from lab.scenarios.kernels.write_page import PAGE, RESULTS, joined
from necroscope.sources.hierarchies import find_hierarchy
from necroscope.sources.host import Host

HOSTS = Path(__file__).parents[1] / "hosts"
LEFT_IN = (
    Path("/sys/fs/cgroup/memory"),
    Path("/dev/shm"),
    Path("/var/tmp"),
    Path("/sys/kernel/tracing/instances"),
)


@pytest.fixture
def results() -> dict[str, Any]:
    """Those of the run that the page was made from."""
    if not RESULTS.exists():
        pytest.skip("no run of the scenario is kept: python -m lab.scenarios.kernels.write_page")
    found: dict[str, Any] = json.loads(RESULTS.read_text())
    return found


@pytest.mark.long
@pytest.mark.skipif(qemu.why_not() is not None, reason=str(qemu.why_not()))
def test_every_kernel_answers_as_expected(tmp_path: Path) -> None:
    stage = Stage(folder=tmp_path)
    outcome = run(all_scenarios()["kernels"], stage)
    assert not outcome.failure and not outcome.left_behind
    assert [check for check in outcome.checks if not check.holds] == []
    assert outcome.is_as_expected, outcome
    if missing := [why for part, why in outcome.not_run if part.startswith("debian-")]:
        pytest.skip(f"not all kernels: {missing}")
    assert len(stage.results["machines"]) == len(DEBIAN) + 1
    assert "| release | 5.10" in (tmp_path / "kernels.md").read_text()


def test_the_page_is_what_the_run_found(results: dict[str, Any]) -> None:
    command = "python -m lab.scenarios.kernels.write_page"
    assert PAGE.read_text() == kernels_page(results), f"made by `{command}`, not by hand"


def test_the_results_of_the_page_are_as_expected(results: dict[str, Any]) -> None:
    assert set(results["machines"]) == {machine.id for machine in machines(None)}
    assert where_not(results["machines"]) == results["where_not"]
    assert not any(results["where_not"].values())


def test_all_that_must_hold_is_expected() -> None:
    rows = [row.result for row in all_scenarios()["kernels"].expectations]
    expected = {row.removeprefix("where_not.") for row in rows if row.startswith("where_not.")}
    assert expected == {JUDGED, *MUST_HOLD, *MUST_HOLD_IN_GUESTS}


def test_runs_of_some_machines_are_joined(results: dict[str, Any], tmp_path: Path) -> None:
    ids = list(results["machines"])
    for name, some in (("a", ids[:2]), ("b", ids[1:])):
        part = {**results, "machines": {id: results["machines"][id] for id in some}}
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.json").write_text(json.dumps(part))
    assert kernels_page(joined([tmp_path / "b", tmp_path / "a"])) == kernels_page(results)
    assert list(joined([tmp_path / "a"])["names"]) == ids[:2]


def test_a_given_kernel_takes_the_place_of_debians() -> None:
    given = machines(Path("/boot/vmlinuz"))
    assert [(one.id, one.cgroups, one.kernel) for one in given] == [
        ("given-v1", "v1", Path("/boot/vmlinuz")),
        ("given-v2", "v2", Path("/boot/vmlinuz")),
    ]


def test_what_is_wrong_is_named_with_its_machine(results: dict[str, Any]) -> None:
    found = copy.deepcopy(results["machines"])
    guest = found["debian-6-1-v2"]
    guest["counts"]["ledger"]["count"] = 3
    guest["purge"]["amiss"] = ["it did nothing"]
    guest["doctor"]["not_checked"]["cores"] = "unreadable"
    guest["pins"]["tmpfs"]["tmpfs_bytes"] = 0
    wrong = {what for what, where in where_not(found).items() if where == ["debian-6-1-v2"]}
    assert wrong == {
        "no step of the purge goes amiss",
        "doctor misses only what a guest lacks",
        "what holds them is told, or that a page each is too little to tell",
    }
    assert methods(guest, right=False) == ["ledger"]
    assert "ledger" not in methods(guest, right=True)
    assert pins_told(guest) == ["page_cache_bytes"]


def test_a_kernel_that_keeps_no_zombies_is_said_to(results: dict[str, Any]) -> None:
    found = results["machines"]["debian-6-12-v2"]
    found["counts"] = {method: {"count": 0} for method in found["counts"]}
    assert not leaves_zombies(found)
    results["machines"]["here"] = {key: found[key] for key in ("machine", "sources")} | {
        "no_memory_cgroups": "none"
    }
    page = kernels_page(results)
    assert "Debian 6.12, v2: this kernel frees removed memory cgroups at once." in page
    assert "this machine: none." in page
    assert not any("debian-6-12-v2" in where for where in where_not(results["machines"]).values())


def test_a_read_that_grows_is_not_called_flat() -> None:
    before = {
        "memory.stat of root": {"microseconds": 60.0},
        "memory.numa_stat of root": {"microseconds": 75.0},
    }
    after = {
        "memory.stat of root": {"microseconds": 58.0},
        "memory.numa_stat of root": {"microseconds": 6360.0},
    }
    both = compared(before, after)
    assert growing_reads({"reads": both}) == ["memory.numa_stat of root"]
    gone = {name: {"absent": "no such file"} for name in before}
    assert growing_reads({"reads": compared(gone, gone)}) == []


@pytest.mark.parametrize("tree", sorted(path.name for path in HOSTS.iterdir() if path.is_dir()))
def test_methods_on_recorded_trees_agree_with_the_program(tree: str) -> None:
    host = Host(HOSTS / tree)
    hierarchy = find_hierarchy(host, "memory").value
    if hierarchy is None:
        pytest.skip(f"{tree} has no memory hierarchy")
    counts = count_by_all_methods(host, hierarchy)
    given = {
        answer["count"] for method, answer in counts.items() if "count" in answer and method != "slabinfo"
    }
    assert len(given) <= 1, counts
    assert all("count" in answer or answer["absent"] for answer in counts.values())
    assert all(answer.get("count", 0) == 0 for answer in added(counts, counts).values())


@pytest.mark.long  # whatever else on the machine has such a name counts too
@pytest.mark.skipif(v1_zombies.why_not() is not None, reason=str(v1_zombies.why_not()))
@pytest.mark.parametrize("seconds", [3.0, 7.0])
def test_the_probe_of_this_machine_undoes_all_when_interrupted(seconds: float) -> None:
    before = left_overs()
    with probing(HERE) as process:
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode not in (0, -signal.SIGKILL)
    assert left_overs() - before == set()
    shown = subprocess.run(["ps", "-eo", "comm"], capture_output=True, text=True, check=True).stdout
    assert "lab-agent" not in shown.splitlines()


def left_overs() -> set[Path]:
    names = ("lab-kernels-*", "necroscope-*")
    return {path for folder in LEFT_IN for name in names for path in folder.glob(name)}

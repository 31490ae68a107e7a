"""The runner: outcomes, failures, and whatever a scenario leaves behind, made for real."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lab.running import differences, machine_state, needs
from lab.running.needs import NEEDS, Need
from lab.running.run import run
from lab.running.stage import Stage
from tests.lab.running.tiny_scenarios import AS_ROOT, make, play

as_root = pytest.mark.skipif(AS_ROOT is not None, reason=str(AS_ROOT))
TRACING = Path("/sys/kernel/tracing")


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "ENDING_SECONDS", 2.0)
    monkeypatch.setattr(differences, "BRIEF_SECONDS", -1.0)


def test_a_scenario_that_is_as_expected(tmp_path: Path) -> None:
    body = "stage.tell('made it')\nstage.stand_in('a line')\nstage.results['number'] = 1"
    outcome = play(tmp_path, "good_one", body)
    assert outcome.is_as_expected, outcome
    assert (outcome.scenario, outcome.stand_ins, outcome.left_behind) == ("good-one", ("a line",), ())
    assert json.loads((outcome.folder / "results.json").read_text()) == {"number": 1}
    assert "s  made it\n" in (outcome.folder / "transcript.txt").read_text()
    assert json.loads((outcome.folder / "outcome.json").read_text())["as_expected"] is True


def test_a_scenario_that_is_not_as_expected(tmp_path: Path) -> None:
    outcome = play(tmp_path, "other", "stage.results['number'] = 2")
    assert not outcome.is_as_expected
    assert [(one.holds, one.seen) for one in outcome.checks] == [(False, 2)]
    document = json.loads((outcome.folder / "outcome.json").read_text())
    assert document["as_expected"] is False and document["checks"][0]["seen"] == 2


def test_a_failure_is_an_outcome_and_what_was_made_is_undone(tmp_path: Path) -> None:
    body = """
with tempfile.TemporaryDirectory(prefix="lab-try-"):
    stage.results["before"] = True
    raise ValueError("no such thing")
"""
    outcome = play(tmp_path, "failing", body)
    assert outcome.failure == "ValueError: no such thing (make.py:9)"
    assert not outcome.is_as_expected and not outcome.is_interrupted
    assert outcome.left_behind == ()
    assert "Traceback" in (outcome.folder / "failure.txt").read_text()
    assert json.loads((outcome.folder / "results.json").read_text()) == {"before": True}


def test_an_end_in_the_middle_is_an_outcome_too(tmp_path: Path) -> None:
    assert play(tmp_path, "ending", "sys.exit('enough')").failure == "SystemExit: enough (make.py:7)"


def test_on_an_unfit_machine_nothing_is_started_and_all_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(NEEDS, "moon", Need("a moon", lambda: "it is new", "wait a week"))
    monkeypatch.setitem(NEEDS, "tide", Need("a tide", lambda: "it is low", "wait a while"))
    facts = 'needs = ["moon", "tide"]\nseconds = 1\n'
    scenario = make(tmp_path, "lunar", f"Path({str(tmp_path / 'played')!r}).touch()", facts=facts)
    outcome = run(scenario, Stage(folder=tmp_path / "run"))
    assert outcome.unfit == ("moon: it is new (wait a week)", "tide: it is low (wait a while)")
    assert not outcome.is_as_expected
    assert not (tmp_path / "played").exists() and not (tmp_path / "run").exists()


def test_a_given_kernel_needs_none_of_debians(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NEEDS, "kernels", Need("kernels", lambda: "no mirror", "apt-get update"))
    facts = 'needs = ["kernels"]\nseconds = 1\n'
    scenario = make(tmp_path, "booter", "stage.results['number'] = 1", facts=facts)
    assert run(scenario, Stage(folder=tmp_path / "run")).unfit
    assert run(scenario, Stage(folder=tmp_path / "run", kernel=tmp_path / "vmlinuz")).is_as_expected


def test_what_every_login_leaves_in_run_fails_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transient = tmp_path / "transient"
    (transient / "old.d").mkdir(parents=True)
    monkeypatch.setattr(machine_state, "SHORT_LIVED", (transient,))
    body = f"""
Path({str(transient / "session-7.scope")!r}).touch()
Path({str(transient / "old.d/lab-limit.conf")!r}).touch()
stage.results["number"] = 1
"""
    outcome = play(tmp_path, "visitor", body)
    assert outcome.left_behind == (f"still there: file {transient}/old.d/lab-limit.conf",)
    assert f"still there: file {transient}/session-7.scope" in outcome.also_changed


def test_what_others_make_just_when_it_is_looked_at_is_not_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = replace(machine_state.read_machine_state(), processes={}, zombies=0)
    passing, stays = "tracefs instance necroscope-4194304", "tracefs instance necroscope-lab-stays"
    looks = iter([{passing, stays}, {stays, "tracefs instance necroscope-4194305"}])
    monkeypatch.setattr(
        differences, "read_machine_state", lambda: replace(state, objects=state.objects | next(looks))
    )
    monkeypatch.setattr(differences, "ENDING_SECONDS", 0.0)
    before = differences.Before(state, "1-1", tmp_path)
    assert before.settled().left == (f"still there: {stays}",)


def test_perf_that_cannot_sample_is_no_perf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "TRY_PERF", ("sh", "-c", "echo No permission >&2; exit 255"))
    monkeypatch.setattr(needs, "_why_not_tools", lambda tools: None)
    needs._why_not_perf.cache_clear()
    assert needs._why_not_perf() == "perf cannot sample all cores: No permission"
    needs._why_not_perf.cache_clear()


def test_a_part_that_is_left_out_is_not_expected_of_it(tmp_path: Path) -> None:
    scenario = make(tmp_path, "parted", "stage.results['number'] = 1\nstage.leave_out('job', 'no Ray')")
    rows = '[[expect]]\npart = "job"\nthat = "it works"\nresult = "job"\nequals = 1\n'
    (scenario.folder / "expect.toml").write_text((scenario.folder / "expect.toml").read_text() + rows)
    from lab.running.scenario import all_scenarios

    outcome = run(all_scenarios(scenario.folder.parent)["parted"], Stage(folder=tmp_path / "run"))
    assert outcome.is_as_expected and outcome.not_run == (("job", "no Ray"),)


@pytest.fixture
def later() -> Iterator[list[Callable[[], object]]]:
    """What removes what a scenario of a test leaves behind."""
    undo: list[Callable[[], object]] = []
    yield undo
    for one in undo:
        one()


def test_a_process_that_stays_is_named_and_one_that_ends_soon_is_not(
    tmp_path: Path, later: list[Callable[[], object]]
) -> None:
    body = """
# Twice removed, in a session of its own: only its environment tells whose it is.
short = subprocess.run(["sh", "-c", "setsid sleep 1 & "], check=True)
stays = subprocess.run(["sh", "-c", "setsid sleep 77 >&- 2>&- & echo $!"], check=True, capture_output=True)
stage.results |= {"number": 1, "pid": int(stays.stdout)}
"""
    outcome = play(tmp_path, "forgetful", body)
    pid = json.loads((outcome.folder / "results.json").read_text())["pid"]
    later.append(lambda: os.kill(pid, 9))
    assert f"still there: process {pid} (sleep)" in outcome.left_behind
    assert not outcome.is_as_expected and all(one.holds for one in outcome.checks)


def test_a_process_of_somebody_else_is_told_apart(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "NECROSCOPE_LAB_RUN"}
    body = f"""
stays = subprocess.run(["sh", "-c", "setsid sleep 78 >&- 2>&- & echo $!"], env={environment!r},
    check=True, capture_output=True)
stage.results |= {{"number": 1, "pid": int(stays.stdout)}}
"""
    outcome = play(tmp_path, "bystander", body)
    pid = json.loads((outcome.folder / "results.json").read_text())["pid"]
    os.kill(pid, 9)
    assert outcome.is_as_expected
    assert f"still there: process {pid} (sleep)" in outcome.also_changed


@as_root
def test_a_cgroup_that_stays_is_named(tmp_path: Path, later: list[Callable[[], object]]) -> None:
    top = next(path for path in (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")) if path.is_dir())
    cgroup = top / f"lab-left-{os.getpid()}"
    later.append(cgroup.rmdir)
    outcome = play(tmp_path, "cgrouper", f"os.mkdir({str(cgroup)!r})\nstage.results['number'] = 1")
    assert f"still there: cgroup {cgroup}" in outcome.left_behind


@as_root
def test_a_mount_that_stays_is_named(tmp_path: Path, later: list[Callable[[], object]]) -> None:
    place = tmp_path / "run/place"
    later.append(lambda: subprocess.run(["umount", place], check=True))
    body = f"""
os.makedirs({str(place)!r})
subprocess.run(["mount", "-n", "-t", "tmpfs", "lab", {str(place)!r}], check=True)
stage.results["number"] = 1
"""
    outcome = play(tmp_path, "mounter", body)
    assert f"still there: mount {place} (tmpfs lab)" in outcome.left_behind


@as_root
@pytest.mark.skipif(shutil.which("ip") is None, reason="needs ip")
def test_links_and_namespaces_that_stay_are_named(tmp_path: Path, later: list[Callable[[], object]]) -> None:
    for words in (["link", "del", "lab-left"], ["netns", "del", "lab-left"]):
        later.append(lambda words=words: subprocess.run(["ip", *words], check=True))  # type: ignore[misc]
    body = """
subprocess.run(["ip", "link", "add", "lab-left", "type", "veth", "peer", "name", "lab-peer"], check=True)
subprocess.run(["ip", "netns", "add", "lab-left"], check=True)
stage.results["number"] = 1
"""
    outcome = play(tmp_path, "linker", body)
    assert "still there: link lab-left" in outcome.left_behind
    assert "still there: file /run/netns/lab-left" in outcome.left_behind


@as_root
@pytest.mark.skipif(AS_ROOT is not None or not (TRACING / "instances").is_dir(), reason="needs tracefs")
def test_a_tracefs_instance_that_stays_is_named(tmp_path: Path, later: list[Callable[[], object]]) -> None:
    instance = TRACING / "instances/lab-left"
    later.append(instance.rmdir)
    outcome = play(tmp_path, "tracer", f"os.mkdir({str(instance)!r})\nstage.results['number'] = 1")
    assert "still there: tracefs instance lab-left" in outcome.left_behind


@as_root
def test_a_setting_that_stays_changed_is_named(tmp_path: Path, later: list[Callable[[], object]]) -> None:
    setting = Path("/proc/sys/vm/vfs_cache_pressure")
    was = setting.read_text().strip()
    later.append(lambda: setting.write_text(was))
    outcome = play(
        tmp_path, "setter", f"Path({str(setting)!r}).write_text('101')\nstage.results['number'] = 1"
    )
    assert f"changed: setting vm.vfs_cache_pressure: {was} before, 101 now" in outcome.left_behind


@as_root
def test_a_folder_that_stays_is_named(tmp_path: Path, later: list[Callable[[], object]]) -> None:
    folder = Path(f"/dev/shm/lab-left-{os.getpid()}")
    later.append(folder.rmdir)
    outcome = play(tmp_path, "folderer", f"os.mkdir({str(folder)!r})\nstage.results['number'] = 1")
    assert f"still there: file {folder}" in outcome.left_behind

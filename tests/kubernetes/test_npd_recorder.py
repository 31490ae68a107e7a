"""node-problem-detector can tell what a recorder on the host has found, from the file that it writes."""

from __future__ import annotations

import subprocess
from importlib.resources import files
from pathlib import Path

from necroscope.findings.catalog import DETECTORS
from necroscope.kubernetes.conditions import condition_rules
from necroscope.kubernetes.npd import CONDITION, LONGEST_OUTPUT
from necroscope.kubernetes.npd_recorder import PROGRAM, recorder_monitor
from necroscope.model.finding import Severity
from necroscope.model.node_state import ActiveFinding
from tests.kubernetes.recorder_textfile import textfile

CHECK = Path(str(files("necroscope.kubernetes"))) / "programs" / PROGRAM
OK, PROBLEM, UNKNOWN = 0, 1, 2


def check(file: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run(["sh", CHECK, file, *words], capture_output=True, text=True, check=False)
    assert not done.stderr
    assert len(done.stdout) <= LONGEST_OUTPUT + 1
    return done.returncode, done.stdout.strip()


def test_a_finding_sets_it_and_none_clears_it(tmp_path: Path) -> None:
    leak = ("zombie-memory-cgroups", "zombie-memory-cgroups", "memory-cgroup-leak")
    file = textfile(tmp_path)
    assert check(file, *leak) == (OK, "none of: zombie-memory-cgroups memory-cgroup-leak")
    file = textfile(tmp_path, ActiveFinding("memory-cgroup-leak", Severity.WARNING, "ecs leaks"))
    assert check(file, *leak) == (PROBLEM, "warning: memory-cgroup-leak")
    assert check(file, "core-saturated", "core-saturated")[0] == OK
    both = (
        ActiveFinding("zombie-memory-cgroups", Severity.WARNING, "1,200"),
        ActiveFinding("memory-cgroup-leak", Severity.CRITICAL, "ecs leaks"),
    )
    assert check(textfile(tmp_path, *both), *leak) == (PROBLEM, "critical: memory-cgroup-leak")


def test_info_is_no_problem(tmp_path: Path) -> None:
    file = textfile(tmp_path, ActiveFinding("core-saturated", Severity.INFO, "core 5, in user space"))
    assert check(file, "core-saturated", "core-saturated")[0] == OK


def test_what_nobody_looked_for_is_unknown(tmp_path: Path) -> None:
    file = textfile(tmp_path)
    assert check(file, "unit-crash-loop", "unit-crash-loop") == (
        UNKNOWN,
        "unknown: not looked for: unit-crash-loop",
    )
    assert check(tmp_path / "none", "nic-reset", "nic-reset")[0] == UNKNOWN
    assert check(file)[0] == UNKNOWN
    (tmp_path / "empty").write_text("")
    assert check(tmp_path / "empty", "nic-reset", "nic-reset") == (
        UNKNOWN,
        "unknown: nothing was examined yet",
    )
    old = textfile(tmp_path, age_seconds=5000)
    code, said = check(old, "nic-reset", "nic-reset")
    assert code == UNKNOWN
    assert said.startswith("unknown: last examined 5")


def test_the_monitor_has_all_conditions_that_findings_set() -> None:
    monitor = recorder_monitor("/necroscope", LONGEST_OUTPUT)
    types = {rule.type for rule in condition_rules()} - {"necroscope.dev/RecorderImpaired"}
    assert {row["type"] for row in monitor["conditions"]} == types
    assert CONDITION not in types, "what is counted without a recorder means something else"
    for rule, row in zip((one for one in condition_rules() if one.must_look), monitor["rules"], strict=True):
        assert row["condition"] == rule.type
        assert row["args"][2:] == [rule.must_look[0], *rule.findings]
        assert len(rule.must_look) == 1, "the program asks for one"
        assert row["reason"] != rule.healthy_reason
        assert set(rule.findings) <= {detector.id for detector in DETECTORS}
        assert len(f"critical: {max(rule.findings, key=len)}") <= LONGEST_OUTPUT

"""What node-problem-detector is told: the same lines as our own rules, by Go's own regular expressions."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from necroscope.cli.rules import DOCS
from necroscope.findings.catalog import DETECTORS
from necroscope.kubernetes import npd
from necroscope.kubernetes.conditions import condition_rules
from necroscope.kubernetes.npd_patterns import as_re2
from necroscope.model.finding import Severity
from necroscope.model.node_state import ActiveFinding
from necroscope.signals.kernel_log_events import kernel_log_rules, match_line
from necroscope.signals.thresholds import default_thresholds
from necroscope.sources.kernel_log import LogLine
from tests.kubernetes.recorder_textfile import textfile

CHECK = Path(str(files("necroscope.kubernetes"))) / "programs" / npd.FINDINGS_PROGRAM
OK, PROBLEM, UNKNOWN = 0, 1, 2
DEPLOYED = Path(__file__).parents[2] / "deploy/rules"
MATCHER = Path(__file__).with_name("npd_lines.go")
ORDINARY = Path(__file__).parents[1] / "signals/ordinary_kernel_lines.txt"
TABLES: dict[str, dict[str, Any]] = tomllib.loads(
    files("necroscope.signals").joinpath("rules/kernel_log.toml").read_text()
)
REASON_OF = {rule.id: reason.name for reason in npd.npd_reasons() for rule in reason.rules}

with_go = pytest.mark.skipif(
    shutil.which("go") is None, reason="needs Go, whose regular expressions are asked"
)


def as_read_from_kmsg(line: str) -> str:
    """What is not printable reaches a reader of /dev/kmsg as \\xNN; some examples are written so."""
    return re.sub(rb"[^ -~]", lambda byte: b"\\x%02x" % byte[0][0], line.encode()).decode()


def reasons_by_us(line: str) -> list[str]:
    event = match_line(LogLine(0, line, 0, 1))
    return [REASON_OF[event.rule]] if event and event.rule in REASON_OF else []


def reasons_by_go(lines: list[str], buffer_size: int) -> list[list[str]]:
    patterns = {rule["reason"]: rule["pattern"] for rule in npd.kernel_monitor(DOCS)["rules"]}
    question = {"patterns": patterns, "lines": lines, "buffer_size": buffer_size}
    done = subprocess.run(
        ["go", "run", str(MATCHER)], input=json.dumps(question), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    answers: list[list[str]] = json.loads(done.stdout)
    return answers


@with_go
@pytest.mark.parametrize("buffer_size", [1, 10])
def test_the_same_lines_match_in_go(buffer_size: int) -> None:
    matching = [line for table in TABLES.values() for line in table["match"]]
    near = [line for table in TABLES.values() for line in table["no_match"]]
    others = [f"node-agent[4711]: {line}" for line in matching] + ORDINARY.read_text().splitlines()
    lines = [*matching, *near, *others]
    answers = reasons_by_go([as_read_from_kmsg(line) for line in lines], buffer_size)
    assert sum(map(bool, answers)) > 150
    wrong = [(line, got) for line, got in zip(lines, answers, strict=True) if got != reasons_by_us(line)]
    assert not wrong
    assert not any(answers[-len(others) :])


def test_every_rule_has_a_reason_or_is_left_out() -> None:
    left_out = {rule.id for rule in kernel_log_rules()} - REASON_OF.keys()
    assert {TABLES[id]["event"] for id in left_out} == {"nic-reset", "oom-kill", "hung-task", "user-mark"}
    assert {TABLES[id].get("phase") for id in left_out} == {"done", None}
    for reason in npd.npd_reasons():
        assert reason.rules, reason.name
        assert re.fullmatch(r"([A-Z][a-z]+)+", reason.name)
        assert reason.means.endswith(".")


def test_what_go_does_not_know_is_refused() -> None:
    assert as_re2(r"(?P<core>\d+)(?= \})x") == r"(?:\d+)x"
    for pattern in (r"a(?!b)", r"(?<=a)b", r"(a)\1", r"(?>a)", r"a++", r"a\Z", r"(?=(a))b"):
        with pytest.raises(ValueError, match="Go has no"):
            as_re2(pattern)


def test_the_condition_can_be_set_and_cleared() -> None:
    monitor = npd.memory_cgroups_monitor()
    (condition,), (rule,) = monitor["conditions"], monitor["rules"]
    assert condition["type"] == rule["condition"] == npd.ZOMBIES
    assert condition["reason"] != rule["reason"]
    assert rule["args"][1] == f"{default_thresholds()['zombie-memory-cgroups.warning'].value:.0f}"


def test_the_copies_in_deploy_are_current() -> None:
    made = {file.name: file.text for file in npd.files(DOCS)}
    there = {str(path.relative_to(DEPLOYED)): path.read_text() for path in (DEPLOYED / "npd").iterdir()}
    assert there == made, "make deploy-files"


def check(file: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run(["sh", CHECK, file, *words], capture_output=True, text=True, check=False)
    assert not done.stderr
    assert len(done.stdout) <= npd.MAX_OUTPUT + 1
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
    monitor = npd.recorder_monitor()
    types = {rule.type for rule in condition_rules()} - {"necroscope.dev/RecorderImpaired"}
    assert {row["type"] for row in monitor["conditions"]} == types
    assert npd.ZOMBIES not in types, "what is counted without a recorder means something else"
    for rule, row in zip((one for one in condition_rules() if one.must_look), monitor["rules"], strict=True):
        assert row["condition"] == rule.type
        assert row["args"][2:] == [rule.must_look[0], *rule.findings]
        assert len(rule.must_look) == 1, "the program asks for one"
        assert row["reason"] != rule.healthy_reason
        assert set(rule.findings) <= {detector.id for detector in DETECTORS}
        assert len(f"critical: {max(rule.findings, key=len)}") <= npd.MAX_OUTPUT

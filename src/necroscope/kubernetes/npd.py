"""What node-problem-detector needs to know of our findings, for those who run it and not our agent.

It gives events for kernel log lines, and one node condition for zombie memory cgroups: no who and no why.
A recorder that runs as a service of the host, and has no account in the cluster, writes a file with what it
finds. From that, node-problem-detector sets the conditions of rules/conditions.toml: they mean the same as
when the recorder reports them itself, and it is one or the other.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files as package_files
from typing import Any

from necroscope.kubernetes.conditions import condition_rules
from necroscope.kubernetes.npd_patterns import any_line_pattern
from necroscope.model.rule_file import RuleFile
from necroscope.signals.kernel_log_events import Rule, kernel_log_rules
from necroscope.signals.thresholds import default_thresholds

PACKAGE = package_files("necroscope.kubernetes")
ZOMBIES_PROGRAM, FINDINGS_PROGRAM = "check-memory-cgroups.sh", "check-findings.sh"
CONFIGURED_AT = "/necroscope"  # where the files are to be mounted
HOST = "/host"  # where that has to mount the host's /sys/fs/cgroup, below
TEXTFILE = f"{HOST}/var/lib/prometheus/node-exporter/necroscope.prom"  # docs/metrics.md has it there
ZOMBIES = "necroscope.dev/ZombieMemoryCgroups"
MAX_OUTPUT = 80  # characters that it keeps of what a plug-in prints, by default


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason of events in rules/npd.toml, and the kernel log rules whose lines give it."""

    name: str
    means: str
    rules: tuple[Rule, ...]


def files(docs: str) -> tuple[RuleFile, ...]:
    """Return the monitor of the kernel log, two that run a program, and the programs."""
    monitors = {
        "kernel-monitor": kernel_monitor(docs),
        "memory-cgroups": memory_cgroups_monitor(),
        "recorder": recorder_monitor(),
    }
    return (
        *(
            RuleFile(f"npd/necroscope-{name}.json", json.dumps(monitor, indent=2) + "\n")
            for name, monitor in monitors.items()
        ),
        *(
            RuleFile(f"npd/{name}", program_text(name), is_program=True)
            for name in (ZOMBIES_PROGRAM, FINDINGS_PROGRAM)
        ),
    )


def kernel_monitor(docs: str) -> dict[str, Any]:
    """Return a system log monitor. Events only: a condition that a log line sets is never cleared again."""
    return {
        "plugin": "kmsg",
        "logPath": "/dev/kmsg",
        "lookback": "5m",
        "bufferSize": 1,  # no pattern of ours goes over several lines
        "source": "necroscope-kernel-monitor",
        "conditions": [],
        "rules": [
            {
                "type": "temporary",
                "reason": reason.name,
                "pattern": any_line_pattern(reason.rules),
                "patternGeneratedMessageSuffix": f"{reason.means} {docs}/npd.md#reasons",
            }
            for reason in npd_reasons()
        ],
    }


@cache
def npd_reasons() -> tuple[Reason, ...]:
    """Return all reasons; each kernel log rule is under the first that fits it, or is left out on purpose."""
    tables = tomllib.loads(PACKAGE.joinpath("rules/npd.toml").read_text())
    left_out = tables.pop("left_out")
    rules: dict[str, list[Rule]] = {name: [] for name in tables}
    for rule in kernel_log_rules():
        if any(_fits(rule, row) for row in left_out):
            continue
        name = next((name for name, table in tables.items() if _fits(rule, table)), "")
        if not name:
            raise ValueError(f"{rule.id}: rules/npd.toml has no reason for it, nor why it is left out")
        rules[name].append(rule)
    return tuple(Reason(name, table["means"], tuple(rules[name])) for name, table in tables.items())


def _fits(rule: Rule, row: Mapping[str, str]) -> bool:
    known = {"rule": rule.id, "event": rule.event, "phase": rule.phase, "cause": rule.cause}
    return all(known[name] == row[name] for name in known if name in row)


def memory_cgroups_monitor() -> dict[str, Any]:
    """Return a plug-in monitor of one condition, set and cleared by what the program counts."""
    most = int(default_thresholds()["zombie-memory-cgroups.warning"].value)
    few = (ZOMBIES, "FewZombieMemoryCgroups", f"fewer than {most} zombie memory cgroups")
    many = (ZOMBIES, "ManyZombieMemoryCgroups", [f"{CONFIGURED_AT}/{ZOMBIES_PROGRAM}", str(most), HOST])
    return _plugin_monitor("necroscope-memory-cgroups", [few], [many])


def recorder_monitor(programs: str = CONFIGURED_AT) -> dict[str, Any]:
    """Return a plug-in monitor of all conditions that findings set; `programs` is where the program is."""
    # What a recorder says of itself is not in its file.
    rules = [rule for rule in condition_rules() if rule.must_look]
    return _plugin_monitor(
        "necroscope-recorder",
        [(rule.type, rule.healthy_reason, rule.healthy_message) for rule in rules],
        [
            (
                rule.type,
                next(iter(rule.findings.values())),  # one for all: which of them it is, the message says
                [f"{programs}/{FINDINGS_PROGRAM}", TEXTFILE, rule.must_look[0], *rule.findings],
            )
            for rule in rules
        ],
    )


def _plugin_monitor(
    source: str,
    conditions: Iterable[tuple[str, str, str]],
    rules: Iterable[tuple[str, str, list[str]]],
) -> dict[str, Any]:
    """Return a monitor of conditions (type, healthy reason and message) by rules (type, reason, command)."""
    return {
        "plugin": "custom",
        "pluginConfig": {
            "invoke_interval": "60s",
            "timeout": "30s",  # its DaemonSet gives it a hundredth of a core
            "max_output_length": MAX_OUTPUT,
            "concurrency": 1,
            "skip_initial_status": True,  # a restart of it would clear the condition for a moment
        },
        "source": source,
        "metricsReporting": True,
        "conditions": [
            {"type": type, "reason": reason, "message": message} for type, reason, message in conditions
        ],
        # By way of sh: files of a ConfigMap are not executable.
        "rules": [
            {"type": "permanent", "condition": type, "reason": reason, "path": "/bin/sh", "args": command}
            for type, reason, command in rules
        ],
    }


def program_text(name: str) -> str:
    """Return a program that needs nothing but a shell."""
    return PACKAGE.joinpath("programs", name).read_text()

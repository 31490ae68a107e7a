"""What node-problem-detector needs to know of our findings, for those who run it and not our agent.

It gives events for kernel log lines, and one node condition for zombie memory cgroups: no who and no why.
Where a recorder runs on the host, but not in the cluster, it can also tell what that has found.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files as package_files
from typing import Any

from necroscope.kubernetes.npd_patterns import any_line_pattern
from necroscope.kubernetes.npd_reasons import npd_reasons
from necroscope.kubernetes.npd_recorder import PROGRAM as FINDINGS_PROGRAM
from necroscope.kubernetes.npd_recorder import recorder_monitor
from necroscope.model.rule_file import RuleFile
from necroscope.signals.thresholds import default_thresholds

FOLDER = "npd"
PROGRAM = "check-memory-cgroups.sh"
CONFIGURED_AT = "/necroscope"  # where the files are to be mounted
HOST = "/host"  # where that has to mount the host's /sys/fs/cgroup, below
CONDITION = "necroscope.dev/ZombieMemoryCgroups"
LONGEST_OUTPUT = 80  # characters that it keeps of what a plug-in prints, by default


def files(docs: str) -> tuple[RuleFile, ...]:
    """The monitor of the kernel log, two that run a program, and the programs."""
    return (
        RuleFile(f"{FOLDER}/necroscope-kernel-monitor.json", _text(kernel_monitor(docs))),
        RuleFile(f"{FOLDER}/necroscope-memory-cgroups.json", _text(memory_cgroups_monitor())),
        RuleFile(f"{FOLDER}/{PROGRAM}", program_text(PROGRAM), is_program=True),
        RuleFile(
            f"{FOLDER}/necroscope-recorder.json", _text(recorder_monitor(CONFIGURED_AT, LONGEST_OUTPUT))
        ),
        RuleFile(f"{FOLDER}/{FINDINGS_PROGRAM}", program_text(FINDINGS_PROGRAM), is_program=True),
    )


def kernel_monitor(docs: str) -> dict[str, Any]:
    """A system log monitor. Events only: a condition that a log line sets is never cleared again."""
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


def memory_cgroups_monitor() -> dict[str, Any]:
    """A custom plug-in monitor: the condition is set and cleared by what the program counts."""
    most = int(default_thresholds()["zombie-memory-cgroups.warning"].value)
    return {
        "plugin": "custom",
        "pluginConfig": {
            "invoke_interval": "60s",
            "timeout": "30s",  # its DaemonSet gives it a hundredth of a core
            "max_output_length": LONGEST_OUTPUT,
            "concurrency": 1,
            "skip_initial_status": True,  # a restart of it would clear the condition for a moment
        },
        "source": "necroscope-memory-cgroups",
        "metricsReporting": True,
        "conditions": [
            {
                "type": CONDITION,
                "reason": "FewZombieMemoryCgroups",
                "message": f"fewer than {most} zombie memory cgroups",
            }
        ],
        "rules": [
            {
                "type": "permanent",
                "condition": CONDITION,
                "reason": "ManyZombieMemoryCgroups",
                # By way of sh: files of a ConfigMap are not executable.
                "path": "/bin/sh",
                "args": [f"{CONFIGURED_AT}/{PROGRAM}", str(most), HOST],
            }
        ],
    }


def program_text(name: str) -> str:
    """A program that needs nothing but a shell."""
    return package_files("necroscope.kubernetes").joinpath("programs", name).read_text()


def _text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2) + "\n"

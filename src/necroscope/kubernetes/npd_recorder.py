"""A monitor for node-problem-detector that asks a recorder on the host, by the file that it writes.

For a recorder that runs as a service of the host and has no account in the cluster. The conditions are those
of rules/conditions.toml and mean the same as when the recorder reports them itself: it is one or the other.
"""

from __future__ import annotations

from typing import Any

from necroscope.kubernetes.conditions import ConditionRule, condition_rules

PROGRAM = "check-findings.sh"
TEXTFILE = "/host/var/lib/prometheus/node-exporter/necroscope.prom"  # docs/metrics.md has it there


def recorder_monitor(programs: str, longest_output: int) -> dict[str, Any]:
    """A custom plug-in monitor of all conditions that findings set; `programs` is where the program is."""
    # What a recorder says of itself is not in its file.
    rules = [rule for rule in condition_rules() if rule.must_look]
    return {
        "plugin": "custom",
        "pluginConfig": {
            "invoke_interval": "60s",
            "timeout": "30s",
            "max_output_length": longest_output,
            "concurrency": 1,
            "skip_initial_status": True,
        },
        "source": "necroscope-recorder",
        "metricsReporting": True,
        "conditions": [
            {"type": rule.type, "reason": rule.healthy_reason, "message": rule.healthy_message}
            for rule in rules
        ],
        "rules": [_rule(rule, programs) for rule in rules],
    }


def _rule(rule: ConditionRule, programs: str) -> dict[str, Any]:
    return {
        "type": "permanent",
        "condition": rule.type,
        # One for all of its findings: which of them it is, the message says.
        "reason": next(iter(rule.findings.values())),
        "path": "/bin/sh",
        "args": [f"{programs}/{PROGRAM}", TEXTFILE, rule.must_look[0], *rule.findings],
    }

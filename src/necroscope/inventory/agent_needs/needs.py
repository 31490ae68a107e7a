"""Whether what an agent needs is there: its rule, checked against a machine or an image."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from necroscope.findings import agents
from necroscope.inventory.agent_needs.needs_of_files import (
    Outcome,
    Surroundings,
    check_file,
    check_option,
    check_setting,
    check_text,
    check_word,
)
from necroscope.inventory.agent_needs.needs_of_machine import (
    check_connection,
    check_device,
    check_hardware,
    check_pci,
    check_socket,
    check_unit,
    check_without,
)
from necroscope.model.inventory import Need
from necroscope.sources.host import Host

NOT_IN_IMAGE = "not in this image; often it is written at the first boot only"

CHECKS: Mapping[type[agents.Check], Callable[[Host, Any, Surroundings], Outcome]] = {
    agents.FileCheck: check_file,
    agents.SettingCheck: check_setting,
    agents.TextCheck: check_text,
    agents.OptionCheck: check_option,
    agents.WordCheck: check_word,
    agents.SocketCheck: check_socket,
    agents.UnitCheck: check_unit,
    agents.WithoutCheck: check_without,
    agents.DeviceCheck: check_device,
    agents.PciCheck: check_pci,
    agents.HardwareCheck: check_hardware,
    agents.ConnectionCheck: check_connection,
}


def check_needs(host: Host, rule: agents.AgentRule, around: Surroundings) -> tuple[Need, ...]:
    """Every need of an agent in the order of its rule: met, not met, or not to be told here."""
    return tuple(_need(host, need, around) for need in rule.needs)


def _need(host: Host, need: agents.NeedRule, around: Surroundings) -> Need:
    outcomes = []
    for check in need.any:
        outcome = CHECKS[type(check)](host, check, around)
        if outcome.met:
            return Need(need.what, True, outcome.seen)
        outcomes.append(outcome)
    is_known = all(outcome.met is False for outcome in outcomes)
    # Where it cannot be told, why not comes first.
    ordered = sorted(outcomes, key=lambda outcome: outcome.met is False)
    seen = "; ".join(dict.fromkeys(outcome.seen for outcome in ordered))
    if is_known and need.provided_at_boot and not host.is_live:
        seen = f"{seen}; {NOT_IN_IMAGE}"
    return Need(need.what, False if is_known else None, seen)

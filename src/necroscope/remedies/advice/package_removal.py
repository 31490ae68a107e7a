"""Advice to remove the package of an agent that we know."""

from __future__ import annotations

from necroscope.findings.agents import recognise
from necroscope.model.plan import ByHand
from necroscope.remedies.units.subject import SubjectUnit
from necroscope.sources.host import Host
from necroscope.sources.packaging.packages import find_owners


def advise_removal(host: Host, unit: SubjectUnit) -> tuple[ByHand, ...]:
    """What the rule of the agent says beside what we do ourselves; nothing for a unit that we do not know."""
    if unit.file is None:
        return ()
    package = (find_owners(host, [unit.file.path]).value or {}).get(unit.file.path, "")
    commands = unit.file.settings.get("Service.ExecStart", ())
    environment = unit.file.settings.get("Service.EnvironmentFile", ())
    found = recognise(unit.name, commands, package, environment)
    if found is None:
        return ()
    rule, _ = found
    left = [line.replace("{unit}", unit.name) for line in rule.removal if not line.startswith("systemctl ")]
    if not left:
        return ()
    return (ByHand(tuple(left), f"{unit.name} is {rule.what}; its package can bring it back", ""),)

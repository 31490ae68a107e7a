"""Advice to remove the package of an agent that we know."""

from __future__ import annotations

from necroscope.findings.agents import recognise
from necroscope.model.plan import ByHand
from necroscope.model.shell_command import shell_comment
from necroscope.remedies.plan.subject import SubjectUnit
from necroscope.sources.host import Host
from necroscope.sources.packaging.packages import find_owners


def advise_removal(host: Host, unit: SubjectUnit) -> tuple[ByHand, ...]:
    """Return what the rule of the agent says beside what we do ourselves; nothing if the unit is not known.

    Each line offers a choice, or is a sentence: all are comments, so that nobody pastes one as it stands.
    """
    if unit.file is None:
        return ()
    package = (find_owners(host, [unit.file.path]).value or {}).get(unit.file.path, "")
    commands = unit.file.settings.get("Service.ExecStart", ())
    environment = unit.file.settings.get("Service.EnvironmentFile", ())
    found = recognise(unit.name, commands, package, environment)
    if found is None:
        return ()
    rule, _ = found
    left = [line for line in rule.removal_of(unit.name) if not line.startswith("systemctl ")]
    if not left:
        return ()
    return (
        ByHand(
            tuple(map(shell_comment, left)), f"{unit.name} is {rule.what}; its package can bring it back", ""
        ),
    )

"""What all actions that free zombies have in common: they do so only where it can help, and wait for it."""

from __future__ import annotations

import errno
from collections.abc import Callable

from necroscope.model.fix import State
from necroscope.model.plan import Step
from necroscope.remedies.actions.action import Action
from necroscope.remedies.actions.counting import (
    Settled,
    count_zombies,
    noise_floor,
    purge_in_rounds,
    still_falling,
)
from necroscope.remedies.actions.holding import held_by, kinds_text, read_holding
from necroscope.remedies.actions.record_rules import why_not_led, why_not_live, why_other_keys
from necroscope.sources.hierarchies import find_hierarchy
from necroscope.sources.host import Host

GONE = "not needed: the cgroup is gone"
REMOVED = (errno.ENOENT, errno.ENODEV)  # what writing to a file of a cgroup says that is not there any more

LetGo = Callable[[Host, Step], None]
WhyNot = Callable[[Host, Step, int], str]  # why it would free none of so many zombies; empty where it may
Text = Callable[[Host, Step], str]


def purge_action(id: str, do: Text, check: Text, why_not_ours: Callable[[Host, Step, State], str]) -> Action:
    """Return an action that frees zombies: nothing has to be taken back, what is needed is read again."""
    return Action(id, lambda *_: {}, do, check, lambda *_: None, lambda *_: "", why_not_ours)


def purge_cgroup(id: str, version: int, value: str, let_go: LetGo, why_not: WhyNot) -> Action:
    """An action that frees the zombies below a cgroup, whose folder is the target. It may be gone by then."""

    def do(host: Host, step: Step) -> str:
        if not host.path(step.target).exists():
            return GONE
        try:
            return purge(host, step, let_go, why_not, cgroup_of(host, step.target))
        except OSError as error:
            if error.errno in REMOVED and not host.path(step.target).exists():
                return GONE
            raise

    def why_not_ours(host: Host, step: Step, before: State) -> str:
        if step.value != value:
            return f"no remedy writes {step.value[:80]!r}"
        why = why_not_live(host) or why_not_led(host, f"{step.target}/{id}") or why_other_keys(before, ())
        if why or not host.path(step.target).exists():  # all are gone after a boot with the other version
            return why
        found = find_hierarchy(host, "memory").value
        is_one = found and found.version == version and step.target.startswith(f"{found.mount}/")
        return "" if is_one else f"{step.target[:80]!r} is not a memory cgroup of v{version}"

    return purge_action(id, do, lambda host, _step: still_falling(host), why_not_ours)


def cgroup_of(host: Host, folder: str) -> str:
    """A folder of the memory hierarchy as the kernel calls the cgroup."""
    hierarchy = find_hierarchy(host, "memory").value
    return folder.removeprefix(hierarchy.mount) if hierarchy else folder


def purge(host: Host, step: Step, let_go: LetGo, why_not: WhyNot, cgroup: str = "") -> str:
    """Let go what can be, if it can help, and wait; return what came of it, in words."""
    if (zombies := count_zombies(host)) <= noise_floor(host):
        return f"not needed: {zombies} zombies are left"
    if why := why_not(host, step, zombies):
        return f"not done, since {why}; {what_is_left(host, cgroup)}"
    settled = purge_in_rounds(
        host, lambda: let_go(host, step), lambda: bool(why_not(host, step, count_zombies(host)))
    )
    return report(host, settled, cgroup)


def report(host: Host, settled: Settled, cgroup: str = "") -> str:
    """20,134 -> 38 zombies in 4.2 s; what is left is held by: ..."""
    if settled.left <= noise_floor(host):
        return str(settled)
    return f"{settled}; {what_is_left(host, cgroup)}"


def what_is_left(host: Host, cgroup: str = "") -> str:
    """Who holds the zombies of a cgroup and below it, or all of them, in half a sentence."""
    holding = read_holding(host, (cgroup,) if cgroup else ())
    below = f" below {cgroup}" if cgroup else ""
    if named := held_by(holding):
        early = ", as far as was looked" if holding.holders and holding.holders.stopped_early else ""
        return f"what is left{below} is held by{early}: {named}"
    why = f" (no names: {holding.not_known})" if holding.not_known else ""
    kinds = [f"{text} below {parent.cgroup}" for parent in holding.parents if (text := kinds_text(parent))]
    if kinds:
        return f"what is left holds {'; '.join(kinds)}{why}"
    if cgroup:
        return f"nothing is seen to be held{below} any more"
    return f"what holds the rest is not known{why}"

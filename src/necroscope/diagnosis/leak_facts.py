"""What is known of zombies, of who leaks them, and of services that are started again and again."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.diagnosis.fact import Fact
from necroscope.diagnosis.leaks import (
    Loop,
    Owner,
    Pace,
    find_loops,
    find_owners,
    leaked_between,
    leaks_per_restart,
    loop_behind,
)
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.symptom import Symptom
from necroscope.model.finding import Evidence
from necroscope.model.timestamp import SECOND_NS
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER, LedgerGroup
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, MemoryCgroups
from necroscope.sources.units import UNITS, Units

LEDGER = "tracefs, cgroup_mkdir/rmdir/release"
FACTOR = 2.0  # leaks per restart may differ so much from one interval to the next, and still agree


@dataclass(frozen=True, slots=True)
class Leaks:
    """What the facts are made of."""

    dying: int | None
    owner: Owner | None
    loop: Loop | None
    facts: dict[str, Fact]


def leaks(scene: Scene, symptom: Symptom) -> Leaks:
    """Zombies at the symptom, who leaks most, and the unit behind it."""
    owner = _owner(scene, symptom)
    loops = find_loops(scene, symptom.end_ns)
    loop, way = loop_behind(scene, owner, loops)
    restarting = loop or next(iter(loops), None)
    count = scene.value_at(MEMORY_CGROUPS, symptom.end_ns)
    facts = {
        **_zombies(scene, symptom),
        "cgroups-leaked": _leaked(scene, owner),
        "unit-restarts": _restarts(scene, restarting),
        "unit-made-them": _made(scene, owner, loop, way),
        "rates-agree": _agree(scene, owner, loop),
        **_explains(scene, symptom, owner),
    }
    return Leaks(count.memory.dying if count else None, owner, restarting, facts)


def _owner(scene: Scene, symptom: Symptom) -> Owner | None:
    """Who leaks most; of a leak that is to be explained, whose it is."""
    owners = find_owners(scene, symptom.end_ns)
    event = symptom.event
    told = [
        owner for owner in owners if event.kind == "cgroup-leak" and owner.name in (event.unit, event.process)
    ]
    return next(iter([*told, *owners]), None)


def _zombies(scene: Scene, symptom: Symptom) -> dict[str, Fact]:
    many = scene.limit("zombie-memory-cgroups.warning")
    now = scene.value_at(MEMORY_CGROUPS, symptom.end_ns)
    before = scene.value_before(MEMORY_CGROUPS, symptom.begin_ns)
    unknown = Fact(None, unknown=f"zombies ({scene.why_not(MEMORY_CGROUPS)})")
    if now is None:
        return dict.fromkeys(("zombies-many", "zombies-most", "zombies-before"), unknown)
    where = now.memory.read_from
    counts = (
        Evidence("zombies", now.memory.dying, "cgroups", where),
        Evidence("tracked", now.memory.tracked, "cgroups", where),
        Evidence("in use", now.memory.in_use, "cgroups", where),
    )
    return {
        "zombies-many": Fact(now.memory.dying >= many, counts),
        "zombies-most": Fact(now.memory.dying >= now.memory.in_use, counts),
        "zombies-before": _before(before, many, where) if before else unknown,
    }


def _before(before: MemoryCgroups, many: float, where: str) -> Fact:
    evidence = Evidence("zombies when the stall began", before.memory.dying, "cgroups", where)
    return Fact(before.memory.dying >= many, (evidence,))


def _leaked(scene: Scene, owner: Owner | None) -> Fact:
    if not scene.segment.series(CGROUP_LEDGER):
        return _not_seen(scene)
    if owner is None:
        return Fact(False, (Evidence("cgroups leaked", 0, "cgroups", LEDGER),))
    return Fact(
        owner.leaked >= scene.limit("diagnosis.leaked"),
        (
            Evidence(f"cgroups leaked by {owner.name}", owner.leaked, "cgroups", LEDGER),
            Evidence(
                "leak rate", round(owner.pace.per_minute, 1), "cgroups/min", _over(scene, LEDGER, owner.pace)
            ),
            Evidence("former path", owner.group.pattern, "", LEDGER),
            Evidence("made by", _who(owner.group), "", LEDGER),
            *(
                (Evidence("events lost, by so many it may be wrong", owner.lost, "events", LEDGER),)
                if owner.lost
                else ()
            ),
        ),
    )


def _over(scene: Scene, where: str, pace: Pace) -> str:
    """`..., over 10 s until 2026-04-15T10:02:11.250Z`: where a rate is from, and of which time."""
    return f"{where}, {pace.words} until {scene.segment.anchor.iso(pace.end_ns)}"


def _not_seen(scene: Scene) -> Fact:
    """No leak and no loop; or nobody looked."""
    if not scene.segment.series(CGROUP_LEDGER):
        return Fact(None, unknown=f"who leaks cgroups ({scene.why_not(CGROUP_LEDGER)})")
    if len(scene.segment.series(UNITS)) < 2:
        return Fact(None, unknown=f"which services are started again ({scene.why_not(UNITS)})")
    return Fact(False)


def _who(group: LedgerGroup) -> str:
    unit = f" of {group.creator_unit}" if group.creator_unit else ""
    return f"{group.creator or 'a process that had ended'}{unit}"


def _restarts(scene: Scene, loop: Loop | None) -> Fact:
    if len(scene.segment.series(UNITS)) < 2:
        return Fact(None, unknown=f"which services are started again ({scene.why_not(UNITS)})")
    if loop is None:
        return Fact(False, (Evidence("services that were started again", 0, "services", "systemd"),))
    where = f"systemd, {loop.unit}"
    return Fact(
        True,
        (
            Evidence(f"restarts of {loop.unit}", loop.restarts, "restarts", where),
            Evidence(
                "restart rate", round(loop.pace.per_minute, 1), "restarts/min", _over(scene, where, loop.pace)
            ),
            *_settings(scene.segment.last(UNITS) or (), loop.unit),
        ),
    )


def _settings(units: Units, name: str) -> tuple[Evidence, ...]:
    unit = next((unit for unit in units if unit.name == name), None)
    if unit is None:
        return ()
    enabled = f"{unit.enabled or 'unknown'} (preset: {unit.preset or 'unknown'})"
    return (Evidence("enabled", enabled, "", f"systemd, {name}"),)


def _made(scene: Scene, owner: Owner | None, loop: Loop | None, way: str) -> Fact:
    if owner is None or loop is None:
        return _not_seen(scene)
    return Fact(True, (Evidence(f"why {loop.unit}", way, "", f"{LEDGER}; systemd"),))


def _agree(scene: Scene, owner: Owner | None, loop: Loop | None) -> Fact:
    """Whether leaks follow restarts: the same number for each, in all of the time."""
    if owner is None or loop is None:
        return _not_seen(scene)
    per_restart = leaks_per_restart(scene, owner, loop)
    if per_restart is None:
        return Fact(None, unknown="whether leaks follow restarts: they were read less than twice together")
    seen = Evidence("cgroups leaked per restart", round(per_restart, 2), "cgroups", f"{LEDGER}; systemd")
    steady = []
    for step in loop.steps:
        leaked = leaked_between(scene, owner.name, step.begin_ns, step.end_ns)
        if leaked is not None and step.count >= 3:
            steady.append(leaked / step.count)
    if not steady:
        return Fact(None, (seen,), "whether leaks follow restarts: too few in between two readings")
    fits = all(per_restart / FACTOR <= one <= per_restart * FACTOR for one in steady)
    return Fact(per_restart >= 0.5 and fits, (seen,))


def _explains(scene: Scene, symptom: Symptom, owner: Owner | None) -> dict[str, Fact]:
    """Whether the zombies come from this leak: it was seen to make most of them, or would have since boot."""
    # Of the same moment: the ledger is read more rarely than the zombies are counted.
    count = scene.value_at(MEMORY_CGROUPS, owner.time_ns) if owner else None
    if owner is None or count is None or not count.memory.dying:
        return dict.fromkeys(("leak-explains-zombies", "leak-seen"), _not_seen(scene))
    share = min(owner.leaked / count.memory.dying, 1.0)
    # A burst says nothing about the days before: all of the ledger's time does. The clock begins at boot.
    since_boot = owner.leaked * symptom.end_ns / max(owner.time_ns - owner.began_ns, SECOND_NS)
    name = f"share of all zombies that {owner.name} leaked since the ledger began"
    seen = Evidence(name, round(share, 3), "ratio", LEDGER)
    at_this_rate = Evidence(
        "leaked since boot, if as since the ledger began", round(since_boot), "cgroups", LEDGER
    )
    enough = count.memory.dying / 2
    if owner.leaked >= enough:
        return dict.fromkeys(("leak-explains-zombies", "leak-seen"), Fact(True, (seen,)))
    return {
        "leak-explains-zombies": Fact(since_boot >= enough, (seen, at_this_rate)),
        "leak-seen": Fact(False, (seen,)),
    }

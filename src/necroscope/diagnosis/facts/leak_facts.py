"""What is known of zombies, of who leaks them, and of services that are started again and again."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.diagnosis.facts.fact import Fact
from necroscope.diagnosis.facts.leaks import (
    Loop,
    Owner,
    find_loops,
    find_owners,
    leaked_between,
    leaks_per_restart,
    loop_behind,
)
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.symptom import Symptom
from necroscope.model.finding import Evidence
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER, LedgerGroup
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS
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
    owners = find_owners(scene, symptom.end_ns)
    loops = find_loops(scene)
    owner = owners[0] if owners else None
    loop, way = loop_behind(scene, owner, loops)
    facts = {
        **_zombies(scene, symptom),
        "cgroups-leaked": _leaked(scene, owner),
        "unit-restarts": _restarts(scene, loop or (loops[0] if loops else None)),
        "unit-made-them": _made(scene, owner, loop, way),
        "rates-agree": _agree(scene, owner, loop),
        "leak-explains-zombies": _explains(scene, symptom, owner),
    }
    dying = facts["zombies-many"].evidence[0].value if facts["zombies-many"].evidence else None
    return Leaks(
        int(dying) if dying is not None else None, owner, loop or (loops[0] if loops else None), facts
    )


def _zombies(scene: Scene, symptom: Symptom) -> dict[str, Fact]:
    many = scene.limit("zombie-memory-cgroups.warning")
    now, before = (scene.value_at(MEMORY_CGROUPS, t) for t in (symptom.end_ns, symptom.begin_ns))
    if now is None or before is None:
        unknown = Fact(None, unknown=f"zombies ({scene.why_not(MEMORY_CGROUPS)})")
        return {"zombies-many": unknown, "zombies-before": unknown}
    where = now.memory.read_from
    counts = (
        Evidence("zombies", now.memory.dying, "cgroups", where),
        Evidence("tracked", now.memory.tracked, "cgroups", where),
        Evidence("in use", now.memory.in_use, "cgroups", where),
    )
    earlier = Evidence("zombies when the stall began", before.memory.dying, "cgroups", where)
    return {
        "zombies-many": Fact(now.memory.dying >= many, counts),
        "zombies-before": Fact(before.memory.dying >= many, (earlier,)),
    }


def _leaked(scene: Scene, owner: Owner | None) -> Fact:
    if not scene.segment.series(CGROUP_LEDGER):
        return _not_seen(scene)
    if owner is None:
        return Fact(False, (Evidence("cgroups leaked", 0, "cgroups", LEDGER),))
    return Fact(
        owner.leaked >= scene.limit("diagnosis.leaked"),
        (
            Evidence(f"cgroups leaked by {owner.name}", owner.leaked, "cgroups", LEDGER),
            Evidence("leak rate", round(owner.per_minute, 1), "cgroups/min", LEDGER),
            Evidence("former path", owner.group.pattern, "", LEDGER),
            Evidence("made by", _who(owner.group), "", LEDGER),
        ),
    )


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
            Evidence("restart rate", round(loop.per_minute, 1), "restarts/min", where),
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
    for begin_ns, end_ns, restarts in loop.steps:
        leaked = leaked_between(scene, owner.name, begin_ns, end_ns)
        if leaked is not None and restarts >= 3:
            steady.append(leaked / restarts)
    fits = all(per_restart / FACTOR <= one <= per_restart * FACTOR for one in steady)
    return Fact(per_restart >= 0.5 and fits, (seen,))


def _explains(scene: Scene, symptom: Symptom, owner: Owner | None) -> Fact:
    """Whether this leak is where the zombies come from, or they are older than the ledger."""
    count = scene.value_at(MEMORY_CGROUPS, symptom.end_ns)
    if owner is None or count is None or not count.memory.dying:
        return _not_seen(scene)
    share = min(owner.leaked / count.memory.dying, 1.0)
    name = f"share of all zombies that {owner.name} leaked since the ledger began"
    return Fact(share >= 0.5, (Evidence(name, round(share, 3), "ratio", LEDGER),))

"""What the hosts of a generated fleet are made of, with what goes along with what in real ones.

Instance types go with zones, node groups and units with instance types, the kernel and the system with the
image, the driver's version with both. Kubernetes repeats the zone and the instance type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lab.fleets.plan import DEFAULT_SHARE, DEVICE, Confounder, Plan, Plant

Codes = NDArray[np.int32]
Random = np.random.Generator

ZONES = ("us-east-1a", "us-east-1b", "us-east-1c", "us-west-2a", "us-west-2b", "us-west-2c")
TYPES = ("m6i.32xlarge", "c6i.32xlarge", "r5.24xlarge", "g5.48xlarge", "p5.48xlarge")
GPUS = ("g5.48xlarge", "p5.48xlarge")
# Image, kernel, system, and how many hosts in a hundred have it.
IMAGES = (
    ("ami-0a41c9", "5.4.0-150", "Ubuntu 20.04.6 LTS", 12),
    ("ami-0b52da", "5.10.0-9", "Debian GNU/Linux 11", 8),
    ("ami-0c63eb", "5.10.0-9", "Debian GNU/Linux 11", 10),
    ("ami-0d74fc", "5.15.0-91", "Ubuntu 22.04.3 LTS", 25),
    ("ami-0e850d", "5.15.0-91", "Ubuntu 22.04.3 LTS", 20),
    ("ami-0f961e", "6.1.0-18", "Debian GNU/Linux 12", 25),
)
DRIVERS = ("2.2.11g", "2.8.3", "2.8.9", "2.11.1")
GROUPS = ("train", "serve", "batch", "ingest")
MEMORY_GIB = {
    "m6i.32xlarge": 512,
    "c6i.32xlarge": 256,
    "r5.24xlarge": 768,
    "g5.48xlarge": 768,
    "p5.48xlarge": 2048,
}
ABSENT = -1  # the host does not have the fact
OTHER_KERNEL, UPGRADED, NO_ZONE, NO_FACTS = 0.04, 0.03, 0.02, 0.015  # shares of hosts
MIRRORS = {
    "labels/zone": "labels/kubernetes/topology.kubernetes.io/zone",
    "labels/instance_type": "labels/kubernetes/node.kubernetes.io/instance-type",
}


@dataclass(slots=True)
class Fact:
    """One fact of all hosts, before and after the one change that a host may have."""

    values: list[str]
    codes: Codes  # 2 x hosts

    def code(self, value: str) -> int:
        """The code of a value, which is made known."""
        if value not in self.values:
            self.values.append(value)
        return self.values.index(value)

    def is_value(self, value: str) -> NDArray[np.bool_]:
        """Where it has a value; 2 x hosts."""
        found: NDArray[np.bool_] = self.codes == self.code(value)
        return found


@dataclass(slots=True)
class MadeOf:
    """All facts of all hosts."""

    hosts: int
    facts: dict[str, Fact] = field(default_factory=dict)
    changes_at: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))  # seconds; infinite: never
    has_facts: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=bool))

    def add(self, fact: str, values: Sequence[str], codes: NDArray[np.int_]) -> None:
        """Add a fact that does not change."""
        self.facts[fact] = Fact(list(values), np.tile(codes.astype(np.int32), (2, 1)))


def make_hosts(plan: Plan, random: Random) -> MadeOf:
    """The facts of all hosts, with what was planted into them."""
    made = MadeOf(plan.hosts, changes_at=np.full(plan.hosts, np.inf))
    _add_labels(made, random)
    _add_units(made, random)
    _derive(made, set())
    for plant in plan.plants:
        _plant(made, plant, random)
    for confounder in plan.confounders:
        _confound(made, confounder, plan.plants[0], random)
    _upgrade(made, plan, random)
    for fact in plan.same_splits:
        _split_the_same(made, fact, plan.plants[0])
    planned = {plant.fact for plant in plan.plants} | {one.fact for one in plan.confounders}
    _derive(made, planned | set(plan.same_splits))
    made.has_facts = random.random(plan.hosts) >= NO_FACTS
    unknown = random.random(plan.hosts) < NO_ZONE
    for name in ("labels/zone", MIRRORS["labels/zone"], "labels/region"):
        made.facts[name].codes[:, unknown] = ABSENT
    return made


def tilted(random: Random, shares: Sequence[float], by: NDArray[np.int_], spread: float) -> NDArray[np.int_]:
    """A value for each host, whose shares differ with what the host has of another fact."""
    weights = np.asarray(shares) * random.lognormal(0.0, spread, (int(by.max()) + 1, len(shares)))
    limits = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    drawn: NDArray[np.int_] = (random.random(len(by))[:, None] > limits[by]).sum(axis=1)
    return np.minimum(drawn, len(shares) - 1)


def _add_labels(made: MadeOf, random: Random) -> None:
    anywhere = np.zeros(made.hosts, dtype=np.int64)
    zone = tilted(random, (22, 20, 18, 17, 13, 10), anywhere, 0.0)
    kind = tilted(random, (35, 20, 15, 20, 10), zone, 0.5)
    image = tilted(random, [row[3] for row in IMAGES], kind, 0.3)
    kernels, systems = (list(dict.fromkeys(str(row[place]) for row in IMAGES)) for place in (1, 2))
    kernel = np.array([kernels.index(row[1]) for row in IMAGES])[image]
    other = random.random(made.hosts) < OTHER_KERNEL
    kernel[other] = random.integers(0, len(kernels), int(other.sum()))
    made.add("labels/zone", ZONES, zone)
    made.add("labels/instance_type", TYPES, kind)
    made.add("labels/machine_image", [row[0] for row in IMAGES], image)
    made.add("labels/image", systems, np.array([systems.index(row[2]) for row in IMAGES])[image])
    made.add("labels/kernel", kernels, kernel)
    made.add("labels/provider", ["ec2"], anywhere)
    made.add("labels/kubernetes/node-group", GROUPS, tilted(random, (35, 30, 20, 15), kind, 0.8))
    made.add(
        "labels/kubernetes/capacity", ("on-demand", "spot"), tilted(random, (75, 25), zone * 5 + kind, 0.5)
    )
    made.add("labels/hardware/bios_version", ("1.0", "1.1", "1.2"), tilted(random, (50, 30, 20), kind, 0.5))
    made.add("labels/rack", [f"rack-{n}" for n in range(made.hosts // 8 + 1)], np.arange(made.hosts) // 8)
    made.add(f"nics/{DEVICE}/driver", ["ena"], anywhere)
    version = tilted(random, (20, 25, 30, 25), kernel * len(TYPES) + kind, 0.7)
    made.add(f"nics/{DEVICE}/driver-version", DRIVERS, version)


def _add_units(made: MadeOf, random: Random) -> None:
    image, kind = (made.facts[f"labels/{name}"].codes[0] for name in ("machine_image", "instance_type"))
    group = made.facts["labels/kubernetes/node-group"].codes[0]
    is_gpu = np.isin(kind, [TYPES.index(name) for name in GPUS])
    there = np.ones(made.hosts, dtype=bool)
    _unit(made, random, "kubelet.service", there, there)
    _unit(made, random, "ecs.service", image != len(IMAGES) - 1, tilted(random, (55, 45), image, 0.7) == 1)
    _unit(made, random, "irqbalance.service", there, tilted(random, (20, 80), kind, 1.0) == 1)
    _unit(made, random, "nvidia-persistenced.service", is_gpu, there)
    _unit(made, random, "telemetry-agent.service", there, random.random(made.hosts) < 0.5)
    _unit(made, random, "cfn-hup.service", random.random(made.hosts) < 0.3, there)
    _unit(made, random, "amazon-ssm-agent.service", there, tilted(random, (20, 80), group, 0.6) == 1)
    _unit(made, random, "node-exporter.service", there, tilted(random, (40, 60), image, 0.4) == 1)


def _unit(
    made: MadeOf, random: Random, name: str, is_there: NDArray[np.bool_], is_on: NDArray[np.bool_]
) -> None:
    enabled = np.where(is_there, np.where(is_on, 0, 1), ABSENT)
    made.add(f"units/{name}/enabled", ("enabled", "disabled"), enabled)
    failed = is_there & is_on & (random.random(made.hosts) < 0.02)
    made.add(f"units/{name}/runs", ("running", "stopped", "failed"), np.where(failed, 2, enabled))


def _known(made: MadeOf, fact: str, random: Random) -> Fact:
    """A fact, which is made up where no host has it."""
    if fact not in made.facts:
        made.add(fact, [f"other-{n}" for n in range(5)], random.integers(0, 5, made.hosts))
    return made.facts[fact]


def _plant(made: MadeOf, plant: Plant, random: Random) -> None:
    """Give the value to as many hosts as the plan says."""
    fact = _known(made, plant.fact, random)
    code = fact.code(plant.value)
    has = fact.codes[0] == code
    share = DEFAULT_SHARE if plant.share is None and not has.any() else plant.share
    if share is None:
        return
    is_chosen = random.random(made.hosts) < share
    usual = np.flatnonzero(~has & (fact.codes[0] != ABSENT))
    instead = random.choice(fact.codes[0][usual], made.hosts) if len(usual) else fact.codes[0]
    fact.codes[:] = np.where(is_chosen, code, np.where(has, instead, fact.codes[0]))


def _confound(made: MadeOf, confounder: Confounder, plant: Plant, random: Random) -> None:
    """Give one value of a label to most of the planted hosts."""
    fact = _known(made, confounder.fact, random)
    is_chosen = made.facts[plant.fact].is_value(plant.value)[0] & (
        random.random(made.hosts) < confounder.strength
    )
    code = int(random.integers(0, min(len(fact.values), 6)))
    fact.codes[:] = np.where(is_chosen, code, fact.codes)


def _split_the_same(made: MadeOf, fact_id: str, plant: Plant) -> None:
    """Give a value of its own to exactly the planted hosts."""
    fact = made.facts.get(fact_id) or Fact(["other"], np.zeros((2, made.hosts), dtype=np.int32))
    made.facts[fact_id] = fact
    fact.codes = np.where(
        made.facts[plant.fact].is_value(plant.value), fact.code(f"with-{plant.value}"), fact.codes
    )


def _upgrade(made: MadeOf, plan: Plan, random: Random) -> None:
    """Some hosts change while the fleet runs: a few boot another kernel, and those of a roll-out."""
    rollout = plan.rollout
    gets = random.random(made.hosts) < (rollout.share if rollout else 0.0)
    if rollout:
        fact = _known(made, rollout.fact, random)
        code = fact.code(rollout.value)
        others = np.flatnonzero(fact.codes[0] != code)
        gets[fact.codes[0] == code] = False
        if not len(others):
            raise ValueError(f"every host has {rollout.fact}={rollout.value} from the beginning")
        fact.codes[1] = np.where(gets, code, fact.codes[0])
        late = random.random(made.hosts) * rollout.over_seconds
        made.changes_at[gets] = (rollout.at_seconds + late)[gets]
    boots = ~gets & (random.random(made.hosts) < UPGRADED)
    kernel = made.facts["labels/kernel"]
    kernel.codes[1] = np.where(boots, random.integers(0, len(kernel.values), made.hosts), kernel.codes[0])
    made.changes_at[boots] = (random.random(made.hosts) * plan.seconds)[boots]


def _derive(made: MadeOf, planned: set[str]) -> None:
    """What follows from other facts unless it was planned: regions, and what Kubernetes repeats."""
    zone = made.facts["labels/zone"]
    regions = [name.rstrip("abcdef") for name in zone.values]
    names = list(dict.fromkeys(regions))
    codes = np.array([names.index(name) for name in regions], dtype=np.int32)[zone.codes]
    derived = {"labels/region": Fact(names, codes)}
    for original, mirror in MIRRORS.items():
        derived[mirror] = Fact(list(made.facts[original].values), made.facts[original].codes.copy())
    made.facts |= {name: fact for name, fact in derived.items() if name not in planned}

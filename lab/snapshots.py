"""Fleets of snapshots with known causes, to see whether `drift` finds them.

    fleet = make_fleet(7, Plan(hosts=200, causal=3, incidental=40))
    fleet.snapshots["failing"], fleet.causes, fleet.pairs

Every host has the same base, a zone, an instance type, and each planted difference with some probability.
Causes raise the risk to fail, each by itself. Of the incidental differences some come with the zone or the
instance type. A pair is one of

    same, nearly, follows          a cause, and what comes with it on all, nearly all or four of five hosts
    bystanders, near bystanders    two incidental differences that coincide, or do so but for 5 % of the hosts
    packages                       the same of two packages, among others that differ in their version only
    image, image of a cause        an image of four, two of which have an incidental difference, or a cause

With `failing`, hosts are drawn until so many of them fail.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from necroscope.model.snapshot import Snapshot

ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")
ODD = {"nearly": 0.03, "follows": 0.2, "near bystanders": 0.05}  # share of hosts where a pair does not agree
IMAGES = ("ami-04a1", "ami-07c2", "ami-0b93", "ami-0e64")
IMAGE_LABEL = "machine_image"
PACKAGES = 8  # that differ in their version only, for a pair of them
INSTANCE_TYPES = ("m5.24xlarge", "m6i.32xlarge", "r5.24xlarge")
# Section, name with a place for a number, the usual value, the other one; None: not there.
PLANTS: tuple[tuple[str, str, str | None, str | None], ...] = (
    ("sysctls", "net.core.plant_{}", "300", "600"),
    ("sysctls", "kernel.plant_{}", "0", "1"),
    ("kernel", "command-line/plant{}", None, "off"),
    ("packages", "libplant{}", "1.2-3", "1.2-4"),
    ("packages", "plant-tool{}", None, "0.9"),
    ("labels", "plant_{}", "blue", "green"),
    ("nics", "ens5/firmware-{}", "1.4.0", "1.5.1"),
    ("units", "plant{}.service/runs", "stopped", "running"),
    ("units", "plant{}.service/enabled", "disabled", "enabled"),
    ("modules", "plant{}", None, "1.0 depth=8"),
    ("kubelet", "config/plant{}Period", "10s", "5m"),
    ("mounts", "/data{}", "ext4 rw,relatime", "xfs rw,noatime"),
    ("environment", "kubelet.service/PLANT_{}", "a", "b"),
    ("site", "team setting {}", "old", "new"),  # a section that nobody knows
)


@dataclass(frozen=True, slots=True)
class Plant:
    """A difference that some hosts have."""

    section: str
    name: str
    usual: str | None
    other: str | None

    @property
    def fact(self) -> str:
        """Its id."""
        return f"{self.section}/{self.name}"


@dataclass(frozen=True, slots=True)
class Fleet:
    """Snapshots by group, and what was planted into them."""

    snapshots: Mapping[str, Sequence[Snapshot]]
    causes: tuple[str, ...]
    incidental: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]  # the second half is the one that says nothing


@dataclass(frozen=True, slots=True)
class Plan:
    """What a fleet is to be like."""

    hosts: int = 200
    causal: int = 3
    incidental: int = 40
    risk: tuple[float, float] = (0.05, 0.6)  # to fail without a cause, and with one
    odds_ratio: float | None = None  # of each cause; then the second risk does not count
    pair: str = "same"  # see above; or none
    failing: int | None = None  # hosts; None: as it comes
    facts: int = 300

    def risk_with(self, causes: int) -> float:
        """The risk of a host that has so many causes."""
        low, high = self.risk
        if self.odds_ratio is None:
            return 1 - (1 - low) * ((1 - high) / (1 - low)) ** causes
        odds = low / (1 - low) * self.odds_ratio**causes
        return odds / (1 + odds)

    def is_full(self, group: str, hosts: int) -> bool:
        """Whether a group has all its hosts."""
        if self.failing is None:
            return False
        return hosts >= (self.failing if group == "failing" else self.hosts - self.failing)


def make_fleet(seed: int, plan: Plan | None = None) -> Fleet:
    """A fleet made by chance; the same for the same seed."""
    plan = plan or Plan()
    chance = random.Random(seed)
    plants = _plants(chance, plan)
    causes, others = plants[: plan.causal], plants[plan.causal :]
    frequency = {plant: chance.uniform(0.2, 0.5) for plant in causes}
    frequency |= {plant: chance.choice((0.02, 0.1, 0.3, 0.5, 0.9)) for plant in others}
    with_place = {plant: chance.choice(ZONES + INSTANCE_TYPES) for plant in others if chance.random() < 0.25}
    pairs = _pairs(causes, others, plan.pair)
    if plan.pair == "near bystanders":  # of rarer ones, 5 % of the hosts would be much
        frequency[others[0]] = chance.uniform(0.2, 0.5)
    of_image = _of_image(causes, others, plan.pair)
    base = base_facts(plan.facts)
    snapshots: dict[str, list[Snapshot]] = {"healthy": [], "failing": []}
    while (number := sum(map(len, snapshots.values()))) < plan.hosts:
        zone, instance_type = chance.choice(ZONES), chance.choice(INSTANCE_TYPES)
        labels = {"zone": zone, "instance_type": instance_type, "instance_id": f"i-{number:08x}"}
        has = {plant: chance.random() < frequency[plant] for plant in plants}
        for plant, place in with_place.items():
            has[plant] = chance.random() < (0.9 if place in (zone, instance_type) else 0.05)
        for one, twin in pairs:
            has[twin] = has[one] != (chance.random() < ODD.get(plan.pair, 0.0))
        if of_image is not None:
            labels[IMAGE_LABEL] = chance.choice(IMAGES)
            has[of_image] = labels[IMAGE_LABEL] in IMAGES[:2]
        is_failing = chance.random() < plan.risk_with(sum(has[cause] for cause in causes))
        group = "failing" if is_failing else "healthy"
        if plan.is_full(group, len(snapshots[group])):
            continue
        own = {plant for plant, is_there in has.items() if is_there}
        snapshots[group].append(_snapshot(f"node-{number:04d}", base, labels, plants, own))
    named = [(one.fact, twin.fact) for one, twin in pairs]
    if of_image is not None:
        named.append((of_image.fact, f"labels/{IMAGE_LABEL}"))
    return Fleet(
        snapshots,
        tuple(plant.fact for plant in causes),
        tuple(plant.fact for plant in others),
        tuple(named),
    )


def base_facts(count: int) -> dict[str, dict[str, str]]:
    """What all hosts of a fleet share: about so many facts, in the sections of a snapshot."""
    each = max(count // 6, 1)
    units = {f"unit{n}.service/{what}": "running" for n in range(each // 2) for what in ("runs", "preset")}
    return {
        "kernel": {"release": "6.1.0-28-cloud-amd64", "command-line/quiet": ""},
        "cgroups": {"layout": "v2"},
        "sysctls": {f"net.setting_{n}": str(n) for n in range(each)},
        "modules": {f"module_{n}": "1.0" for n in range(each)},
        "packages": {f"package{n}": f"1.{n}-1" for n in range(2 * each)},
        "units": {**units, "kubelet.service/runs": "running", "kubelet.service/enabled": "enabled"},
        "mounts": {f"/mount{n}": "ext4 rw" for n in range(each)},
        "nics": {"ens5/driver": "ena", "ens5/mtu": "9001"},
        "kubelet": {"config/cgroupDriver": "systemd"},
        "environment": {"kubelet.service/KUBELET_LEVEL": "2"},
        "bootstrap": {"node-setup.service": "succeeded"},
        "site": {"owner": "data platform"},
    }


def write_fleet(fleet: Fleet, folder: Path) -> dict[str, Path]:
    """Write a folder of snapshot files for each group."""
    folders = {}
    for group, snapshots in fleet.snapshots.items():
        folders[group] = folder / group
        folders[group].mkdir(parents=True)
        for snapshot in snapshots:
            write_snapshot(snapshot, folders[group] / f"{snapshot.host}.json")
    return folders


def write_snapshot(snapshot: Snapshot, path: Path) -> Path:
    """Write one snapshot as `necroscope snapshot` does."""
    document = {
        "schema": 1,
        "kind": "necroscope-snapshot",
        "host": snapshot.host,
        "facts": snapshot.facts,
        "not_read": snapshot.not_read,
    }
    path.write_text(json.dumps(document, sort_keys=True, indent=1) + "\n")
    return path


def _plants(chance: random.Random, plan: Plan) -> list[Plant]:
    shapes = [chance.choice(PLANTS) for _ in range(plan.causal + plan.incidental)]
    if plan.pair == "packages":
        (version,) = [shape for shape in PLANTS if shape[0] == "packages" and shape[2] is not None]
        shapes[plan.causal : plan.causal + PACKAGES] = [version] * PACKAGES
    return [
        Plant(section, name.format(number), usual, other)
        for number, (section, name, usual, other) in enumerate(shapes)
    ]


def _pairs(causes: Sequence[Plant], others: Sequence[Plant], pair: str) -> list[tuple[Plant, Plant]]:
    if pair in ("bystanders", "near bystanders", "packages"):
        return [(others[0], others[1])]
    return [(causes[0], others[0])] if pair in ("same", "nearly", "follows") else []


def _of_image(causes: Sequence[Plant], others: Sequence[Plant], pair: str) -> Plant | None:
    """What two of the four images have."""
    if pair == "image":
        return others[0]
    return causes[0] if pair == "image of a cause" else None


def _snapshot(
    host: str,
    base: Mapping[str, Mapping[str, str]],
    labels: Mapping[str, str],
    plants: Sequence[Plant],
    own: set[Plant],
) -> Snapshot:
    facts = {section: dict(values) for section, values in base.items()}
    facts["labels"] = dict(labels)
    for plant in plants:
        value = plant.other if plant in own else plant.usual
        if value is not None:
            facts[plant.section][plant.name] = value
    return Snapshot(host, facts, {})

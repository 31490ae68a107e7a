"""What generated fleets are like: planted what was asked for, and the same for the same plan."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from lab.fleets.fleet import Fleet, make_fleet
from lab.fleets.made_of import ABSENT
from lab.fleets.plan import (
    Confounder,
    Plan,
    Plant,
    Rollout,
    parse_confounder,
    parse_leak,
    parse_plant,
    parse_rollout,
)
from lab.fleets.tables import write_fleet
from necroscope.fleet.engine.gathering import Gathering, gather_files
from necroscope.fleet.place.folder import FolderPlace
from necroscope.fleet.tables.read_tables import read_tables

KERNEL = Plant("labels/kernel", "5.10.0-9", 4.0)


def rates(fleet: Fleet, has: NDArray[np.bool_]) -> tuple[float, float]:
    """Episodes per host and week, of hosts with something and without."""
    seconds = fleet.lives.recorded_between(np.zeros(len(has)), np.full(len(has), fleet.plan.seconds))
    counts = np.bincount(fleet.episodes.host, minlength=len(has))
    week = 7 * 86400
    return tuple(counts[some].sum() / seconds[some].sum() * week for some in (has, ~has))


@pytest.mark.parametrize(
    "plant",
    [KERNEL, Plant("labels/zone", "us-east-1b", 3.0), Plant("labels/colour", "green", 5.0, 0.3)],
    ids=lambda plant: plant.fact,
)
def test_the_plant_has_its_ratio(plant: Plant) -> None:
    fleet = make_fleet(Plan(hosts=20_000, plants=(plant,), frailty=0.0, episodes_a_week=0.5))
    has = fleet.made.facts[plant.fact].is_value(plant.value)[0]
    inside, outside = rates(fleet, has)
    assert outside == pytest.approx(0.5, rel=0.05)
    assert inside / outside == pytest.approx(plant.ratio, rel=0.12)  # a few hosts change their kernel
    assert has.mean() == pytest.approx(plant.share or 0.18, abs=0.06)


def test_most_episodes_come_from_few_hosts() -> None:
    fleet = make_fleet(Plan(hosts=20_000, frailty=0.05, episodes_a_week=0.5))
    counts = np.sort(np.bincount(fleet.episodes.host, minlength=20_000))[::-1]
    assert counts[:200].sum() > 0.3 * counts.sum()
    even = np.sort(np.bincount(make_fleet(Plan(hosts=20_000, frailty=0.0)).episodes.host))[::-1]
    assert even.max() <= 5


def test_a_confounder_goes_along_and_does_nothing() -> None:
    plan = Plan(
        hosts=20_000,
        plants=(KERNEL,),
        confounders=(Confounder("labels/zone", 0.8),),
        frailty=0.0,
        episodes_a_week=1.0,
    )
    fleet = make_fleet(plan)
    has = fleet.made.facts["labels/kernel"].is_value("5.10.0-9")[0]
    zone = fleet.made.facts["labels/zone"].codes[0]
    shares = np.array([has[zone == code].mean() for code in range(6)])
    worst = int(shares.argmax())
    assert shares[worst] > 2 * np.median(shares)
    inside, outside = rates(fleet, zone == worst)
    assert inside / outside > 1.3
    without = ~has & (zone != ABSENT)
    counts = np.bincount(fleet.episodes.host, minlength=plan.hosts)
    assert counts[without & (zone == worst)].mean() == pytest.approx(
        counts[without & (zone != worst)].mean(), rel=0.1
    )


def test_the_same_split_is_on_the_same_hosts() -> None:
    fleet = make_fleet(Plan(hosts=500, plants=(KERNEL,), same_splits=("labels/machine_image",)))
    kernel, image = (fleet.made.facts[f"labels/{name}"] for name in ("kernel", "machine_image"))
    assert (kernel.is_value("5.10.0-9") == image.is_value("with-5.10.0-9")).all()


def test_a_rollout_changes_some_hosts_from_its_time_on() -> None:
    rollout = Rollout("units/ecs.service/enabled", "disabled", 3 * 86400.0, 0.5, 0.2)
    fleet = make_fleet(Plan(hosts=20_000, frailty=0.0, episodes_a_week=1.0, rollout=rollout))
    codes = fleet.made.facts[rollout.fact].codes
    changed = codes[0] != codes[1]
    times = fleet.made.changes_at[changed]
    assert times.min() >= rollout.at_seconds
    assert times.max() <= rollout.at_seconds + rollout.over_seconds
    after = np.isin(fleet.episodes.host, np.flatnonzero(changed)) & fleet.episodes.is_after
    before = np.isin(fleet.episodes.host, np.flatnonzero(changed)) & ~fleet.episodes.is_after
    assert after.sum() < 0.4 * before.sum()


def test_the_same_plan_gives_the_same_bytes_and_any_segment_the_same_events(tmp_path: Path) -> None:
    plan = Plan(hosts=60, days=1.0, segment_seconds=3600, seed=5, plants=(KERNEL,), episodes_a_week=20.0)
    first, second = (write_fleet(tmp_path / name, plan) for name in ("one", "two"))
    assert first == second
    write_fleet(tmp_path / "short", replace(plan, segment_seconds=120))
    exposure = Gathering(
        "segments",
        ("host",),
        (("recorded", "sum", "sum(recorded_us)"), ("resets", "sum", "sum(nic_reset)")),
    )
    events = Gathering(
        "events", ("host",), (("events", "sum", "count(*)"),), time="time_us", where="kind='nic-reset'"
    )
    told = {}
    for name in ("one", "short"):
        tables = read_tables(FolderPlace(tmp_path / name))
        gathered = [
            gather_files(some, tables.paths(some.table), plan.begin_us, plan.end_us)
            for some in (exposure, events)
        ]
        told[name] = gathered
        resets = dict(zip(*(gathered[0].column(c).to_pylist() for c in ("host", "resets")), strict=True))
        rows = dict(zip(*(gathered[1].column(c).to_pylist() for c in ("host", "events")), strict=True))
        assert sum(rows.values()) > 100
        # An event of the first two minutes may be before the first segment of its host.
        assert abs(sum(resets.values()) - sum(rows.values())) <= 3
    assert told["one"][1].equals(told["short"][1])
    recorded = [sum(told[name][0].column("recorded").to_pylist()) for name in told]
    assert recorded[0] == pytest.approx(recorded[1], rel=0.003)


def test_words_of_the_command_line() -> None:
    assert parse_plant("labels/kernel=5.10.0-9:4") == KERNEL
    assert parse_plant("units/ecs.service=enabled:3:0.2") == Plant(
        "units/ecs.service/enabled", "enabled", 3.0, 0.2
    )
    assert parse_plant("zone=a:2").fact == "labels/zone"
    assert parse_confounder("labels/zone:0.8") == Confounder("labels/zone", 0.8)
    assert parse_leak("0.1:40").per_hour == 40
    assert parse_rollout("units/ecs.service=disabled@5d:0.5:0.2") == Rollout(
        "units/ecs.service/enabled", "disabled", 5 * 86400.0, 0.5, 0.2
    )
    for parse, text in (
        (parse_plant, "kernel:4"),
        (parse_plant, "kernel=5:4:2"),
        (parse_confounder, "zone"),
        (parse_leak, "0.1"),
        (parse_rollout, "a=b:0.5:1"),
        (parse_plant, "kernel=5:many"),
    ):
        with pytest.raises(ValueError, match=r"."):
            parse(text)


def test_the_command_writes_a_fleet(tmp_path: Path) -> None:
    words = [
        "--hosts",
        "40",
        "--days",
        "0.5",
        "--segment",
        "3600s",
        "--plant",
        "zone=us-east-1b:4",
        "--leak",
        "0.5:99",
    ]
    command = [
        sys.executable,
        "-m",
        "lab.fleets",
        str(tmp_path / "out"),
        "--end",
        "2026-11-18T00:00Z",
        *words,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "rows in" in done.stdout
    index = (tmp_path / "out/index.json").read_bytes()
    assert hashlib.sha256(index).hexdigest()
    tables = read_tables(FolderPlace(tmp_path / "out"))
    assert {file.table for file in tables.index.files} >= {"segments", "facts", "fact_sets", "sections"}
    assert tables.index.made_us == 1_794_960_000 * 10**6

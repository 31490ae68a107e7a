from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from lab.fleets.plan import Plan, Rollout
from necroscope.cli.main import main
from necroscope.errors import CannotLookError
from necroscope.fleet.engine.engine import LocalEngine
from necroscope.fleet.place.folder import FolderPlace
from necroscope.fleet.questions.fixed import Sought, ask_fixed, conclude_fixed
from necroscope.fleet.questions.fixed_hosts import (
    Changes,
    FactValue,
    Slices,
    changes_of_fact,
    in_turn,
    slices_before_and_after,
)
from necroscope.fleet.tables.read_tables import read_tables
from necroscope.model.fleet.rollout import Rollout as Answer
from necroscope.signals.thresholds import load_thresholds
from tests.fleet.questions.generated import Shared, asked, made

Array = NDArray[np.int64]
HOUR_US = 3600 * 10**6
AT_US = 500_000 * HOUR_US
SOUGHT = Sought("it", ("nic-reset",), AT_US - 168 * HOUR_US, AT_US + 168 * HOUR_US, load_thresholds(None))
ROLLED_OUT = Rollout("units/ecs.service/enabled", "disabled", 3 * 86400.0, 0.6, 0.15)
PLAN = Plan(
    hosts=1200, days=6.0, segment_seconds=3600, seed=2, frailty=0.1, episodes_a_week=1.0, rollout=ROLLED_OUT
)


def concluded(changed: Array, control: Array) -> Answer:
    """Rows of (before, after) for each host, a week each."""
    episodes = np.concatenate([changed, control])
    names = tuple(f"host-{n:04d}" for n in range(len(episodes)))
    slices = Slices(names, np.array([AT_US]), np.full(episodes.shape, 168 * HOUR_US), episodes)
    which = dict.fromkeys(names[: len(changed)], (AT_US, AT_US))
    return conclude_fixed(slices, Changes(which, frozenset(names[len(changed) :])), SOUGHT)


def drawn(seed: int, hosts: int, before: float, after: float, frailty: float = 0.1) -> Array:
    random = np.random.default_rng(seed)
    bad = random.gamma(frailty, 1 / frailty, hosts)
    return np.stack([random.poisson(before * bad), random.poisson(after * bad)], axis=1)


def test_better_unchanged_worse() -> None:
    control = drawn(1, 3000, 0.1, 0.1)
    better = concluded(drawn(2, 2000, 0.1, 0.02), control)
    assert better.verdict == "better"
    assert better.p_halved > 0.95
    low, high = better.interval
    assert low < 0.2 < high < 1
    assert better.days_needed is None
    assert concluded(drawn(3, 2000, 0.3, 0.3), drawn(4, 3000, 0.3, 0.3)).verdict == "unchanged"
    worse = concluded(drawn(5, 2000, 0.1, 0.4), control)
    assert worse.verdict == "worse"
    assert worse.p_better < 0.05


def test_what_falls_everywhere_was_not_the_rollout() -> None:
    """Load fell by half for all: against the others nothing is better."""
    found = concluded(drawn(1, 2000, 0.4, 0.2), drawn(2, 2000, 0.4, 0.2))
    assert found.ratio == pytest.approx(0.5, abs=0.12)
    assert found.control_ratio == pytest.approx(0.5, abs=0.12)
    assert found.verdict == "unchanged"


def test_hosts_that_were_picked_because_they_were_bad_get_better_by_themselves() -> None:
    verdicts, ratios = [], []
    for seed in range(5):
        every = drawn(100 + seed, 10_000, 0.3, 0.3, frailty=1.0)
        is_picked = (every[:, 0] >= 2) & (np.random.default_rng(seed).random(len(every)) < 0.4)
        found = concluded(every[is_picked], every[~is_picked])
        assert found.ratio is not None
        assert found.ratio < 0.5, "that would look like a fix"
        verdicts.append(found.verdict)
        ratios.append(found.ratio_of_ratios or 0.0)
    assert "better" not in verdicts
    assert np.median(ratios) == pytest.approx(1, abs=0.15)
    assert "picked because they were bad" in found.note


def test_a_level_of_its_own_is_no_reason_to_pick_controls() -> None:
    found = concluded(drawn(9, 1500, 0.3, 0.3, 5.0), drawn(10, 3000, 0.1, 0.1, 5.0))
    assert "picked" not in found.note
    assert found.verdict == "unchanged"


def test_too_little_says_how_long_it_takes() -> None:
    few = np.zeros((40, 2), dtype=np.int64)
    few[:2, 0] = 1
    others = np.zeros((400, 2), dtype=np.int64)
    others[:50, 0] = others[50:100, 1] = 1
    found = concluded(few, others)
    assert found.verdict == "inconclusive"
    assert found.days_needed is not None
    assert 0 < found.days_needed < 100
    assert found.p_better > 0.8


def test_one_bad_day_is_not_many_episodes() -> None:
    changed = np.zeros((300, 2), dtype=np.int64)
    changed[:3, 0] = 12
    control = np.zeros((300, 2), dtype=np.int64)
    control[:4, 0], control[4:8, 1] = 12, 11
    found = concluded(changed, control)
    assert found.verdict == "inconclusive"
    assert "clusters" in found.note


@pytest.mark.servers
def test_the_interval_covers_what_is_true() -> None:
    covered = better = 0
    for seed in range(40):
        found = concluded(drawn(seed, 800, 0.3, 0.15, 0.05), drawn(900 + seed, 1500, 0.3, 0.3, 0.05))
        covered += found.interval[0] <= 0.5 <= found.interval[1]
        better += found.verdict == "better"
    assert covered >= 35
    assert better >= 30
    wrong = sum(
        concluded(drawn(seed, 800, 0.3, 0.3, 0.05), drawn(800 + seed, 1500, 0.3, 0.3, 0.05)).verdict
        in ("better", "worse")
        for seed in range(40)
    )
    assert wrong <= 4


def test_nothing_to_compare() -> None:
    none = np.zeros((0, 2), dtype=np.int64)
    with pytest.raises(CannotLookError, match="no other host"):
        concluded(drawn(1, 10, 1, 1), none)
    with pytest.raises(CannotLookError, match="no changed host"):
        concluded(none, drawn(1, 10, 1, 1))


def test_the_time_around_a_change_is_left_out() -> None:
    marks = np.array([10, 20, 30])
    assert slices_before_and_after(marks, (10, 20)) == (1, 2)
    assert slices_before_and_after(marks, (12, 18)) == (1, 2)
    assert slices_before_and_after(marks, (20, 20)) == (2, 2)
    given = in_turn([f"h{n}" for n in range(10)], [(1, 2), (3, 4)])
    assert sorted(given) == [(1, 2)] * 5 + [(3, 4)] * 5


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return made(tmp_path_factory.mktemp("fleet"), PLAN)


def test_a_staggered_rollout_by_its_fact(capsys: pytest.CaptureFixture[str], fleet: list[str]) -> None:
    code, body = asked(capsys, "fixed", fleet, "--fact", "units/ecs.service/enabled=disabled")
    assert code == 0
    assert body["verdict"] == "better"
    low, high = body["interval"]
    assert low < ROLLED_OUT.ratio < high
    assert "had it from the beginning" in body["note"]
    assert 0.5 * body["control_before"]["hosts"] < body["changed_before"]["hosts"]
    assert main(["fleet", "fixed", *fleet, "--fact", "units/ecs.service/enabled=disabled"]) == 0
    assert capsys.readouterr().out.startswith("Better: after units/ecs.service/enabled=disabled, nic-reset")


def test_however_the_work_is_shared_it_gives_the_same_digits(fleet: list[str]) -> None:
    tables = read_tables(FolderPlace(Path(fleet[1])))
    sought = Sought("it", ("nic-reset",), PLAN.begin_us, PLAN.end_us, load_thresholds(None))
    wanted = FactValue("units/ecs.service/enabled", "disabled")
    answers = []
    for engine in (LocalEngine(), Shared()):
        changes = changes_of_fact(tables, engine, wanted, PLAN.begin_us, PLAN.end_us)
        answers.append(ask_fixed(tables, engine, changes, sought))
    assert answers[0] == answers[1]


def test_other_ways_to_say_who_was_changed(
    capsys: pytest.CaptureFixture[str], fleet: list[str], tmp_path: Path
) -> None:
    at = ["--at", "2026-11-16T00:00Z"]
    code, body = asked(capsys, "fixed", fleet, "--label", "kubernetes/node-group=train", *at)
    assert code == 4, "nothing was done to these"
    assert body["verdict"] != "better"
    hosts, control = tmp_path / "hosts", tmp_path / "control"
    hosts.write_text("".join(f"host-{n:05d}  # changed\n" for n in range(0, 1200, 3)))
    control.write_text("".join(f"host-{n:05d}\n" for n in range(1, 1200, 3)))
    code, body = asked(capsys, "fixed", fleet, "--hosts", str(hosts), *at, "--control", str(control))
    assert code == 4
    assert body["changed_before"]["hosts"] <= 400
    assert body["control_before"]["hosts"] <= 400
    code, body = asked(
        capsys, "fixed", fleet, "--hosts", str(hosts), *at, "--control", "labels/zone=us-east-1a"
    )
    assert body["control_before"]["hosts"] < 400


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--fact", "units/ecs.service/enabled=no-such"], 3),
        (["--fact", "no/such=thing"], 3),
        (["--fact", "units/ecs.service"], 2),
        (["--label", "zone=us-east-1a"], 2),
        (["--fact", "a=b", "--at", "1d"], 2),
        (["--label", "zone=us-east-1a", "--at", "2020-01-01"], 2),
        (["--hosts", "/no/such/file", "--at", "2026-11-16T00:00Z"], 2),
        ([], 2),
    ],
)
def test_what_cannot_be_asked(
    capsys: pytest.CaptureFixture[str], fleet: list[str], words: list[str], code: int
) -> None:
    assert main(["fleet", "fixed", *fleet, *words]) == code
    assert capsys.readouterr().err

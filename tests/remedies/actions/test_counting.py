from __future__ import annotations

import tomllib
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from necroscope.errors import CannotLookError
from necroscope.remedies.actions import counting
from necroscope.remedies.actions.counting import count_zombies, limit, memory_hierarchy, noise_floor
from necroscope.sources.host import Host

NEVER = lambda: False  # noqa: E731 - a name for what it says


def test_zombies_that_cannot_be_counted_are_an_error_and_not_none(tmp_path: Path) -> None:
    with pytest.raises(CannotLookError, match="cannot be counted") as caught:
        count_zombies(Host(tmp_path))
    assert caught.value.hint


def test_a_machine_without_memory_cgroups_says_so(tmp_path: Path) -> None:
    with pytest.raises(CannotLookError, match="cannot be seen"):
        memory_hierarchy(Host(tmp_path))


def test_every_number_has_a_unit_and_a_reason() -> None:
    rows = tomllib.loads(files("necroscope.remedies").joinpath("rules/purge.toml").read_text())
    assert all(row["value"] > 0 and row["unit"] and len(row["why"]) > 40 for row in rows.values())


def test_the_floor_grows_with_the_cores(tmp_path: Path) -> None:
    online = tmp_path / "sys/devices/system/cpu/online"
    online.parent.mkdir(parents=True)
    online.write_text("0-1\n")
    assert noise_floor(Host(tmp_path)) == 58
    online.write_text("0-95\n")
    assert noise_floor(Host(tmp_path)) == 434


class Machine:
    """A clock that runs with every sleep, and a number of zombies that follows it."""

    def __init__(self, zombies: Callable[[float], int]) -> None:
        self.now = 0.0
        self.zombies = zombies

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    found = Machine(lambda _now: 0)
    monkeypatch.setattr("time.monotonic", lambda: found.now)
    monkeypatch.setattr("time.sleep", found.sleep)
    monkeypatch.setattr(counting, "count_zombies", lambda _host: found.zombies(found.now))
    return found


def test_it_waits_as_long_as_they_are_freed(machine: Machine, tmp_path: Path) -> None:
    machine.zombies = lambda now: max(60_000 - int(now * 500), 10)
    assert counting.wait_until_settled(Host(tmp_path)) <= noise_floor(Host(tmp_path))
    assert machine.now == pytest.approx(120, abs=2)


def test_it_ends_when_the_number_holds_still(machine: Machine, tmp_path: Path) -> None:
    machine.zombies = lambda now: max(5_000 - int(now * 1000), 2_000)
    assert counting.wait_until_settled(Host(tmp_path)) == 2_000
    assert machine.now == pytest.approx(3 + limit("quiet"), abs=1)


def test_it_does_not_wait_for_ever_for_a_slow_kernel(machine: Machine, tmp_path: Path) -> None:
    machine.zombies = lambda now: 10_000 - int(now)
    counting.wait_until_settled(Host(tmp_path))
    longest = limit("least_wait") + 10_000 / limit("freed_each_second")
    assert machine.now == pytest.approx(longest, abs=1)


def test_rounds_go_on_while_they_help(machine: Machine, tmp_path: Path) -> None:
    rounds: list[float] = []
    machine.zombies = lambda _now: 1000 - 400 * len(rounds)
    settled = counting.purge_in_rounds(Host(tmp_path), lambda: rounds.append(machine.now), NEVER)
    assert (settled.before, settled.left, len(rounds)) == (1000, -200, 3)


@pytest.mark.parametrize(("left", "is_empty"), [(1000, False), (10, False), (500, True)])
def test_one_round_is_enough_where_another_cannot_help(
    machine: Machine, tmp_path: Path, left: int, is_empty: bool
) -> None:
    rounds: list[float] = []
    machine.zombies = lambda _now: left if rounds else 1000
    settled = counting.purge_in_rounds(Host(tmp_path), lambda: rounds.append(machine.now), lambda: is_empty)
    assert (len(rounds), settled.left) == (1, left)
    assert str(settled).startswith(f"1,000 -> {left:,} zombies in ")


def test_a_number_that_still_falls_is_not_settled(machine: Machine, tmp_path: Path) -> None:
    machine.zombies = lambda now: 1000 - int(100 * now)
    assert "1,000 -> 900" in counting.still_falling(Host(tmp_path))
    machine.zombies = lambda _now: 1000
    assert counting.still_falling(Host(tmp_path)) == ""

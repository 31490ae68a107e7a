from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from necroscope.remedies.actions import settling
from necroscope.remedies.actions.purge_limits import limit, noise_floor
from necroscope.sources.host import Host

NEVER = lambda: False  # noqa: E731 - a name for what it says


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
    monkeypatch.setattr(settling, "count_zombies", lambda _host: found.zombies(found.now))
    return found


def test_it_waits_as_long_as_they_are_freed(machine: Machine, tmp_path: Path) -> None:
    machine.zombies = lambda now: max(60_000 - int(now * 500), 10)
    assert settling.wait_until_settled(Host(tmp_path)) <= noise_floor(Host(tmp_path))
    assert machine.now == pytest.approx(120, abs=2)


def test_it_ends_when_the_number_holds_still(machine: Machine, tmp_path: Path) -> None:
    machine.zombies = lambda now: max(5_000 - int(now * 1000), 2_000)
    assert settling.wait_until_settled(Host(tmp_path)) == 2_000
    assert machine.now == pytest.approx(3 + limit("quiet"), abs=1)


def test_it_does_not_wait_for_ever_for_a_slow_kernel(machine: Machine, tmp_path: Path) -> None:
    machine.zombies = lambda now: 10_000 - int(now)
    settling.wait_until_settled(Host(tmp_path))
    longest = limit("least_wait") + 10_000 / limit("freed_each_second")
    assert machine.now == pytest.approx(longest, abs=1)


def test_rounds_go_on_while_they_help(machine: Machine, tmp_path: Path) -> None:
    rounds: list[float] = []
    machine.zombies = lambda _now: 1000 - 400 * len(rounds)
    settled = settling.purge_in_rounds(Host(tmp_path), lambda: rounds.append(machine.now), NEVER)
    assert (settled.before, settled.left, len(rounds)) == (1000, -200, 3)


@pytest.mark.parametrize(("left", "is_empty"), [(1000, False), (10, False), (500, True)])
def test_one_round_is_enough_where_another_cannot_help(
    machine: Machine, tmp_path: Path, left: int, is_empty: bool
) -> None:
    rounds: list[float] = []
    machine.zombies = lambda _now: left if rounds else 1000
    settled = settling.purge_in_rounds(Host(tmp_path), lambda: rounds.append(machine.now), lambda: is_empty)
    assert (len(rounds), settled.left) == (1, left)
    assert str(settled).startswith(f"1,000 -> {left:,} zombies in ")


def test_a_number_that_still_falls_is_not_settled(machine: Machine, tmp_path: Path) -> None:
    machine.zombies = lambda now: 1000 - int(100 * now)
    assert "1,000 -> 900" in settling.still_falling(Host(tmp_path))
    machine.zombies = lambda _now: 1000
    assert settling.still_falling(Host(tmp_path)) == ""

"""Shipping children of the recorder: when they are started, and what becomes of what they say."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from necroscope.agent import shipper as shipper_module
from necroscope.agent.shipper import Shipper, ship_command
from necroscope.model.retry import Retry
from necroscope.sources.host import Host
from necroscope.store.child import OURSELVES
from necroscope.store.config import FleetSettings

Make = Callable[[str], Shipper]
SETTINGS = FleetSettings(place="there")
GOOD = '{"sent": 2, "waiting": 0, "given_up": [], "last_success_us": 5, "cpu_seconds": 0.25, "problems": []}'
AWAY = '{"sent": 1, "waiting": 4, "given_up": ["a"], "error": {"what": "it is away"}, "problems": []}'


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """A shipper whose child is a shell script; `calls` gets its words. It begins at once."""
    monkeypatch.setattr(shipper_module, "FIRST_SECONDS", 0.0)

    def make_one(script: str) -> Shipper:
        path = tmp_path / "child.sh"
        path.write_text(f'echo "$@" >>"{tmp_path}/calls"\n{script}\n')
        return Shipper(["sh", str(path), "ship"], lambda: SETTINGS)

    return make_one


def calls(tmp_path: Path) -> list[str]:
    path = tmp_path / "calls"
    return path.read_text().splitlines() if path.exists() else []


def tick_until(shipper: Shipper, is_done: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not is_done():
        assert time.monotonic() < end
        begin = time.monotonic()
        shipper.tick()
        assert time.monotonic() - begin < 2, "a tick never waits"
        time.sleep(0.01)


def test_one_child_and_then_a_pause(tmp_path: Path, make: Make) -> None:
    shipper = make(f"sleep 0.2; echo '{GOOD}'")
    tick_until(shipper, lambda: shipper.status.sent > 0)
    for _ in range(20):
        shipper.tick()
    assert calls(tmp_path) == ["ship --fleet there --seconds 240s"]
    status = shipper.status
    assert (status.sent, status.waiting, status.last_success_us, status.error) == (2, 0, 5, "")
    assert (shipper.job.cpu_seconds, status.failures) == (0.25, 0)


def test_a_failure_is_told_counted_and_tried_again_later(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipper = make(f"echo '{AWAY}'; exit 3")
    monkeypatch.setattr(shipper_module, "RETRY", Retry(0.4, 600.0))
    tick_until(shipper, lambda: bool(shipper.status.error))
    begin = time.monotonic()
    status = shipper.status
    assert (status.error, status.failures, status.waiting, status.given_up) == ("it is away", 1, 4, 1)
    assert status.problems == "the spool was full: 1 parts given up"
    tick_until(shipper, lambda: shipper.status.failures == 3)
    assert time.monotonic() - begin > 0.8 * (0.4 + 0.8), "the pause doubles"
    (tmp_path / "child.sh").write_text(f"echo '{GOOD}'")
    tick_until(shipper, lambda: not shipper.status.error)
    assert shipper.status.problems == ""


def test_pauses_differ_between_hosts() -> None:
    begins = {Shipper(["true"], lambda: SETTINGS)._not_before for _ in range(5)}
    assert len(begins) == 5


def test_when_there_is_more_it_goes_on_soon(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipper_module, "PAUSE_FOR_MORE", 0.05)
    shipper = make("""echo '{"is_more": true}'""")
    tick_until(shipper, lambda: len(calls(tmp_path)) >= 3)


@pytest.mark.parametrize("script", ["kill -9 $$", "exit 2", "echo no JSON; exit 1"])
def test_the_death_of_a_child_is_told(make: Make, script: str) -> None:
    shipper = make(script)
    tick_until(shipper, lambda: bool(shipper.status.error))
    assert "the shipping child ended with" in shipper.status.error


def test_a_command_that_is_not_there_is_told(tmp_path: Path) -> None:
    shipper = Shipper([str(tmp_path / "none")], lambda: replace(SETTINGS, every_seconds=0.001))
    tick_until(shipper, lambda: bool(shipper.status.error))
    assert "No such file" in shipper.status.error


def test_a_child_that_is_stuck_is_ended(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipper_module, "STUCK_SECONDS", 0.05)
    shipper = make("exec sleep 60")
    tick_until(shipper, lambda: bool(shipper.status.error))
    assert shipper.status.error == "the shipping child was ended after 0 s"


def test_the_last_attempt_is_one_and_short(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipper_module, "LAST_SECONDS", 1.0)
    shipper = make(f"echo '{GOOD}'")
    shipper.finish()
    assert calls(tmp_path) == ["ship --fleet there --seconds 0.5s"]
    assert shipper.status.sent == 2
    (tmp_path / "child.sh").write_text("exec sleep 60")
    begin = time.monotonic()
    shipper.finish()
    assert time.monotonic() - begin < 5
    assert shipper.job.pid is None
    shipper.finish()
    assert len(calls(tmp_path)) == 1, "after a failure there is no last attempt"


def test_one_without_a_place_starts_nothing_until_it_has_one(tmp_path: Path, make: Make) -> None:
    shipper = make(f"echo '{GOOD}'")
    shipper._settings = FleetSettings
    shipper.load()
    for _ in range(5):
        shipper.tick()
    shipper.finish()
    assert not calls(tmp_path)
    shipper._settings = lambda: FleetSettings(place="elsewhere", every_seconds=7)
    shipper.load()
    tick_until(shipper, lambda: shipper.status.sent > 0)
    assert (calls(tmp_path), shipper.status.every_seconds) == (["ship --fleet elsewhere --seconds 240s"], 7)


def test_a_place_that_a_whole_fleet_is_given_is_not_used_at_once(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipper = make(f"echo '{GOOD}'")
    shipper._settings = FleetSettings
    shipper.load()
    monkeypatch.setattr(shipper_module, "FIRST_SECONDS", 60.0)
    monkeypatch.setattr("random.uniform", lambda _, high: high)
    shipper._settings = lambda: SETTINGS
    shipper.load()
    shipper.tick()
    assert shipper.is_on and not calls(tmp_path)


def test_the_command_names_the_store_and_the_root(tmp_path: Path) -> None:
    words = [*OURSELVES, "fleet", "ship", "--json", "--store", "/s", "--root", str(tmp_path)]
    assert ship_command(Host(tmp_path), Path("/s"), None) == words
    assert ship_command(Host(tmp_path), Path("/s"), Path("/c")) == [*words, "--config", "/c"]

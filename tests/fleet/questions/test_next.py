from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from lab.fleets.plan import Leak, Plan
from necroscope.cli.main import main
from necroscope.fleet.engine.engine import LocalEngine
from necroscope.fleet.place.folder import FolderPlace
from necroscope.fleet.questions.next import LastSeen, ask_next, conclude_next
from necroscope.fleet.tables.read_tables import read_tables
from necroscope.model.fleet.forecast import Forecast, Next
from necroscope.statistics.theil_sen_many import Series
from tests.fleet.questions.generated import Shared, asked, made

PLAN = Plan(hosts=400, days=1.5, segment_seconds=600, seed=3, leak=Leak(0.2, 900.0))
HOUR = 3600.0
Array = NDArray[np.float64]
END_US = 10**15


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return made(tmp_path_factory.mktemp("fleet"), PLAN)


def grown(per_hour: float, hours: int = 24, last: float = 8000.0) -> tuple[Array, Array]:
    x = np.arange(-4 * hours, 1) * HOUR / 4
    return x, last + per_hour * x / HOUR + np.random.default_rng(1).normal(0, 2, len(x))


def concluded(levels: list[int | None], *rows: tuple[Array, Array]) -> Next:
    host = np.repeat(np.arange(len(rows)), [len(x) for x, _ in rows])
    seconds = np.concatenate([x for x, _ in rows])
    series = Series(host, np.zeros_like(host), seconds, np.concatenate([y for _, y in rows]))
    last = np.array([END_US + int(x[-1] * 1e6) for x, _ in rows])
    tracked = tuple(int(y[-1]) for _, y in rows)
    names = tuple(f"host-{n}" for n in range(len(rows)))
    seen = LastSeen(names, last, tracked, (7,) * len(rows), tuple(levels))
    return conclude_next(seen, series, (END_US - 86400 * 10**6, END_US), 3600 * 10**6)


def test_time_to_the_wall() -> None:
    found = concluded([10_000, 10_000, 10_000], grown(10.0), grown(100.0), grown(0.0))
    assert [one.host for one in found.forecasts] == ["host-1", "host-0", "host-2"]
    first, second, last = found.forecasts
    assert first.seconds == pytest.approx(20 * HOUR, rel=0.02)
    assert first.earliest_seconds is not None
    assert first.latest_seconds is not None
    assert first.earliest_seconds < 20 * HOUR < first.latest_seconds
    assert second.per_hour == pytest.approx(10, rel=0.05)
    assert last.outlook == "no trend"
    assert last.seconds is None
    assert (found.growing, found.beyond) == (2, 0)


def test_who_is_beyond_comes_before_all_and_who_has_no_level_after_all() -> None:
    found = concluded([None, 5000, 10_000], grown(10.0), grown(10.0), grown(10.0))
    assert [one.outlook for one in found.forecasts] == ["beyond", "ahead", "no level is known"]
    assert found.beyond == 1


def test_seconds_count_from_the_end_of_the_range() -> None:
    x, y = grown(100.0)
    found = concluded([10_000, 10_000], (x - 0.5 * HOUR, y), (x, y))
    late, now = sorted(found.forecasts, key=lambda one: one.host)
    assert now.seconds is not None
    assert late.seconds == pytest.approx(now.seconds - 0.5 * HOUR, rel=1e-6)


def test_hosts_that_are_gone_are_left_out() -> None:
    x, y = grown(100.0)
    found = concluded([10_000, 10_000], (x - 3 * HOUR, y), (x, y))
    assert [one.host for one in found.forecasts] == ["host-1"]
    assert found.hosts == 2
    assert "1 hosts were not seen" in found.note


def test_generated_hosts_that_leak_are_found(fleet: list[str]) -> None:
    tables = read_tables(FolderPlace(Path(fleet[1])))
    begin_us = PLAN.end_us - 86400 * 10**6
    found = ask_next(tables, LocalEngine(), begin_us, PLAN.end_us)
    fast = [one for one in found.forecasts if (one.per_hour or 0) > 50 and one.outlook == "ahead"]
    assert 40 <= len(fast) <= 80, "a fifth of those that are there"
    quiet = [one for one in found.forecasts if one not in fast and one.outlook == "ahead"]
    assert len(quiet) <= 0.1 * len(found.forecasts)
    assert all(_is_in_order(one) for one in fast)
    assert found == ask_next(tables, Shared(), begin_us, PLAN.end_us), "however the work is shared"


def _is_in_order(one: Forecast) -> bool:
    return (one.earliest_seconds or 0) <= (one.seconds or 0) <= (one.latest_seconds or 0)


def test_on_the_command_line(capsys: pytest.CaptureFixture[str], fleet: list[str]) -> None:
    words = [*fleet[:2], "-e", fleet[5], "-b", fleet[3]]
    code, body = asked(capsys, "next", words, "--within", "60d")
    assert code == 1
    assert body["near"] >= 1
    assert body["forecasts"][0]["outlook"] in ("ahead", "beyond")
    code = main(["fleet", "next", *words, "--within", "60d"])
    assert code == 1
    assert "the wall" in capsys.readouterr().out.splitlines()[0]
    assert main(["fleet", "next", *words, "--within", "1s"]) in (0, 1)
    assert main(["fleet", "next", "--fleet", fleet[1], "-b", "2020-01-01", "-e", "2020-01-02"]) == 3


def test_nobody_is_next_where_nothing_leaks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = made(tmp_path / "quiet", Plan(hosts=50, days=0.5, segment_seconds=600, seed=4))
    code = main(["fleet", "next", *words])
    assert code == 0
    assert capsys.readouterr().out.startswith("No host reaches the wall within 7 days")

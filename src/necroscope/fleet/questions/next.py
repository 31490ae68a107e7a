"""Who is next: when each host reaches the wall, by the trend of its memory cgroups (`fleet next`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from necroscope.diagnosis.zombies.wall import Cost, Outlook, Wall, find_wall
from necroscope.fleet.engine.engine import Engine
from necroscope.fleet.engine.gathering import Gathering
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.model.fleet.forecast import Forecast, Next
from necroscope.model.timestamp import SECOND_US
from necroscope.signals.thresholds import load_thresholds
from necroscope.statistics.theil_sen import Trend
from necroscope.statistics.theil_sen_many import Series, trends_of

STEPS = 96  # of the range, in each of which one segment of a host is looked at; of a day, 15 minutes each
HOUR = 3600.0
LONGEST_SEGMENT_US = 3600 * SECOND_US
# To have the value of the last segment by a maximum alone: its time above, the value below.
BELOW = 1 << 32


@dataclass(frozen=True, slots=True, eq=False)
class LastSeen:
    """How each host was when it was seen last."""

    names: tuple[str, ...]
    last_us: NDArray[np.int64]
    tracked: tuple[int | None, ...]
    zombies: tuple[int | None, ...]
    wall_level: tuple[int | None, ...]


def ask_next(tables: FleetTables, engine: Engine, begin_us: int, end_us: int) -> Next:
    """The time to the wall of each host, by what was recorded in a range."""
    gone_us = int(load_thresholds(None)["fleet.gone_hours"] * HOUR * SECOND_US)
    seen = _gather_last(tables, engine, (begin_us, end_us), gone_us)
    series = _gather_series(tables, engine, seen, begin_us, end_us)
    return conclude_next(seen, series, (begin_us, end_us), gone_us)


def conclude_next(seen: LastSeen, series: Series, span: tuple[int, int], gone_us: int) -> Next:
    """What the counts say. Hosts that were not seen any more when others were are left out."""
    trends = trends_of(series)
    newest_us = int(seen.last_us.max(initial=span[0]))
    is_gone = seen.last_us < newest_us - gone_us
    here = [number for number in range(len(seen.names)) if not is_gone[number]]
    told = [number for number in here if seen.tracked[number] is not None]
    forecasts = [_forecast(seen, trends, number, span[1]) for number in told]
    return Next(
        begin_us=span[0],
        end_us=span[1],
        hosts=len(seen.names),
        growing=sum(one.outlook == Outlook.AHEAD.value for one in forecasts),
        beyond=sum(one.outlook == Outlook.BEYOND.value for one in forecasts),
        forecasts=tuple(sorted(forecasts, key=_order)),
        note=_note(int(is_gone.sum()), len(here) - len(told)),
    )


ORDER = [
    Outlook.BEYOND,
    Outlook.AHEAD,
    Outlook.NO_TREND,
    Outlook.FALLING,
    Outlook.TOO_SHORT,
    Outlook.NO_LEVEL,
]


def _order(one: Forecast) -> tuple[int, float, float, str]:
    """The soonest first; of the others, who is nearest to the wall."""
    room = (one.wall_level or 0) - one.tracked if one.wall_level else 0.0
    return ORDER.index(Outlook(one.outlook)), one.seconds or 0.0, room, one.host


def _forecast(seen: LastSeen, trends: Mapping[int, Trend], number: int, end_us: int) -> Forecast:
    trend, wall = trends.get(number), _wall(seen, trends.get(number), number)
    late = (end_us - int(seen.last_us[number])) / SECOND_US
    slope = trend.slope if trend else None
    return Forecast(
        host=seen.names[number],
        outlook=wall.outlook.value,
        tracked=wall.now,
        zombies=seen.zombies[number],
        wall_level=seen.wall_level[number],
        per_hour=slope.value * HOUR if slope else None,
        per_hour_interval=(slope.low * HOUR, slope.high * HOUR) if slope else None,
        seconds=_from_now(wall.seconds, late),
        earliest_seconds=_from_now(wall.earliest_seconds, late),
        latest_seconds=_from_now(wall.latest_seconds, late),
        hours_seen=trend.seconds / HOUR if trend else 0.0,
        last_us=int(seen.last_us[number]),
    )


def _wall(seen: LastSeen, trend: Trend | None, number: int) -> Wall:
    """As `necroscope zombies` finds it on the host, with the level that the host told."""
    level, tracked = seen.wall_level[number], seen.tracked[number] or 0
    costs = () if level is None else (Cost("wall", None, 0.0, "", level, "told by the host"),)
    return find_wall(tracked, trend, costs)


def _from_now(seconds: float | None, late: float) -> float | None:
    """Seconds from the end of the range, of what was counted from when the host was seen last."""
    return None if seconds is None else max(seconds - late, 0.0)


def _note(gone: int, silent: int) -> str:
    notes = []
    if gone:
        notes.append(f"{gone:,} hosts were not seen in the last hour of the others, and are left out")
    if silent:
        notes.append(f"of {silent:,} hosts the memory cgroups are not known")
    return "; ".join(notes)


def _gather_last(tables: FleetTables, engine: Engine, span: tuple[int, int], gone_us: int) -> LastSeen:
    """When each host was seen; how it was then, of those that are not gone: a pass over a few hours only."""
    hosts = engine.gather(
        tables, Gathering("segments", ("host",), (("last_us", "max", "max(end_us)"),)), *span
    )
    last_us = hosts.column("last_us").to_numpy().astype(np.int64)
    recent_us = max(span[0], int(last_us.max(initial=span[0])) - gone_us - LONGEST_SEGMENT_US)
    values = _gather_values(tables, engine, recent_us, span[1])
    names = tuple(_texts(hosts, "host"))
    tracked, zombies, wall_level = (tuple(column.get(name) for name in names) for column in values)
    return LastSeen(names, last_us, tracked, zombies, wall_level)


def _gather_values(
    tables: FleetTables, engine: Engine, begin_us: int, end_us: int
) -> list[dict[str, int | None]]:
    """The last known counts by host: tracked, zombies, the level of the wall."""
    time = f"((begin_us - {begin_us}) // {SECOND_US}) * {BELOW}"
    columns = tuple(
        (name, "max", f"max(CASE WHEN {name} BETWEEN 0 AND {BELOW - 1} THEN {time} + {name} END)")
        for name in ("tracked", "zombies", "wall_level")
    )
    rows = engine.gather(tables, Gathering("segments", ("host",), columns), begin_us, end_us)
    names = _texts(rows, "host")
    return [
        {
            host: None if value is None else value % BELOW
            for host, value in zip(names, rows.column(name).to_pylist(), strict=True)
        }
        for name, _, _ in columns
    ]


def _gather_series(tables: FleetTables, engine: Engine, seen: LastSeen, begin_us: int, end_us: int) -> Series:
    """One segment of each step, by the end of which its count was read."""
    step_us = max((end_us - begin_us) // STEPS, 1)
    gathering = Gathering(
        "segments",
        ("host", "boot_id", "end_us"),
        (("tracked", "max", "max(tracked)"),),
        where=f"tracked IS NOT NULL AND begin_us % {step_us} < end_us - begin_us",
    )
    rows = engine.gather(tables, gathering, begin_us, end_us)
    place = {name: number for number, name in enumerate(seen.names)}
    names = rows.column("host").combine_chunks().dictionary_encode()
    numbers = np.array([place[name] for name in names.dictionary.to_pylist()], dtype=np.int64)
    host = numbers[names.indices.to_numpy()] if len(numbers) else np.zeros(0, dtype=np.int64)
    boot = rows.column("boot_id").combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    seconds = (rows.column("end_us").to_numpy() - end_us) / SECOND_US
    order = np.lexsort((seconds, host))
    return _once(Series(host, boot, seconds, rows.column("tracked").to_numpy().astype(float)).only(order))


def _once(series: Series) -> Series:
    """Without a second point of the same host and moment, as a clock that was set back may give."""
    if not len(series.host):
        return series
    same = (series.host[1:] == series.host[:-1]) & (series.seconds[1:] == series.seconds[:-1])
    return series.only(np.concatenate([[True], ~same]))


def _texts(rows: pa.Table, name: str) -> list[str]:
    texts: list[str] = rows.column(name).cast(pa.string()).to_pylist()
    return texts

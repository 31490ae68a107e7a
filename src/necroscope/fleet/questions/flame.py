"""What ran in the seconds before events across the fleet, as one flame graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from necroscope.fleet.call_trees import CallTrees, merge_trees
from necroscope.fleet.engine.engine import Engine
from necroscope.fleet.questions.culprit_events import ChosenEvents, choose_events
from necroscope.fleet.questions.culprit_work import EventToCompare
from necroscope.fleet.questions.flame_work import EventTrees, Looking, look_at_host, put_together
from necroscope.fleet.tables.opened import FleetTables
from necroscope.model.fleet.fleet_flame import FleetFlame
from necroscope.profiles.window import Split
from necroscope.signals.thresholds import load_thresholds

MOST_NOT_MERGED = 100


@dataclass(frozen=True, slots=True)
class FlameWish:
    """What to look at."""

    window_seconds: float = 5.0  # before an event
    most: int = 1000  # events
    split: Split = "comm"
    is_every_core: bool = False  # else that of the event, where it has one
    idle: bool = False


def ask_flame(
    tables: FleetTables,
    engine: Engine,
    kinds: Sequence[str],
    span_us: tuple[int, int],
    wish: FlameWish | None = None,
) -> tuple[FleetFlame, CallTrees]:
    """What the graph was made of, and its stacks. A second of a host is in it once, whatever its events."""
    wish = wish or FlameWish()
    chosen = choose_events(tables, engine, kinds, span_us, wish.most, load_thresholds(None))
    looking = Looking(tables.address, wish.window_seconds, wish.split, wish.is_every_core, wish.idle)
    hosts = _by_host(chosen.chosen)
    if hosts:
        done = engine.reduce(partial(look_at_host, looking), put_together, hosts)
    else:
        done = EventTrees(merge_trees([]), 0, 0, 0, ())
    return _conclude(chosen, done, kinds, span_us), done.trees


def _by_host(events: Sequence[EventToCompare]) -> list[tuple[EventToCompare, ...]]:
    """The events of each host and boot together: their seconds may overlap."""
    by_host: dict[tuple[str, str], list[EventToCompare]] = {}
    for event in events:
        by_host.setdefault((event.host, event.boot_id), []).append(event)
    return [tuple(by_host[key]) for key in sorted(by_host)]


def _conclude(
    chosen: ChosenEvents, done: EventTrees, kinds: Sequence[str], span_us: tuple[int, int]
) -> FleetFlame:
    return FleetFlame(
        kinds=tuple(kinds),
        begin_us=span_us[0],
        end_us=span_us[1],
        events=chosen.events,
        merged=done.events,
        hosts=done.hosts,
        seconds=done.recorded_us / 1e6,
        samples=done.trees.samples,
        idle=done.trees.idle,
        unknown=done.trees.unknown,
        not_merged=(*done.failed, *chosen.not_compared)[:MOST_NOT_MERGED],
        note=_note(chosen, done),
    )


def _note(chosen: ChosenEvents, done: EventTrees) -> str:
    if not chosen.events:
        return "no such event in this time"
    notes = []
    if missing := len(chosen.not_compared) + len(done.failed):
        notes.append(f"the samples of {missing:,} of {chosen.events:,} events are not here")
    if chosen.left_out:
        notes.append(f"{chosen.left_out:,} older events were left out (--most)")
    return "; ".join(notes)

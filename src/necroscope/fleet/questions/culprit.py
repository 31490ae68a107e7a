"""What ran in the seconds before events across the fleet, against the quiet seconds of the same hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from necroscope.fleet.engine.engine import Engine
from necroscope.fleet.place.place import Place
from necroscope.fleet.questions.culprit_common import common_suspects
from necroscope.fleet.questions.culprit_events import ChosenEvents, choose_events
from necroscope.fleet.questions.culprit_work import ComparedEvent, Comparing, compare_event
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.model.fleet.common_culprit import CommonCulprits, NotCompared
from necroscope.signals.thresholds import Thresholds, load_thresholds

LEAST_HOSTS = 3  # fewer could not be told from chance
MOST_NOT_COMPARED = 100


@dataclass(frozen=True, slots=True)
class CulpritWish:
    """How to compare."""

    window_seconds: float = 5.0  # before an event
    most: int = 200  # events
    thresholds: Thresholds | None = None  # None: those of this machine


def ask_culprit(  # noqa: PLR0913, PLR0917 - what was asked, and of whom
    tables: FleetTables,
    engine: Engine,
    place: Place,
    kinds: Sequence[str],
    begin_us: int,
    end_us: int,
    wish: CulpritWish | None = None,
) -> CommonCulprits:
    """The suspects that many hosts have in common, the most common first."""
    wish = wish or CulpritWish()
    thresholds = load_thresholds(None) if wish.thresholds is None else wish.thresholds
    chosen = choose_events(tables, engine, kinds, (begin_us, end_us), wish.most, thresholds)
    work = partial(compare_event, Comparing(place.address, wish.window_seconds, dict(thresholds)))
    done = list(engine.map(work, chosen.chosen))
    return conclude_culprits(chosen, done, kinds, (begin_us, end_us))


def conclude_culprits(
    chosen: ChosenEvents, done: Sequence[ComparedEvent], kinds: Sequence[str], span_us: tuple[int, int]
) -> CommonCulprits:
    """Put together what came of every event, in the order of those that were chosen."""
    pairs = list(zip(chosen.chosen, done, strict=True))
    rankings = [(event.host, one.ranking) for event, one in pairs if one.ranking is not None]
    suspects, culprit = common_suspects(rankings)
    failed = [NotCompared(event.host, event.id, one.why_not) for event, one in pairs if one.ranking is None]
    hosts = len({host for host, _ in rankings})
    return CommonCulprits(
        kinds=tuple(kinds),
        begin_us=span_us[0],
        end_us=span_us[1],
        events=chosen.events,
        compared=len(rankings),
        hosts=hosts,
        suspects=tuple(suspects),
        culprit=culprit,
        not_compared=tuple([*failed, *chosen.not_compared][:MOST_NOT_COMPARED]),
        note=_note(chosen, len(failed), hosts),
    )


def _note(chosen: ChosenEvents, failed: int, hosts: int) -> str:
    notes = []
    if not chosen.events:
        return "nothing to explain: no such event in this time"
    if hosts < LEAST_HOSTS:
        some = f"{hosts} host{'' if hosts == 1 else 's'}"
        notes.append(
            f"samples of {some} are too few: what {LEAST_HOSTS} have in common can be told from chance"
        )
    if missing := len(chosen.not_compared) + failed:
        notes.append(f"{missing:,} of {chosen.events:,} events could not be compared")
    if chosen.left_out:
        notes.append(f"{chosen.left_out:,} older events were left out (--most)")
    return "; ".join(notes)

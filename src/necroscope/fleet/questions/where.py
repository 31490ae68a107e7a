"""Do events concentrate, and in what: the question `fleet where`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from necroscope.fleet.engine.engine import Engine
from necroscope.fleet.host_facts import UNKNOWN
from necroscope.fleet.questions.where_cells import Cells, Label, Whole, gather_cells, units_of
from necroscope.fleet.questions.where_confounding import (
    excess_among_alike,
    follow_labels,
    note_followers,
    part_followers,
    ratio_among_alike,
)
from necroscope.fleet.questions.where_sentences import note_of, sentence_of, unknown_sentence
from necroscope.fleet.questions.where_values import Value, find_values, is_compared, unknown_units
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.model.fleet.concentration import Concentration, Standing, Where
from necroscope.signals.thresholds import Thresholds, load_thresholds
from necroscope.statistics.graded_hosts import exact_p
from necroscope.statistics.rate_ratios import Ratio, rate_ratio

UNKNOWN_VALUE = "unknown"


@dataclass(frozen=True, slots=True)
class Sought:
    """What is asked for."""

    kinds: tuple[str, ...]
    begin_us: int
    end_us: int
    thresholds: Thresholds
    by: tuple[str, ...] = ()  # these facts only, of any section


def ask_where(tables: FleetTables, engine: Engine, kinds: Sequence[str], begin_us: int, end_us: int) -> Where:
    """All values of all labels in a range of time."""
    return seek_where(tables, engine, Sought(tuple(kinds), begin_us, end_us, load_thresholds(None)))


def seek_where(tables: FleetTables, engine: Engine, sought: Sought) -> Where:
    """The same with other thresholds, or by some facts only."""
    cells = gather_cells(
        tables, engine, sought.kinds, (sought.begin_us, sought.end_us), sought.thresholds, sought.by
    )
    return conclude_where(cells, sought)


def conclude_where(cells: Cells, sought: Sought) -> Where:
    """What the counts say."""
    thresholds, by = sought.thresholds, sought.by
    values = find_values(cells, thresholds, by)
    tested = [value for value in values if value.q is not None]
    shown = [value for value in tested if (value.q or 0.0) <= thresholds["fleet.false_discovery"]]
    leads = part_followers(cells, shown, len(tested), thresholds)
    compared = [label for label in cells.labels if is_compared(label, thresholds, by)]
    follow_labels(cells, leads, compared, thresholds)
    leads = [lead for lead in leads if not lead.follows]
    note_followers(cells, tested, leads, thresholds)
    standings = {value: _standing(value, leads) for value in values}
    rows = [
        _row(cells, sought.kinds, value, standings)
        for value in sorted(values, key=lambda v: _rank(v, standings))
    ]
    everything = units_of(cells, np.zeros(len(cells.host), dtype=np.int64))
    total = everything.exposed(np.ones(len(everything.episodes), dtype=bool))
    return Where(
        kinds=sought.kinds,
        begin_us=sought.begin_us,
        end_us=sought.end_us,
        total=total,
        tested=len(tested),
        concentrations=(*rows, *_unknown_rows(cells, compared)),
        unknown_hosts=len(np.unique(cells.host[~cells.has_facts])),
        note=note_of(cells, total, values, _too_fine(cells, compared) if not by else []),
    )


def _too_fine(cells: Cells, compared: Sequence[Label]) -> list[str]:
    """Labels that differ, but from nearly every host to the next."""
    left_out = [label for label in cells.labels if label not in compared]
    return [label.fact for label in left_out if len(np.unique(label.codes[label.codes != UNKNOWN])) > 1]


def _standing(value: Value, leads: Sequence[Value]) -> Standing:
    if value.follows:
        return Standing.FOLLOWS
    if value in leads or any(value in lead.alike for lead in leads):
        return Standing.CONCENTRATES if value.excess.excess > 0 else Standing.SPARED
    return Standing.NOT_SHOWN


RANKS = (Standing.CONCENTRATES, Standing.SPARED, Standing.FOLLOWS, Standing.NOT_SHOWN)


def _rank(
    value: Value, standings: Mapping[Value, Standing]
) -> tuple[int, bool, bool, float, tuple[int, bool, str]]:
    is_second = any(_comes_before(other, value) for other in value.alike)
    return RANKS.index(standings[value]), is_second, value.q is None, value.p, value.order


def _comes_before(one: Value, other: Value) -> bool:
    """Of two that cannot be told apart: that a unit is enabled says more than that it runs."""
    unit, _, what = one.label.fact.rpartition("/")
    other_unit, _, other_what = other.label.fact.rpartition("/")
    if unit == other_unit and unit.startswith("units/") and what != other_what:
        return what < other_what
    return (one.p, one.order) < (other.p, other.order)


def _row(
    cells: Cells, kinds: Sequence[str], value: Value, standings: Mapping[Value, Standing]
) -> Concentration:
    standing = standings[value]
    strata = _told_apart_from(cells, value, standings)
    among = ratio_among_alike(cells, value, strata) if strata is not None else None
    names = tuple(dict.fromkeys(one.name for one in (*value.same, *value.alike)))
    row = Concentration(
        label=value.label.fact,
        value=value.label.values[value.code],
        inside=value.inside,
        outside=value.outside,
        rate_ratio=value.ratio.value,
        interval=(value.ratio.low, value.ratio.high),
        p=value.p,
        q=value.q,
        standing=standing,
        ratio_among_alike=among.value if among else None,
        interval_among_alike=_interval(among),
        follows=tuple(_label_of(lead).fact for lead in value.follows),
        cannot_tell_apart_from=names,
        sentence="",
    )
    leads = [lead.name if isinstance(lead, Value) else lead.fact for lead in value.follows]
    return sentence_of(row, kinds, leads)


def _label_of(lead: Value | Label) -> Label:
    return lead.label if isinstance(lead, Value) else lead


def _interval(ratio: Ratio | None) -> tuple[float, float] | None:
    return (ratio.low, ratio.high) if ratio and ratio.value is not None else None


def _told_apart_from(cells: Cells, value: Value, standings: Mapping[Value, Standing]) -> Whole | None:
    """What hosts have to be alike in: whom it follows, or what follows it and leaves most to compare."""
    if standings[value] is Standing.NOT_SHOWN:
        return None
    if value.follows:
        return value.follows[0].codes
    followers = [
        other for other in standings if value in other.follows and other.label.fact != value.label.fact
    ]
    left = [(excess_among_alike(cells, value, other.codes).variance, -other.p, other) for other in followers]
    return max(left, key=lambda one: one[:2])[2].codes if left else None


def _unknown_rows(cells: Cells, labels: Iterable[Label]) -> Iterable[Concentration]:
    """Hosts of which a label is not known: told, and not tested."""
    for label in labels:
        if not (cells.has_facts & (label.codes == UNKNOWN)).any():
            continue
        units, inside = unknown_units(cells, label)
        if not len(inside) or inside.all():
            continue
        ratio = rate_ratio(units.side(inside), units.side(~inside))
        row = Concentration(
            label=label.fact,
            value=UNKNOWN_VALUE,
            inside=units.exposed(inside),
            outside=units.exposed(~inside),
            rate_ratio=ratio.value,
            interval=(ratio.low, ratio.high),
            p=exact_p(inside, units.grade, units.exposure),
            q=None,
            standing=Standing.NOT_SHOWN,
            ratio_among_alike=None,
            interval_among_alike=None,
            follows=(),
            cannot_tell_apart_from=(),
            sentence="",
        )
        yield unknown_sentence(row)

"""The answers of `fleet where` in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from necroscope.fleet.questions.where_cells import Cells
from necroscope.fleet.questions.where_values import Value
from necroscope.model.amounts import amount_text, listed
from necroscope.model.fleet.concentration import Concentration, Exposed, Standing

PREFIX = "labels/"
MOST_NAMED = 4


def plain(fact: str) -> str:
    """A fact as people call it: labels without their section."""
    return fact.removeprefix(PREFIX)


def times_text(ratio: float | None, interval: tuple[float, float]) -> str:
    """5.1 times [3.2 to 8.0] as often."""
    if ratio is None:
        return "never on either side"
    low, high = (_number(end) for end in interval)
    return f"{_number(ratio)} times [{low} to {high}] as often per host and hour"


def hosts_text(inside: Exposed, outside: Exposed) -> str:
    """38 of 412 hosts against 21 of 4,588."""
    return f"{inside.affected:,} of {inside.hosts:,} hosts against {outside.affected:,} of {outside.hosts:,}"


def sentence_of(row: Concentration, kinds: Sequence[str], leads: Sequence[str]) -> Concentration:
    """The row with its sentence."""
    what, value = listed(list(kinds)), f"{plain(row.label)}={row.value}"
    numbers = f"{times_text(row.rate_ratio, row.interval)}; {hosts_text(row.inside, row.outside)}"
    match row.standing:
        case Standing.CONCENTRATES:
            text = f"{what} concentrates in {value}: {numbers}"
        case Standing.SPARED:
            text = f"{what} spares {value}: {numbers}"
        case Standing.FOLLOWS:
            left = "nothing is left" if row.ratio_among_alike is None else _left(row)
            alike = f"among hosts alike in that, {left}"
            text = f"{value} only follows {_names(leads)}: {numbers}, but {alike}"
        case Standing.NOT_SHOWN:
            text = f"{value}: {numbers}; not shown"
    if row.cannot_tell_apart_from and row.standing is not Standing.NOT_SHOWN:
        text += f"; cannot be told apart from {_names(row.cannot_tell_apart_from)}"
    return replace(row, sentence=text)


def unknown_sentence(row: Concentration) -> Concentration:
    """The row of hosts of which a label is not known."""
    text = (
        f"{plain(row.label)} is not known of {row.inside.hosts:,} hosts, "
        f"of which {row.inside.affected:,} are affected; they are not compared by it"
    )
    return replace(row, sentence=text)


def note_of(cells: Cells, total: Exposed, values: Sequence[Value], too_fine: Sequence[str]) -> str:
    """What limits the answer."""
    notes = []
    if not total.episodes:
        notes.append("there was no such event")
    elif not any(value.q is not None for value in values):
        notes.append(f"{total.affected} affected of {total.hosts:,} hosts are too few to compare values by")
    if without := len(set(cells.host[~cells.has_facts].tolist())):
        notes.append(f"what {without:,} of {total.hosts:,} hosts are made of is not known")
    if too_fine:
        notes.append(f"too many values to compare hosts by: {_names(too_fine)}")
    return "; ".join(notes)


def _left(row: Concentration) -> str:
    among, interval = row.ratio_among_alike, row.interval_among_alike or (0.0, math.inf)
    low, high = (_number(end) for end in interval)
    return f"{_number(among or 0.0)} times [{low} to {high}]"


def _number(value: float) -> str:
    if math.isinf(value):
        return "any number"
    return amount_text(round(value, 1) if 1 <= value < 100 else value)


def _names(facts: Sequence[str]) -> str:
    names = [plain(fact) for fact in facts]
    more = len(names) - MOST_NAMED
    return f"{', '.join(names[:MOST_NAMED])} and {more} more" if more > 0 else listed(names)

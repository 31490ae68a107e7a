"""`fleet where` for people: the sentence, then a table of what stands out and what only follows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from necroscope.cli.screen import Screen
from necroscope.model.amounts import amount_text, listed
from necroscope.model.fleet.concentration import Concentration, Exposed, Standing, Where

MOST_FOLLOWERS = 8
HEADINGS = {
    Standing.CONCENTRATES: "Stands out",
    Standing.SPARED: "Spared",
    Standing.FOLLOWS: "Only follows",
    Standing.NOT_SHOWN: "Not shown",
}


def where_text(screen: Screen, where: Where, *, every: bool) -> str:
    """All of it."""
    rows = where.concentrations
    found = [row for row in rows if row.standing in (Standing.CONCENTRATES, Standing.SPARED)]
    first = found[0].sentence if found else _nothing(where)
    lines = [screen.paint(screen.wrap(first), "critical" if found else "good"), ""]
    for standing, heading in HEADINGS.items():
        of_it = [row for row in rows if row.standing is standing]
        if not of_it or (standing is Standing.NOT_SHOWN and not every):
            continue
        shown = of_it if every else of_it[: MOST_FOLLOWERS if standing is Standing.FOLLOWS else None]
        lines += [screen.paint(heading, "bold"), screen.table(map(_row, shown))]
        if len(of_it) > len(shown):
            lines.append(screen.wrap(f"and {len(of_it) - len(shown)} more (--all)", 2))
    lines += [screen.wrap(_counted(where))]
    if where.note:
        lines.append(screen.paint(screen.wrap(f"{where.note[0].upper()}{where.note[1:]}."), "dim"))
    return "\n".join(lines)


def _nothing(where: Where) -> str:
    what = listed(list(where.kinds))
    if not where.total.episodes:
        return f"No {what} in {where.total.hosts:,} hosts."
    return f"{what} does not concentrate in any of {where.tested:,} values: {_hosts(where.total)}"


def _counted(where: Where) -> str:
    total = where.total
    return (
        f"{total.episodes:,} episodes on {_hosts(total)}, in {total.host_hours:,.0f} hours; "
        f"{where.tested:,} values were tested."
    )


def _hosts(exposed: Exposed) -> str:
    return f"{exposed.affected:,} of {exposed.hosts:,} hosts"


def _row(row: Concentration) -> tuple[str, str]:
    name = f"{row.label.removeprefix('labels/')}={row.value}"
    parts = [
        f"{_ratio(row.rate_ratio, row.interval)}",
        f"{_hosts(row.inside)} against {_hosts(row.outside).removesuffix(' hosts')}",
    ]
    if row.q is not None:
        parts.append(f"q {row.q:.2g}" if row.q >= 1e-4 else "q < 0.0001")
    elif row.value == "unknown":
        parts = [f"{_hosts(row.inside)}: not compared"]
    else:
        parts.append("too few to test")
    if row.follows:
        parts.append(f"follows {_names(row.follows)}")
    if row.ratio_among_alike is not None and row.interval_among_alike:
        among = _ratio(row.ratio_among_alike, row.interval_among_alike)
        parts.append(f"{among} among hosts alike in {'that' if row.follows else 'what follows it'}")
    if row.cannot_tell_apart_from:
        parts.append(f"cannot be told apart from {_names(row.cannot_tell_apart_from)}")
    return name, "; ".join(parts)


def _names(names: Sequence[str]) -> str:
    return listed([name.removeprefix("labels/") for name in names])


def _ratio(ratio: float | None, interval: tuple[float, float]) -> str:
    if ratio is None:
        return "no episode on either side"
    low, high = map(_number, interval)
    return f"{_number(ratio)} times [{low} to {high}]"


def _number(value: float) -> str:
    if math.isinf(value):
        return "any"
    return f"{value:.1f}" if 1 <= value < 100 else amount_text(float(f"{value:.2g}"))

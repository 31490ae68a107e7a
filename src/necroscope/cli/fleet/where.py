"""Do events concentrate: by zone, image, instance type, kernel, driver, unit, or any other label.

necroscope fleet where --fleet s3://bucket/fleet -b 7d
necroscope fleet where -b 30d --kind soft-lockup --by labels/kernel --by sysctls/kernel.watchdog_thresh

The first line is the answer: in which hosts it happens how many times as often as in others, for each hour
that they were recorded. Hosts are counted and not events, because trouble repeats on the same host. A value
that only comes with another is told to follow it; values that the same hosts have cannot be told apart. Exit
code 1 means that something stands out, 0 that nothing does.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

from necroscope.cli.answer import Answer
from necroscope.cli.fleet.asking import add_question, asked_fleet
from necroscope.cli.fleet.documents import document_of
from necroscope.cli.screen import Screen
from necroscope.errors import NothingRecordedError, UsageError
from necroscope.model.amounts import amount_text, listed
from necroscope.model.fleet.concentration import Concentration, Exposed, Standing, Where

MOST_FOLLOWERS = 8
HEADINGS = {
    Standing.CONCENTRATES: "Stands out",
    Standing.SPARED: "Spared",
    Standing.FOLLOWS: "Only follows",
    Standing.NOT_SHOWN: "Not shown",
}
FOUND = (Standing.CONCENTRATES, Standing.SPARED)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `fleet where` understands."""
    add_question(parser)
    parser.add_argument(
        "--by",
        action="append",
        default=[],
        metavar="FACT",
        help="by this only: a label, or SECTION/NAME of a snapshot; may be given again",
    )
    parser.add_argument("--all", action="store_true", help="list values of which nothing was shown, too")


def run(arguments: argparse.Namespace) -> Answer:
    """Count, and compare."""
    with asked_fleet(arguments) as fleet:
        from necroscope.fleet.questions.where import Sought, seek_where

        sought = Sought(fleet.kinds, *fleet.span_us, fleet.thresholds, tuple(arguments.by))
        where = seek_where(fleet.tables, fleet.engine, sought)
    _check(where, arguments.by)
    code = int(any(row.standing in FOUND for row in where.concentrations))
    return Answer(code, document_of(where), lambda screen: where_text(screen, where, every=arguments.all))


def _check(where: Where, by: list[str]) -> None:
    """Refuse to say that nothing stands out where nothing was looked at."""
    if not where.total.hosts:
        raise NothingRecordedError("no host was recorded in that time", hint="-b and -e choose another")
    known = {row.label for row in where.concentrations}
    for fact in by:
        if not known & {fact, f"labels/{fact}"}:
            raise UsageError(
                f"hosts cannot be compared by '{fact}': none has it, or all have the same",
                hint="--by labels/kernel, or SECTION/NAME as in a snapshot",
            )


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

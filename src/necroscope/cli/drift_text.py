"""What `drift` says, for people: one difference a line, the likeliest to matter first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from necroscope.cli.drift_files import Unread
from necroscope.cli.screen import Screen
from necroscope.model.drift import Difference, Drift, NotCompared
from necroscope.model.visible_text import visible_text

MOST_LINES = 20
MOST_INCIDENTAL = 10
MOST_ALIKE, MOST_ALIKE_TO_ONE = 20, 10  # lines of what cannot be told apart, and facts in each
MOST_NAMES = 4


def drift_text(screen: Screen, drift: Drift, unread: Sequence[Unread], show_all: bool) -> Iterator[str]:
    """The whole answer. The lines of differences are not wrapped, so that each is one line."""
    matter = [row for row in drift.differences if row.matters]
    incidental = [row for row in drift.differences if not row.matters and not row.explained_by]
    followers = [row for row in drift.differences if row.explained_by]
    shown = matter if show_all else matter[:MOST_LINES]
    if not matter:
        yield screen.paint(_nothing(drift), "good")
    for place, row in enumerate(shown):
        yield screen.paint(visible_text(row.summary), "warning") if not place else visible_text(row.summary)
    yield ""
    yield screen.wrap(_compared(drift, len(matter), len(shown)))
    if drift.note:
        yield screen.wrap(drift.note)
    if shown:
        yield ""
        yield screen.paint("Why", "bold")
        yield screen.table((str(place), _why(row)) for place, row in enumerate(shown, start=1))
    if alike := list(_alike(drift.differences)):
        yield ""
        yield screen.paint("Cannot be told apart", "bold")
        yield from _at_most(alike, len(alike) if show_all else MOST_ALIKE)
    for head, rows in (("Only follow another", followers), ("Incidental", incidental)):
        if rows:
            yield ""
            yield screen.paint(head, "bold")
            lines = [f"{row.summary}{_doubt(row)}" for row in rows]
            yield from _at_most(lines, len(rows) if show_all else MOST_INCIDENTAL)
    missing = [_missing(row) for row in drift.not_compared] + [(row.path, row.reason) for row in unread]
    if missing:
        yield ""
        yield screen.paint("Not compared", "bold")
        yield screen.table(missing)


def _at_most(lines: Sequence[str], most: int) -> Iterator[str]:
    yield from (f"  {visible_text(line)}" for line in lines[:most])
    if len(lines) > most:
        yield f"  and {len(lines) - most:,} more (--all)"


def _alike(rows: Sequence[Difference]) -> Iterator[str]:
    """What nobody can tell apart from what, each pair once, in the order of the differences."""
    told: set[frozenset[str]] = set()
    for row in rows:
        pairs = {fact: frozenset((row.lead.fact, fact)) for fact in row.cannot_tell_apart_from}
        if others := [fact for fact, pair in pairs.items() if pair not in told]:
            told.update(pairs.values())
            yield f"{row.lead.fact} from {_listed(others, MOST_ALIKE_TO_ONE)}"


def _nothing(drift: Drift) -> str:
    if not drift.differences:
        return "no difference"
    if drift.symptom is None:
        return "no difference that is known to matter"
    return f"no difference goes with the {drift.symptom} group"


def _compared(drift: Drift, matter: int, shown: int) -> str:
    if drift.symptom is None:
        who = f"Compared {_listed(list(drift.groups))}"
    else:
        others = [f"{name} ({len(hosts):,})" for name, hosts in drift.groups.items() if name != drift.symptom]
        hosts = _count(len(drift.groups[drift.symptom]), "host")
        who = f"Compared {drift.symptom} ({hosts}) with {_listed(others)}"
    left_out = f" ({shown} shown)" if shown < matter else ""
    incidental = len(drift.differences) - matter
    return (
        f"{who}: {_count(drift.facts, 'fact')}, {_count(matter, 'difference')} that "
        f"{'matters' if matter == 1 else 'matter'}{left_out}, {incidental:,} incidental"
    )


def _why(row: Difference) -> str:
    parts = [f"{row.lead.fact}: {row.why}"]
    if row.association and row.association.q is not None:
        low, high = row.association.interval
        parts.append(
            f"p {row.association.p:.2g}, q {row.association.q:.2g}, "
            f"odds ratio {row.association.odds_ratio:.1f} ({low:.1f} to {high:.1f})"
        )
    together = [fact.fact for fact in row.together]
    if together:
        parts.append(f"with {_listed(together)}")
    if others := [fact for fact in row.cannot_tell_apart_from if fact not in together]:
        parts.append(f"cannot be told apart from {_listed(others)}")
    if row.because and row.because.link:
        parts.append(f"{row.because.fact}: {row.because.link}")
    return "; ".join(parts)


def _doubt(row: Difference) -> str:
    return f" (follows {_listed(row.explained_by)})" if row.explained_by else ""


def _missing(row: NotCompared) -> tuple[str, str]:
    return row.section, f"{_listed(row.hosts)}: {row.reason}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _listed(names: Sequence[str], most: int = MOST_NAMES) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")

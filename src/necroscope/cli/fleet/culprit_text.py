"""`fleet culprit` for people: the sentence, then processes, functions and pairs by hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from necroscope.cli.screen import Screen
from necroscope.model.amounts import listed
from necroscope.model.fleet.common_culprit import CommonCulprits, CommonSuspect

TITLES = {"process": "processes", "function": "kernel functions", "pair": "process in function"}
MOST_ROWS = 5  # of each kind
MOST_REASONS = 5
MARGIN = 37  # for the numbers at the left


def culprit_text(screen: Screen, found: CommonCulprits) -> Iterator[str]:
    """All of it."""
    yield screen.paint(screen.wrap(_verdict(found)), "critical" if found.culprit else "good")
    if found.compared:
        yield screen.wrap(
            f"{found.compared:,} of {found.events:,} events compared, on {_hosts(found.hosts)}, each with "
            "the quiet seconds of its own host"
        )
    for kind, title in TITLES.items():
        if rows := [one for one in found.suspects if one.kind == kind][:MOST_ROWS]:
            yield ""
            yield f"{'hosts':>7} {'events':>7} {'share':>6} {'lift':>6} {'q':>6}  {title}"
            yield from (_row(screen, one) for one in rows)
    if found.suspects:
        yield ""
        yield screen.wrap(
            "* on more hosts than chance gives. Hosts: on so many it stood out more often than by chance."
        )
    if found.not_compared:
        yield ""
        yield screen.paint("Not compared", "bold")
        yield screen.table(_reasons(found))
    if found.note and found.events:
        yield screen.paint(screen.wrap(f"{found.note[0].upper()}{found.note[1:]}."), "dim")


def suspect_name(one: CommonSuspect) -> str:
    """`kubelet in mem_cgroup_nr_lru_pages`; alone: without what the function calls."""
    alone = " alone" if one.way == "self" else ""
    return " in ".join(filter(None, (one.process, one.function))) + alone


def _verdict(found: CommonCulprits) -> str:
    culprit = found.culprit
    if not found.events:
        return found.note
    if culprit is None:
        what = listed(list(found.kinds))
        return f"nothing is common to the seconds before {what}, on {_hosts(found.hosts)}"
    where = " in user space" if culprit.kind == "process" else ""
    return (
        f"{suspect_name(culprit)} stands out{where} before the events of {culprit.hosts:,} of "
        f"{_hosts(culprit.of_hosts)}: {100 * culprit.share:.2g}% of the time against "
        f"{100 * culprit.quiet_share:.2g}% in quiet seconds"
    )


def _row(screen: Screen, one: CommonSuspect) -> str:
    lift = "new" if one.lift is None else f"{min(one.lift, 9999):.3g}x"
    q = f"{one.q:.0e}" if one.q < 0.001 else f"{one.q:.2g}"
    hosts, events = f"{one.hosts}/{one.of_hosts}", f"{one.events}/{one.of_events}"
    numbers = f"{hosts:>7} {events:>7} {one.share:>6.1%} {lift:>6} {q:>6}"
    name = screen.wrap(f"{'*' if one.is_significant else ' '}{suspect_name(one)}", MARGIN, MARGIN + 1)
    return f"{numbers} {name[len(numbers) + 1 :]}"


def _reasons(found: CommonCulprits) -> Iterator[tuple[str, str]]:
    """Each reason once, with how many events and one of them by name."""
    counts = Counter(one.why for one in found.not_compared)
    for why, count in counts.most_common(MOST_REASONS):
        first = next(one for one in found.not_compared if one.why == why)
        yield f"{count:,} event{'' if count == 1 else 's'}", f"{why} ({first.host}, {first.event})"


def _hosts(count: int) -> str:
    return f"{count:,} host{'' if count == 1 else 's'}"

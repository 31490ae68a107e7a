"""What `zombies` says, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from necroscope.cli.finding_text import not_checked_lines
from necroscope.cli.screen import Screen
from necroscope.diagnosis.zombies.ledger_shares import By, LedgerShare, shares_by
from necroscope.diagnosis.zombies.walk_time import WalkTime
from necroscope.diagnosis.zombies.wall import Cost, Outlook, rate_text, reached_text
from necroscope.diagnosis.zombies.zombie_report import ZombieReport
from necroscope.model.amounts import time_text
from necroscope.model.finding import Evidence
from necroscope.model.timestamp import iso_utc
from necroscope.model.value_text import value_text
from necroscope.sources.cgroup_ledger import LEAKS_KEPT, SETTLED_SECONDS, CgroupLedger, Leak
from necroscope.sources.zombie_pins import ZombiePins

MOST_LISTED = 100
MOST_SHARES = 12
HEADS = {"path": "former path", "creator": "creator", "unit": "unit"}


def zombies_text(screen: Screen, report: ZombieReport, by: By, seconds: float) -> Iterator[str]:
    """The whole report."""
    seen, labels = report.seen, report.seen.labels
    style = "warning" if report.is_alarming else "good"
    yield screen.paint(screen.wrap(f"{labels.hostname or 'this host'}: {_verdict(report)}"), style)
    cores = f"{labels.cores_possible} possible cores" if labels.cores_possible else "cores unknown"
    looked = f", looked for {seconds:.0f} s" if seconds >= 1 else ""
    yield screen.wrap(f"{iso_utc(seen.time_ns)}, Linux {labels.kernel or 'unknown'}, {cores}{looked}")
    yield ""
    yield screen.table(_counts(report))
    ledger = seen.ledger.value
    if ledger and ledger.groups:
        shares = _shares(screen, shares_by(ledger.groups, by), HEADS[by])
        yield from screen.section(f"By {HEADS[by]}, since the ledger began", shares)
    sections = (
        ("Held by", _pins(seen.pins.value)),
        ("Cost", _costs(report)),
        ("The wall", _wall(report)),
    )
    for head, rows in sections:
        yield from screen.section(head, [screen.table(rows)])
    if named := named_zombies(report):
        yield ""
        yield from _list(screen, report, named)
    yield from not_checked_lines(screen, report.not_checked)


def summary_line(report: ZombieReport) -> str:
    """One line, for a log."""
    count = report.seen.counts.memory
    line = f"{iso_utc(report.seen.time_ns)} tracked {count.tracked} in-use {count.in_use}"
    ledger = report.seen.ledger.value
    known = f" ledger-dying {ledger.dying} ledger-zombies {ledger.zombies}" if ledger else ""
    return f"{line} dying {count.dying}{known} rate {rate_text(report.rate)}"


def _verdict(report: ZombieReport) -> str:
    count = report.seen.counts.memory
    many = f"{count.dying:,} dying memory cgroups"
    leak = f", {rate_text(report.rate)}" if report.is_leaking else ""
    wall = {
        Outlook.BEYOND: ", beyond the wall",
        Outlook.AHEAD: f", the wall is {time_text(report.wall.seconds or 0)} away",
    }.get(report.wall.outlook, "")
    return many + leak + wall


def _counts(report: ZombieReport) -> Iterator[tuple[str, str]]:
    count, ledger = report.seen.counts.memory, report.seen.ledger.value
    yield "tracked by the kernel", f"{count.tracked:,} ({count.hierarchy})"
    yield "in use", f"{count.in_use:,}"
    yield "dying", f"{count.dying:,}"
    if ledger:
        age = time_text(report.ledger_seconds or 0)
        settled = f"{ledger.zombies:,} of them for {SETTLED_SECONDS} s or longer"
        yield "  known to the ledger", f"{ledger.dying:,}, removed in the last {age}, {settled}"
        yield "  older than it", f"{report.older:,}"
        yield from _doubts(report, ledger)
    over = f", over {time_text(report.rate.seconds)}" if report.rate else ""
    yield "zombies added", f"{rate_text(report.rate)}{over}"


def _doubts(report: ZombieReport, ledger: CgroupLedger) -> Iterator[tuple[str, str]]:
    beyond = ledger.dying - report.seen.dying_at_ledger
    if ledger.lost:
        yield "  events lost", f"{ledger.lost:,}: the counts of the ledger are off by up to as many"
    if beyond > 0:
        why = (
            "releases may be among the lost events" if ledger.lost else "they were read at different moments"
        )
        yield "  beyond the kernel's", f"the ledger counts {beyond:,} more dying than the kernel does: {why}"
    if ledger.untracked:
        yield "  not listed", f"{ledger.untracked:,}: too many at once, counted in their group only"


def _shares(screen: Screen, shares: Sequence[LedgerShare], head: str) -> Iterator[str]:
    yield screen.line(f"  {'zombies':>8} {'dying':>8} {'made':>8}  {head}")
    for share in shares[:MOST_SHARES]:
        numbers = f"  {share.zombies:>8,} {share.dying:>8,} {share.made:>8,}  "
        yield screen.line(f"{numbers}{share.name}")
        if share.dying:
            made = f"made by {', '.join(share.creators[:3])}; one was {share.example}"
            yield screen.wrap(made, len(numbers), len(numbers))
    if len(shares) > MOST_SHARES:
        yield screen.wrap(f"{len(shares) - MOST_SHARES} more: --json has all", 2)


def _pins(pins: ZombiePins | None) -> list[tuple[str, str]]:
    if pins is None:
        return []
    rows = []
    for kind, held in sorted(pins.total.by_kind().items(), key=lambda row: -row[1]):
        where = [cgroup for cgroup, one in pins.by_parent if one.by_kind().get(kind, 0) > pins.error_bytes]
        if held > pins.error_bytes or where:
            rows.append((kind, f"{_bytes(held)}{_below(where)}"))
    error = f"each number is right to {_bytes(pins.error_bytes)}"
    if pins.error_bytes_each:
        error += f", and this kernel does not show {_bytes(pins.error_bytes_each)} or less of a zombie"
    root = "" if pins.root_is_known else "; of the root's own children it cannot be told on cgroup v2"
    return [*(rows or [("nothing", "that could be measured")]), ("how sure", f"{error}{root}")]


def _below(cgroups: Sequence[str]) -> str:
    if not cgroups:
        return ""
    more = f" and {len(cgroups) - 2} more" if len(cgroups) > 2 else ""
    return f", of cgroups once in {', '.join(cgroups[:2])}{more}"


def _costs(report: ZombieReport) -> list[tuple[str, str]]:
    rows = []
    memory, total = report.memory, report.seen.memory_total_bytes
    if memory:
        share = f" ({memory.total_bytes / total:.1%} of all)" if total else ""
        each = f"{_bytes(memory.bytes_each)} each, {memory.how}: {memory.source}"
        rows.append(("memory", f"{_bytes(memory.total_bytes)}{share}; {each}"))
    else:
        rows.append(("memory", "not measured: what a zombie takes on this kernel is not known"))
    for read in report.seen.reads.value or ():
        rows.append((f"{read.name} of {read.cgroup}", f"{_seconds(read.seconds)} for one read"))
    walks = report.seen.walks
    if isinstance(walks, WalkTime):
        took = [
            f"{taken:.1f} core seconds an hour: {walk.what}" for walk, taken in walks.per_hour if walk.zombies
        ]
        none = f"none in {walks.samples:,} samples of {time_text(walks.seconds)}"
        rows.append(("walks over cgroups", "; ".join(took) or none))
    return rows


def _wall(report: ZombieReport) -> list[tuple[str, str]]:
    wall = report.wall
    since = ", since the last drop" if report.trend and report.trend.after_drop else ""
    over = f", over {time_text(report.trend.seconds)}{since}" if report.trend else ""
    rows = [("tracked cgroups", f"{rate_text(report.trend)}{over}")]
    rows += [(_cost_name(cost), _cost(cost)) for cost in wall.costs]
    return [*rows, ("reached", reached_text(wall))]


def _cost_name(cost: Cost) -> str:
    return "memory" if cost.unit == "ratio" else "statistics read"


def _cost(cost: Cost) -> str:
    limit = f"{cost.limit:.0%} of memory" if cost.unit == "ratio" else f"{_seconds(cost.limit)} for one read"
    at = f"{limit} at {cost.level:,} tracked cgroups" if cost.level is not None else f"{limit}: no level"
    return f"{at} ({cost.why})"


def _list(screen: Screen, report: ZombieReport, named: NamedZombies) -> Iterator[str]:
    rows = named.leaks
    yield screen.paint(screen.wrap(f"{len(rows):,} of {named.of:,} zombies named, the newest first"), "bold")
    if named.reason:
        yield screen.wrap(named.reason, 2, 2)
    for leak in rows[:MOST_LISTED]:
        age = time_text((report.seen.ledger_time_ns - leak.removed_ns) / 1e9)
        made = _who(leak.creator, leak.creator_pid, leak.creator_unit)
        gone = _who(leak.remover, leak.remover_pid, leak.remover_unit)
        yield screen.wrap(f"{leak.id} {leak.path}", 2, 4)
        yield screen.wrap(f"removed {age} ago by {gone}, made by {made}", 4)
    if len(rows) > MOST_LISTED:
        yield screen.wrap(f"{len(rows) - MOST_LISTED:,} more: --json has all", 2)


def _who(name: str, pid: int | None, unit: str) -> str:
    if not name:
        return "somebody before the ledger began"
    number = f" (pid {pid})" if pid is not None else ""
    return f"{name}{number}{f' of {unit}' if unit else ''}"


def _bytes(value: float) -> str:
    return value_text(Evidence("", value, "bytes", ""))


def _seconds(value: float) -> str:
    if value < 1e-3:
        return f"{value * 1e6:.0f} us"
    return f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.2g} s"


@dataclass(frozen=True, slots=True)
class NamedZombies:
    """The zombies that have a name, the newest first."""

    leaks: tuple[Leak, ...]
    of: int  # zombies by the ledger
    left_out: int  # that have a name and are more than the ledger counts
    reason: str  # why these are not exactly those that there are; empty: they are


def named_zombies(report: ZombieReport) -> NamedZombies | None:
    """Never more of them than the ledger counts. None: not asked for, or there is no ledger."""
    ledger, leaks = report.seen.ledger.value, report.seen.leaks
    if ledger is None or leaks is None:
        return None
    newest = sorted(leaks, key=lambda leak: -leak.removed_ns)[: ledger.zombies]
    left_out = len(leaks) - len(newest)
    return NamedZombies(tuple(newest), ledger.zombies, left_out, _reason(ledger, len(newest), left_out))


def _reason(ledger: CgroupLedger, named: int, left_out: int) -> str:
    if left_out:
        return (
            f"{left_out:,} more have a name, but some were freed unseen: the ledger counts fewer, and the"
            " oldest are left out"
        )
    if named == ledger.zombies:
        return ""
    counted = f", {ledger.untracked:,} are counted in their group only" if ledger.untracked else ""
    return (
        f"a reading names the newest {LEAKS_KEPT} of the new ones{counted}, and those of readings that are"
        " not in the range or not stored any more have no name"
    )

"""Zombie memory cgroups in a report: how many there were, how they grew, and who left them behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from necroscope.cli.report.blocks import Block, Paragraph, Section, Table
from necroscope.cli.report.incident import Incident
from necroscope.diagnosis.zombies.ledger_shares import UNKNOWN, LedgerShare, shares_by
from necroscope.errors import StoreError
from necroscope.signals.cgroup_counts import Count, growth_of, recorded_counts
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER, CgroupLedger, owner_of
from necroscope.store.clock import Anchor
from necroscope.store.read_range import read_moments
from necroscope.store.store import StoredSegment

HOUR = 3600.0
OWNERS_NAMED = 5


def zombies_part(incident: Incident) -> Section:
    """Counts and growth of the last boot in the range, before and after what was changed."""
    chosen = incident.chosen
    inside = [segment for segment in chosen.segments if segment.overlaps(chosen.time)]
    own = [segment for segment in inside if segment.boot_id == inside[-1].boot_id]
    counts = recorded_counts(own, chosen.time)
    if not counts:
        none = "No counts of memory cgroups were recorded in this range."
        return Section("zombies", "Zombie memory cgroups", (Paragraph(none),))
    offset_ns = own[-1].offset_ns
    rows = [*_levels(counts, Anchor(0, offset_ns)), *_growths(incident, counts, offset_ns)]
    blocks: list[Block] = [Table(("", ""), tuple(rows))]
    # What is purged is forgotten by the ledger too: what it knew before the fix is told.
    until_ns = min([chosen.time.end_ns, *(fix.begun_ns for fix in incident.fixes)])
    return Section("zombies", "Zombie memory cgroups", (*blocks, *_owners(own, until_ns)))


def _levels(counts: Sequence[Count], clock: Anchor) -> Iterator[tuple[str, str]]:
    most = max(counts, key=lambda count: count.dying)
    for name, count in (("at the beginning", counts[0]), ("most", most), ("at the end", counts[-1])):
        when = clock.iso(count.time_ns)[11:]
        yield name, f"{count.dying:,} zombies, {count.in_use:,} in use ({when})"


def _growths(incident: Incident, counts: Sequence[Count], offset_ns: int) -> Iterator[tuple[str, str]]:
    if not incident.fixes:
        yield "growth", _growth(counts)
        return
    first_ns = incident.fixes[0].begun_ns - offset_ns
    last_ns = (incident.fixes[-1].ended_ns or incident.fixes[-1].begun_ns) - offset_ns
    yield "growth before the fix", _growth([count for count in counts if count.time_ns <= first_ns])
    yield "growth after the fix", _growth([count for count in counts if count.time_ns > last_ns])


def _growth(counts: Sequence[Count]) -> str:
    trend = growth_of(counts)
    if trend is None:
        return "not known: too few counts"
    slope = trend.slope
    interval = f"between {slope.low * HOUR:+,.0f} and {slope.high * HOUR:+,.0f} with 95 %"
    return f"{slope.value * HOUR:+,.0f} an hour ({interval}, {trend.seconds:,.0f} s)"


def _owners(segments: Sequence[StoredSegment], until_ns: int) -> Iterator[Block]:
    ledger = _last_ledger(segments, until_ns)
    if ledger is None:
        yield Paragraph("Who left them behind is not known: no ledger was recorded.")
        return
    shares = [share for share in shares_by(ledger.groups, "unit") if share.zombies][:OWNERS_NAMED]
    if not shares:
        yield Paragraph("The ledger knows nobody who left any behind.")
        return
    yield Paragraph("Who left them behind, as the ledger of the recorder has it:")
    columns = ("owner", "zombies", "made", "made by", "former path")
    yield Table(
        columns,
        tuple(
            (one.name, f"{one.zombies:,}", f"{one.made:,}", ", ".join(one.creators[:3]), _path(ledger, one))
            for one in shares
        ),
    )


def _path(ledger: CgroupLedger, share: LedgerShare) -> str:
    """The former path of most of them, with # for numbers and hashes: an example would be redacted."""
    own = [group for group in ledger.groups if (owner_of(group) or UNKNOWN) == share.name]
    return max(own, key=lambda group: group.zombies).pattern


def _last_ledger(segments: Sequence[StoredSegment], until_ns: int) -> CgroupLedger | None:
    """What the ledger said last before a time (UTC)."""
    for segment in reversed([one for one in segments if one.begin_ns < until_ns]):
        known: list[CgroupLedger] = []
        with suppress(StoreError):
            for moment in read_moments(segment, (CGROUP_LEDGER,)):
                reading = moment.readings.get(CGROUP_LEDGER.id)
                if reading and reading.value and moment.time_ns + segment.offset_ns < until_ns:
                    known.append(reading.value)
        if known:
            return known[-1]
    return None

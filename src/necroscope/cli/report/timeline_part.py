"""The timeline of a report: what happened when, and what every core was doing meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from necroscope.cli.report.blocks import Block, Code, Paragraph, Section, Table
from necroscope.cli.report.incident import Incident
from necroscope.cli.selecting import whole_seconds
from necroscope.model.event import FREQUENT_KINDS
from necroscope.model.fix import Fix, StepState
from necroscope.model.timestamp import SECOND_NS, iso_utc
from necroscope.signals.core_states import LEGEND, MISSING, CoreStates, core_states
from necroscope.store.stored_events import StoredEvent

COLUMNS = 46  # of the picture of the cores: with its margins it fits into a narrow terminal
MOST_CORES = 16
MOST_ROWS = 200


class Row(NamedTuple):
    """Something that happened."""

    time: str
    text: str
    is_frequent: bool = False  # it may come every few seconds, and gives way to the others


def timeline_part(incident: Incident) -> Section:
    """Events, fixes and the states of the cores."""
    rows = [*_events(incident.events), *(row for fix in incident.fixes for row in _fix(fix))]
    kept = sorted(rows, key=lambda row: (not row.is_frequent, row.time))[-MOST_ROWS:]
    blocks: list[Block] = []
    if kept:
        blocks.append(Table(("time (UTC)", "what"), tuple((row.time, row.text) for row in sorted(kept))))
    else:
        blocks.append(Paragraph("Nothing happened in this range that the recorder calls an event."))
    if len(rows) > len(kept):
        left_out = f"{len(rows) - len(kept):,} more are left out: `necroscope events` lists all."
        blocks.append(Paragraph(left_out))
    return Section("timeline", "Timeline", (*blocks, *_cores(incident)))


def _events(events: tuple[StoredEvent, ...]) -> Iterator[Row]:
    """One row an event; those of the same kind and subject that follow each other are one."""
    for _, group in groupby(events, _alike):
        first, *more = group
        text = f"{first.event.kind}: {first.event.text}"
        if more:
            text += f" (and {len(more):,} more like it until {_clock(more[-1].utc_ns)})"
        yield Row(iso_utc(first.utc_ns), f"{text} [{first.id}]", first.event.kind in FREQUENT_KINDS)


def _alike(stored: StoredEvent) -> tuple[str, str, str, int | None]:
    event = stored.event
    return event.kind, event.unit, event.device, event.core


def _fix(fix: Fix) -> Iterator[Row]:
    yield Row(iso_utc(fix.begun_ns), f"fix begun by {fix.who} [{fix.id}]")
    for number, (step, progress) in enumerate(zip(fix.plan.steps, fix.progress, strict=True), 1):
        if progress.at_ns and progress.state is not StepState.WAITING:
            what = f"step {number}, {step.action} {step.target}: {progress.state.value}"
            yield Row(iso_utc(progress.at_ns), f"{what} [{fix.id}]")
    if fix.ended_ns:
        yield Row(iso_utc(fix.ended_ns), f"fix ended [{fix.id}]")


def _cores(incident: Incident) -> Iterator[Block]:
    first_ns, last_ns = whole_seconds(incident.chosen.segments)
    begin_ns = max(incident.chosen.time.begin_ns - incident.chosen.time.begin_ns % SECOND_NS, first_ns)
    end_ns = min(incident.chosen.time.end_ns, last_ns)
    if begin_ns >= end_ns:
        return
    step_ns = -(-(end_ns - begin_ns) // (COLUMNS * SECOND_NS)) * SECOND_NS
    states = core_states(incident.chosen.segments, begin_ns, end_ns, step_ns, incident.thresholds)
    incident.damaged.extend(states.damaged)
    if states.states:
        yield from _picture(states)


def _picture(states: CoreStates) -> Iterator[Block]:
    worst = states.worst_first
    shown = sorted(worst[:MOST_CORES])
    each = f"{states.step_ns // SECOND_NS} s"
    left_out = f"; {len(worst) - len(shown)} quieter cores are left out" if len(worst) > len(shown) else ""
    yield Paragraph(f"The cores from {iso_utc(states.begin_ns)}, {each} a column{left_out}:")
    yield Code("\n".join(f"{f'core {core}':>8} |{states.states[core]}|" for core in shown))
    used = set("".join(states.states[core] for core in shown))
    names = {MISSING: "blank"}
    yield Paragraph("; ".join(f"{names.get(one, one)} {text}" for one, text in LEGEND.items() if one in used))


def _clock(utc_ns: int) -> str:
    return iso_utc(utc_ns)[11:]

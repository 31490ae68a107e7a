"""What was changed, whether it helped, and what is left for people to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from necroscope.cli.comparison_text import numbers_text, ratio_text, why_text
from necroscope.cli.report.blocks import Block, Bullets, Code, Heading, Paragraph, Section, Table
from necroscope.cli.report.incident import Incident
from necroscope.cli.report.verified import Judged, windows_text
from necroscope.model.amounts import time_text
from necroscope.model.fix import Fix, FixState, Progress
from necroscope.model.plan import ByHand, Step
from necroscope.model.timestamp import iso_utc
from necroscope.model.verdict import Comparison, Verification
from necroscope.remedies.apply.recovery_hints import undo_command


def changes_part(incident: Incident) -> Section:
    """Every fix with its steps: the command, what was there before, what came of it, what undoes it."""
    blocks = [block for fix in incident.fixes for block in _fix(fix, incident.store)]
    if incident.why_no_fixes:
        blocks.append(Paragraph(f"Some records of fixes could not be read: {incident.why_no_fixes}."))
    if not blocks:
        blocks.append(Paragraph("Nothing was changed through necroscope in this range."))
    return Section("changes", "What was changed", tuple(blocks))


def _fix(fix: Fix, store: Path) -> Iterator[Block]:
    yield Heading(f"{fix.id}: {fix.state.value}")
    ended = f", ended {iso_utc(fix.ended_ns)}" if fix.ended_ns else ", and has not ended"
    yield Paragraph(f"Begun {iso_utc(fix.begun_ns)} by {fix.who}{ended}.")
    if fix.plan.reasons:
        yield Paragraph("Because:")
        yield Bullets(fix.plan.reasons)
    for number, (step, progress) in enumerate(zip(fix.plan.steps, fix.progress, strict=True), 1):
        yield from _step(number, step, progress)
    if fix.plan.warnings:
        yield Paragraph("What else these steps do:")
        yield Bullets(fix.plan.warnings)
    if fix.state is FixState.APPLIED and fix.plan.steps:
        yield Paragraph(f"To take it back: {undo_command(fix, store)}")


def _step(number: int, step: Step, progress: Progress) -> Iterator[Block]:
    yield Heading(f"Step {number}: {step.action} {step.target}")
    yield Code(step.command)
    rows = (
        ("state", f"{progress.state.value}{f', {iso_utc(progress.at_ns)}' if progress.at_ns else ''}"),
        ("why", step.why),
        *((f"before, {name}", value) for name, value in progress.before.items()),
        ("outcome", progress.outcome),
        ("undo", step.undo),
    )
    yield Table(("", ""), tuple((name, text) for name, text in rows if text))


def verdict_part(incident: Incident, judged: Mapping[str, Judged], why_not: str) -> Section:
    """Whether each fix helped, quantity by quantity."""
    blocks = [block for one in judged.values() for block in _judged(one)]
    if why_not:
        blocks.append(Paragraph(f"Not verified: {why_not}."))
    if not incident.fixes:
        blocks.append(Paragraph("Without a change there is nothing to verify."))
    return Section("verdict", "Did it help", tuple(blocks))


def _judged(judged: Judged) -> Iterator[Block]:
    """What somebody was told comes first; then what has become of it, also where it is the same."""
    yield from _verification(judged.first, judged.first.fix, judged.source)
    if judged.changed:
        name = f"{judged.first.fix}, judged anew"
        yield from _verification(judged.changed, name, "all that is recorded by now")
    elif judged.kept and judged.by_now:
        yield Paragraph(f"All that is recorded by now says the same: {windows_text(judged.by_now)}.")


def _verification(verification: Verification, name: str, source: str) -> Iterator[Block]:
    yield Heading(f"{name}: {verification.verdict.value}")
    yield Paragraph(verification.summary)
    needed = verification.needed_seconds
    more = f"; to be conclusive it needs {time_text(needed)} after the fix" if needed else ""
    yield Paragraph(f"Compared: {windows_text(verification)} ({source}){more}.")
    columns = ("quantity", "before and after", "after / before", "verdict", "why")
    yield Table(columns, tuple(_comparison(one) for one in verification.comparisons))


def _comparison(one: Comparison) -> tuple[str, ...]:
    goal = " (goal)" if one.is_goal else ""
    return one.name + goal, numbers_text(one), ratio_text(one), one.verdict.value, why_text(one)


def follow_ups_part(incident: Incident) -> Section:
    """What only people can do, and what the diagnosis advises."""
    blocks: list[Block] = []
    if incident.diagnosis and incident.diagnosis.advice:
        blocks.append(Bullets(tuple(map(str, incident.diagnosis.advice))))
    advice = dict.fromkeys(one for fix in incident.fixes for one in fix.plan.by_hand)
    for one in advice:
        blocks += _by_hand(one)
    if not blocks:
        blocks.append(Paragraph("Nothing is left to do that we know of."))
    return Section("follow-ups", "Follow-ups", tuple(blocks))


def _by_hand(advice: ByHand) -> Iterator[Block]:
    yield Paragraph(f"By hand: {advice.why}")
    if advice.commands:
        yield Code("\n".join(advice.commands))
    if advice.cost:
        yield Paragraph(f"It costs: {advice.cost}")

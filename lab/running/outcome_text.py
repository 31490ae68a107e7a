"""Outcomes for a person and for a program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lab.running.expectation import Check
from lab.running.needs import lacks
from lab.running.outcome import Outcome
from lab.running.scenario import Scenario

SCHEMA = 1
LONGEST_VALUE = 200


def list_text(scenarios: Mapping[str, Scenario]) -> str:
    """Every scenario, and whether it can be played here."""
    rows = [("scenario", "about", "here", "what it is")]
    notes = []
    for one in scenarios.values():
        missing = lacks(one.needs)
        rows.append((one.id, f"{one.seconds:.0f} s", "no" if missing else "yes", one.title))
        notes += [f"  {one.id} needs {lack}" for lack in missing]
    return "\n".join([*_aligned(rows), *(["", "not to be played here:", *notes] if notes else [])])


def outcome_text(outcome: Outcome) -> str:
    """All that came of one run."""
    return "\n".join(_lines(outcome))


def table_text(outcomes: Mapping[str, Sequence[Outcome]]) -> str:
    """A row for each scenario."""
    rows = [("scenario", "outcome", "times", "seconds", "what differed")]
    for id, runs in outcomes.items():
        good = sum(run.is_as_expected for run in runs)
        seconds = "-".join(f"{value:.0f}" for value in sorted({*(round(run.seconds) for run in runs)}))
        rows.append((id, verdict(runs), f"{good}/{len(runs)}", seconds, "; ".join(_differed(runs))))
    return "\n".join(_aligned(rows))


def verdict(runs: Sequence[Outcome]) -> str:
    """One word or three for some runs of one scenario."""
    if any(run.is_interrupted for run in runs):
        return "interrupted"
    if any(run.unfit for run in runs):
        return "not run"
    return "as expected" if all(run.is_as_expected for run in runs) else "NOT as expected"


def outcome_document(outcome: Outcome) -> dict[str, Any]:
    """One run, as JSON can hold it."""
    return {
        "scenario": outcome.scenario,
        "as_expected": outcome.is_as_expected,
        "seconds": round(outcome.seconds, 1),
        "folder": str(outcome.folder),
        "checks": [
            {"that": one.that, "holds": one.holds, "seen": one.seen, "wanted": one.wanted}
            for one in outcome.checks
        ],
        "not_run": [{"part": part, "why": why} for part, why in outcome.not_run],
        "stand_ins": list(outcome.stand_ins),
        "left_behind": list(outcome.left_behind),
        "also_changed": list(outcome.also_changed),
        "failure": outcome.failure,
        "interrupted": outcome.is_interrupted,
        "unfit": list(outcome.unfit),
    }


def _lines(outcome: Outcome) -> Iterator[str]:
    if outcome.unfit:
        yield f"{outcome.scenario}: not run: this machine is not fit for it"
        yield from (f"  {why}" for why in outcome.unfit)
        return
    yield f"{outcome.scenario}: {verdict([outcome])}, in {outcome.seconds:.0f} s"
    yield from (_check_line(one) for one in outcome.checks)
    if outcome.failure:
        yield f"  ✗ it ended early: {outcome.failure}"
    if outcome.left_behind:
        yield "  ✗ the machine is not as it was before:"
        yield from (f"      {words}" for words in outcome.left_behind)
    else:
        yield "  ✓ the machine is as it was before"
    yield from _titled("also changed in the meantime, perhaps by others:", outcome.also_changed)
    yield from _titled("not the real thing:", outcome.stand_ins)
    yield from _titled("not run:", [f"{part}: {why}" for part, why in outcome.not_run])
    yield f"  look at {outcome.folder}"


def _check_line(one: Check) -> str:
    if one.holds:
        return f"  ✓ {one.that}"
    seen = str(one.seen)
    return f"  ✗ {one.that}: wanted: {one.wanted}; seen: {seen[:LONGEST_VALUE]}"


def _titled(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"  {title}"
        yield from (f"      {line}" for line in lines)


def _differed(runs: Sequence[Outcome]) -> Iterator[str]:
    """Each difference once, in the order in which it came."""
    for run in runs:
        if run.unfit:
            yield from run.unfit
    seen = dict.fromkeys(words for run in runs for words in _faults(run))
    yield from seen


def _faults(run: Outcome) -> Iterator[str]:
    yield from (one.that for one in run.checks if not one.holds)
    if run.failure:
        yield run.failure.partition("\n")[0]
    yield from run.left_behind


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]) - 1)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in rows
    ]

"""`fleet jobs` for people: the sentence first, then the jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from necroscope.cli.screen import Screen
from necroscope.model.fleet.job import Blame, JobBlame
from necroscope.model.timestamp import iso_utc

if TYPE_CHECKING:
    from necroscope.model.fleet.job import Jobs

MOST_OF_EACH = 20
HEADINGS = {
    Blame.NODE: "Put down to a node",
    Blame.OWN: "Failed by themselves",
    Blame.UNKNOWN: "No event near their end",
    Blame.NOT_CHECKED: "Not checked",
}


def jobs_text(screen: Screen, jobs: Jobs, notes: Sequence[str]) -> str:
    """All of it."""
    style = "critical" if jobs.beyond_chance else "bold"
    lines = [screen.paint(screen.wrap(_verdict(jobs)), style)]
    lines += [screen.wrap(line) for line in _rates(jobs)]
    for blame, heading in HEADINGS.items():
        rows = [one for one in jobs.blames if one.blame == blame]
        if rows:
            lines += ["", screen.paint(f"{heading}: {len(rows)}", "bold"), _table(screen, rows)]
    told = [*filter(None, [jobs.note]), *notes]
    if told:
        lines += ["", *(screen.paint(screen.wrap(line), "dim") for line in told)]
    return "\n".join(lines)


def _verdict(jobs: Jobs) -> str:
    kinds = " or ".join(jobs.kinds)
    if not jobs.failed:
        return f"No job failed: {jobs.ended} ended, {jobs.jobs} were there."
    if not jobs.checked:
        return f"None of {jobs.failed} failed jobs could be checked."
    if not jobs.attributed:
        return f"None of {jobs.checked} failed jobs is put down to a node: no {kinds} near their end."
    low, high = jobs.excess_interval
    said = f"{jobs.attributed} of {jobs.checked} failed jobs ended near a {kinds}"
    if not jobs.beyond_chance:
        return f"{said}, which may be chance: {jobs.expected:.2g} expected (p {jobs.p:.2g})."
    return (
        f"{said}, {jobs.expected:.2g} expected by chance: nodes explain {jobs.excess:.1f} of them"
        f" ({low:.0f} to {high:.0f}, p {jobs.p:.1g})."
    )


def _rates(jobs: Jobs) -> list[str]:
    if jobs.success_rate is None or jobs.success_rate_without is None:
        return []
    rate = f"{jobs.success_rate:.1%} of {jobs.ended} jobs succeeded"
    if jobs.success_rate_without_interval and jobs.attributed:
        low, high = jobs.success_rate_without_interval
        rate += f"; without these {jobs.success_rate_without:.1%} would have ({low:.1%} to {high:.1%})"
    check = jobs.check
    if not check.jobs:
        return [f"{rate}."]
    return [
        f"{rate}.",
        f"Of {check.jobs} that succeeded, {check.with_event} ended near one, {check.expected:.2g} expected.",
    ]


def _table(screen: Screen, rows: Sequence[JobBlame]) -> str:
    shown = [(_name(one), _words(one)) for one in rows[:MOST_OF_EACH]]
    if len(rows) > MOST_OF_EACH:
        shown.append(("", f"and {len(rows) - MOST_OF_EACH} more: --json lists all"))
    return screen.table(shown)


def _name(one: JobBlame) -> str:
    when = iso_utc(one.job.end_us * 1000)[:19] if one.job.end_us is not None else "?"
    return f"{when} {one.job.id}"


def _words(one: JobBlame) -> str:
    chance = f"; chance {one.by_chance:.2%}" if one.blame == Blame.NODE and one.by_chance is not None else ""
    return f"{one.sentence}{chance}"

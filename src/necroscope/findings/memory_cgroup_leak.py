"""Who leaks memory cgroups right now."""

from __future__ import annotations

from collections.abc import Iterator

from necroscope.findings.detector import Case, detector
from necroscope.model.advice import Advice, fix_command, journal_command
from necroscope.model.finding import Evidence, Finding, Severity
from necroscope.model.remedy_ids import CLEAN_BEFORE_REMOVAL
from necroscope.model.shell_command import necroscope_command
from necroscope.signals.cgroup_leaks import groups_by_owner
from necroscope.sources.cgroup_ledger import (
    CGROUP_LEDGER,
    SETTLED_SECONDS,
    CgroupLedger,
    LedgerGroup,
    leaked,
    older_zombies,
)
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS
from necroscope.store.segment import Segment, Step

WHERE = "the ledger: tracepoints cgroup_mkdir, cgroup_rmdir, cgroup_release"


@detector("memory-cgroup-leak", needs=(CGROUP_LEDGER, MEMORY_CGROUPS))
def memory_cgroup_leak(case: Case) -> Iterator[Finding]:
    """Memory cgroups of one owner are removed and the kernel cannot free them, one finding for each owner.

    Fires when an owner has several more zombies at the end of the look than at its beginning. A zombie is a
    cgroup that was removed 3 s ago or longer and is still there; one that is made, removed and freed is
    none. The owner is the systemd unit that the cgroup's path names; where it names none, the unit of the
    process that made it, or that process. The path is given with numbers and hashes as #.

    It does not say that they hurt (zombie-memory-cgroups and core-saturated do), nor what holds them: most
    often page cache or files in tmpfs that were charged to them. It knows only what happened while it
    looked; what is older is counted in zombie-memory-cgroups, without names. Of what was removed in the
    last 3 s it counts the part that was not freed before: some of it may still be on its way.

    To do: find out why the owner comes and goes: unit-crash-loop, or `journalctl -u UNIT`. If nothing needs
    it: `necroscope fix disable-unit UNIT`. Then free what is left: `necroscope fix purge-zombies`.
    """
    span = _span(case.segment)
    if span is None:
        return
    before = groups_by_owner(span.before.value)
    for owner, groups in groups_by_owner(span.after.value).items():
        rise = sum(group.zombies for group in groups) - sum(group.zombies for group in before.get(owner, ()))
        if rise >= case.limit("memory-cgroup-leak.zombies"):
            # Zombies are counted 3 s late: over a short look their rise alone would be too slow a leak.
            rise = max(leaked(groups) - leaked(before.get(owner, ())), rise)
            yield _finding(case, span, owner, groups, rise)


def _span(segment: Segment) -> Step[CgroupLedger] | None:
    """The first and the last reading of the newest ledger: that of another recorder counts from another 0."""
    series = segment.series(CGROUP_LEDGER)
    newest = [timed for timed in series if timed.value.began_ns == series[-1].value.began_ns]
    return Step(newest[0], newest[-1]) if len(newest) > 1 else None


def _finding(
    case: Case, span: Step[CgroupLedger], owner: str, groups: list[LedgerGroup], rise: int
) -> Finding:
    worst = max(groups, key=lambda group: group.zombies)
    per_minute = rise / span.seconds * 60
    count = case.segment.last(MEMORY_CGROUPS)
    evidence = [
        Evidence("leaked while looking", rise, "cgroups", WHERE),
        Evidence("leak rate", round(per_minute, 1), "cgroups/min", WHERE),
        Evidence("path pattern", worst.pattern, "", WHERE),
        Evidence("example", worst.example, "", WHERE),
        Evidence("made by", worst.creator or "unknown", "", WHERE),
        Evidence("unit of who made them", worst.creator_unit or "none", "", WHERE),
        Evidence("removed by", worst.remover or "unknown", "", WHERE),
        Evidence("unit of who removed them", worst.remover_unit or "none", "", WHERE),
        Evidence("made", sum(group.made for group in groups), "cgroups", WHERE),
        Evidence("removed", sum(group.removed for group in groups), "cgroups", WHERE),
        Evidence("released", sum(group.released for group in groups), "cgroups", WHERE),
        Evidence("a zombie after", SETTLED_SECONDS, "seconds", WHERE),
    ]
    if count:
        older = older_zombies(count.memory.dying, span.after.value)
        evidence.append(Evidence("zombies from before the look", older, "cgroups", count.memory.read_from))
    if span.after.value.lost:
        evidence.append(Evidence("events lost", span.after.value.lost, "events", WHERE))
    name = owner or "an unknown program"
    unit = _unit(owner)
    how_to_see = journal_command(unit) if unit else necroscope_command("explain", ["unit-crash-loop"])
    return Finding(
        id="memory-cgroup-leak",
        severity=Severity.WARNING,
        summary=f"{name} leaks memory cgroups: {rise:,} in {span.seconds:.0f} s, {per_minute:,.0f} a minute",
        evidence=tuple(evidence),
        advice=(
            Advice("see why it comes and goes", how_to_see),
            Advice("see the plan that ends it", fix_command("memory-cgroup-leak", unit)),
        ),
        subject=unit,
        # systemd can empty the cgroup that it removes itself, and no other.
        remedy=CLEAN_BEFORE_REMOVAL if unit and worst.pattern.endswith(f"/{unit}") else "",
    )


def _unit(owner: str) -> str:
    """The owner as systemd knows it; empty where it is no service, or its numbers are folded."""
    return owner if owner.endswith(".service") and "#" not in owner else ""

"""Who leaks memory cgroups right now."""

from __future__ import annotations

from collections.abc import Iterator

from necroscope.findings.cgroup_leaks import groups_by_owner
from necroscope.findings.detector import Case, detector
from necroscope.model.finding import Evidence, Finding, Severity
from necroscope.recording.segment import Step
from necroscope.sources.cgroup_ledger import (
    CGROUP_LEDGER,
    SETTLED_SECONDS,
    CgroupLedger,
    LedgerGroup,
    older_zombies,
)
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS

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
    looked; what is older is counted in zombie-memory-cgroups, without names. Where thousands were removed
    in the last seconds before the end, some may still be on their way.

    To do: find out why the owner comes and goes: unit-crash-loop, or `journalctl -u UNIT`. If nothing needs
    it: `systemctl disable --now UNIT`. Then free what is left:
    `necroscope explain zombie-memory-cgroups`.
    """
    span = case.segment.span(CGROUP_LEDGER)
    if span is None:
        return
    before = groups_by_owner(span.before.value)
    for owner, groups in groups_by_owner(span.after.value).items():
        rise = sum(group.zombies for group in groups) - sum(group.zombies for group in before.get(owner, ()))
        if rise >= case.limit("memory-cgroup-leak.zombies"):
            yield _finding(case, span, owner, groups, rise)


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
    return Finding(
        id="memory-cgroup-leak",
        severity=Severity.WARNING,
        summary=f"{name} leaks memory cgroups: {rise:,} in {span.seconds:.0f} s, {per_minute:,.0f} a minute",
        evidence=tuple(evidence),
        advice=(
            f"see why it comes and goes: {_how_to_see(owner)}",
            "then free what is left: necroscope explain zombie-memory-cgroups",
        ),
    )


def _how_to_see(owner: str) -> str:
    if owner.endswith(".service") and "#" not in owner:
        return f"journalctl -u {owner} -n 50"
    return "necroscope explain unit-crash-loop"

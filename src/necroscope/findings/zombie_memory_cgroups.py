"""More memory cgroups in the kernel than in use."""

from __future__ import annotations

from collections.abc import Iterator

from necroscope.findings.detector import Case, detector
from necroscope.model.advice import Advice, fix_command
from necroscope.model.finding import Evidence, Finding, Severity
from necroscope.model.remedy_ids import PURGE_ZOMBIES
from necroscope.model.shell_command import necroscope_command
from necroscope.signals.cgroup_counts import over
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS


@detector("zombie-memory-cgroups", needs=(MEMORY_CGROUPS,), readings_needed=1)
def zombie_memory_cgroups(case: Case) -> Iterator[Finding]:
    """The kernel tracks many memory cgroups that were removed but cannot be freed.

    Fires on the number of dying memory cgroups: tracked by the kernel minus those that have a
    directory (cgroup v1), or the kernel's own count (v2). Each keeps per-CPU counters for every
    possible core, and every walk over memory cgroups visits it: statistics reads up to Linux 5.7,
    reclaim and slab shrinking on all kernels.

    It does not say who leaked them, nor that they hurt right now; a crash-looping service that
    starts a container each time is the usual cause (unit-crash-loop), and core-saturated the harm.
    There is no limit of 65,535 for zombies: since Linux 4.7 they give their id back.

    To do: stop the leak first, then free them; `necroscope fix zombie-memory-cgroups` plans both. By
    hand, `sync; echo 3 > /proc/sys/vm/drop_caches` frees those held by page cache (the node's cache is
    cold afterwards; freeing goes on for seconds); on cgroup v1, memory.force_empty of a parent, on v2,
    memory.reclaim does it for a subtree. Files in tmpfs and shared memory hold theirs until they are
    removed. cgdelete and rmdir cannot help.
    """
    newest = case.segment.series(MEMORY_CGROUPS)[-1].value
    last, percpu = newest.memory, newest.percpu_bytes
    if last.dying < case.limit("zombie-memory-cgroups.warning"):
        return
    critical = last.dying >= case.limit("zombie-memory-cgroups.critical")
    counts = over(case.segment)
    added = counts[-1].dying - counts[0].dying
    counted = f"{last.tracked:,} tracked by the kernel, {last.in_use:,} in use"
    evidence = [
        Evidence("zombies", last.dying, "cgroups", last.read_from),
        Evidence("tracked", last.tracked, "cgroups", last.read_from),
        Evidence("in use", last.in_use, "cgroups", last.read_from),
        Evidence("zombies added while looking", added, "cgroups", last.read_from),
        Evidence(
            "possible cores", case.segment.labels.cores_possible, "cores", "/sys/devices/system/cpu/possible"
        ),
    ]
    if percpu is not None:
        evidence.append(Evidence("per-CPU memory of the kernel", percpu, "bytes", "/proc/meminfo Percpu"))
    yield Finding(
        id="zombie-memory-cgroups",
        severity=Severity.CRITICAL if critical else Severity.WARNING,
        summary=f"{last.dying:,} zombie memory cgroups: {counted}",
        evidence=tuple(evidence),
        advice=(
            Advice("see who leaks them, what holds them and what they cost", necroscope_command("zombies")),
            Advice("stop what leaks them: look for a crash-looping service (unit-crash-loop)"),
            Advice("see the plan that stops the leak and frees them", fix_command("zombie-memory-cgroups")),
        ),
        remedy=PURGE_ZOMBIES,
    )

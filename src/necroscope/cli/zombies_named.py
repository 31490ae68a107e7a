"""Which zombies `--list` can name, of how many, and why not all of them."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.diagnosis.zombies.zombie_report import ZombieReport
from necroscope.sources.cgroup_ledger import LEAKS_KEPT, CgroupLedger, Leak


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

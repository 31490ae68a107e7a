"""What a store knows of older fixes that whoever plans a new one has to know, too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from necroscope.errors import NecroscopeError
from necroscope.model.examination import NotChecked
from necroscope.model.fix import Fix, FixState
from necroscope.remedies.apply.fixes import DamagedFix, Fixes, read_fixes
from necroscope.remedies.apply.lock import holder_of
from necroscope.remedies.apply.refusals import left_in_the_middle
from necroscope.remedies.plan.make_plan import is_of_host
from necroscope.sources.host import Host


@dataclass(frozen=True, slots=True)
class OlderFixes:
    """Fixes of this host that have to be ended, and what could not be read of older ones."""

    unfinished: tuple[Fix, ...] = ()  # ended in the middle: they hold up a new one
    failed: tuple[Fix, ...] = ()  # these do not, and what they did before the failure holds
    damaged: tuple[DamagedFix, ...] = ()
    holder: str = ""  # who carries out a fix right now
    not_checked: tuple[NotChecked, ...] = ()

    @staticmethod
    def of(found: Fixes, host: Host, holder: str) -> OlderFixes:
        """What matters of all fixes. One that is being carried out has not ended in the middle."""
        unfinished = () if holder else tuple(left_in_the_middle(found.fixes, host))
        failed = [fix for fix in found.fixes if fix.state is FixState.FAILED and is_of_host(fix.plan, host)]
        return OlderFixes(unfinished, tuple(failed), found.damaged, holder)


def older_fixes(store: Path | None, host: Host) -> OlderFixes:
    """What is known of older fixes; nothing is written for it."""
    if store is None:
        return OlderFixes()
    try:
        return OlderFixes.of(read_fixes(store), host, holder_of(store))
    except NecroscopeError as error:  # not ours to read: a plan can be made all the same
        return OlderFixes(not_checked=(NotChecked("older fixes", error.what, error.hint, ()),))

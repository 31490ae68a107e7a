"""Run inside a container: kill a fix of a real unit at many points; go on, take back, and compare.

    python unit_kills.py UNIT PLAN STORE EVERY

Prints the states of the steps that were seen, as JSON. Any difference is an AssertionError.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from necroscope.cli.main import main
from necroscope.model.fix import FixState
from necroscope.remedies.apply.apply import continue_fix
from necroscope.remedies.apply.fixes import read_fixes
from necroscope.remedies.apply.site import Site
from necroscope.remedies.apply.undo import undo
from necroscope.sources.host import Host
from tests.remedies.killed import run_killed
from tests.remedies.trees import listing

MOST_POINTS = 500
SHOWN = "LoadState,UnitFileState,FragmentPath,DropInPaths,ActiveState,NeedDaemonReload,ConditionResult"


def state_of(unit: str) -> tuple[object, ...]:
    """All files and links of systemd's configuration, and what systemd says of the unit and its socket."""
    names = [unit, unit.replace(".service", ".socket")]
    show = ["systemctl", "show", "-p", SHOWN, *names]
    return listing(Path("/etc/systemd")), subprocess.run(show, stdout=subprocess.PIPE, check=True).stdout


def kill_everywhere(unit: str, plan: str, store: Path, every: int) -> list[list[str]]:
    """The states of the steps at all points at which it was killed."""
    site = Site(Host(Path("/")), store)
    words = ["fix", "--plan", plan, "--store", str(store), "--baseline", "0", "--apply"]
    before = state_of(unit)
    assert main(words) == 0
    after = state_of(unit)
    undo(read_fixes(store).fixes[-1].id, site)
    assert state_of(unit) == before != after
    states: list[list[str]] = []
    for point in range(1, MOST_POINTS, every):
        for way in (continue_fix, undo):
            if not run_killed(point, lambda: main(words), once_on_record=True):
                return states
            fix = read_fixes(store).fixes[-1]
            states.append([progress.state.value for progress in fix.progress])
            if fix.state is not FixState.APPLIED:
                way(fix.id, site)
            if way is continue_fix:
                assert state_of(unit) == after, f"continued after a kill at {point}"
            if read_fixes(store).fixes[-1].state is not FixState.UNDONE:
                undo(fix.id, site)
            assert state_of(unit) == before, f"taken back after a kill at {point}"
    return states


if __name__ == "__main__":
    unit, plan, store, every = sys.argv[1:]
    sys.stdout.write(json.dumps(kill_everywhere(unit, plan, Path(store), int(every))))

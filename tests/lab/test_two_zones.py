"""The healthy one of two zones is healthy by accident, and the program says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.faults.bootstrap_steps import STEP, one_image
from lab.faults.crash_loops import UNIT, leaked
from lab.faults.leaking_units import DISK, why_not
from lab.running.run import run
from lab.running.scenario import all_scenarios
from lab.running.stage import Stage

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


def folders() -> set[Path]:
    return set(DISK.glob("lab-zones-*"))


@pytest.mark.servers  # half a minute
def test_the_scenario_comes_out_as_expected(tmp_path: Path) -> None:
    outcome = run(all_scenarios()["two-zones"], Stage(folder=tmp_path))
    assert not outcome.failure, outcome.failure
    assert [one for one in outcome.checks if not one.holds] == []
    assert outcome.checks and outcome.left_behind == ()


def test_the_same_units_are_enabled_and_one_step_decides() -> None:
    with one_image(per_start=5) as boot:
        for works, state in ((False, "failed"), (True, "active")):
            with boot(works=works) as zone:
                zone.run(["systemctl", "is-system-running", "--wait"])
                enabled = zone.run(["systemctl", "is-enabled", UNIT, STEP]).stdout.split()
                assert enabled == ["enabled", "enabled"]
                assert zone.run(["systemctl", "is-active", STEP]).stdout.strip() == state
                started = zone.run(["systemctl", "show", "--value", "-p", "ConditionResult", UNIT])
                assert started.stdout.strip() == ("yes" if works else "no")


def test_all_is_undone_when_a_zone_is_left_by_an_error() -> None:
    before, level = folders(), leaked()
    with pytest.raises(ZeroDivisionError), one_image(per_start=200) as boot, boot(works=True) as zone:
        zone.run(["systemctl", "is-system-running", "--wait"])
        raise ZeroDivisionError
    assert folders() == before
    assert leaked() <= level + 100  # what the caches of the cores keep

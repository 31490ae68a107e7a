"""The agent of the lab is a real unit that tries, gives up, is started again, and leaks."""

from __future__ import annotations

import pytest

from lab.faults.crash_loops import KEPT_BY_CACHES, leaked
from lab.faults.ecs_agents import ecs_agent, why_not
from lab.recorders import wait_until

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
PER_START = 150


def test_it_tries_until_it_is_told_to_give_up_and_then_leaks_at_every_start() -> None:
    before = leaked()
    with ecs_agent(off_core=0, cgroups_per_start=PER_START) as agent:
        shown = agent.machine.run(
            ["systemctl", "show", "-p", "Type,Restart,UnitFileState,NRestarts", agent.unit]
        )
        assert set(shown.stdout.split()) == {
            "Type=simple",
            "Restart=on-failure",
            "UnitFileState=enabled",
            "NRestarts=0",
        }
        assert leaked() <= before + KEPT_BY_CACHES
        agent.give_up()
        wait_until(lambda: agent.restarts() >= 3, 30, "three restarts")
        restarts = agent.restarts()
        assert leaked() - before >= restarts * PER_START - KEPT_BY_CACHES
        said = agent.machine.run(["journalctl", "--unit", agent.unit, "--no-pager"]).stdout
        assert "could not register this instance" in said, said
        assert "unreachable" in said, said
    assert leaked() <= before + KEPT_BY_CACHES
    assert not agent.folder.exists()
    assert not agent.cgroup.parent.exists()

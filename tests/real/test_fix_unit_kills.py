"""kill -9 in the middle of disabling a real unit, in a real systemd: it goes on, and it is taken back."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from lab.machines.nspawn import Container, why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
CHECKOUT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).with_name("necroscope")
UNIT = "steady.service"
UNITS = {
    UNIT: "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n",
    "steady.socket": "[Socket]\nListenStream=/run/steady.sock\n[Install]\nWantedBy=sockets.target\n",
}
PLAN, STORE = "/var/tmp/plan.json", "/var/tmp/store"


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.long)], ids=["some", "all"])
def test_disabling_a_unit_killed_anywhere_goes_on_or_is_taken_back(every: int) -> None:
    with Container(units=UNITS, enable=(UNIT, "steady.socket"), binds=(CHECKOUT,)) as machine:
        planned = machine.run([str(PROGRAM), "fix", "disable-unit", UNIT, "-d", "1s", "-o", PLAN])
        assert planned.returncode == 0, planned.stderr
        script = [sys.executable, str(Path(__file__).with_name("unit_kills.py"))]
        done = machine.run([*script, UNIT, PLAN, STORE, str(every)], timeout_seconds=600)
        assert done.returncode == 0, done.stderr
    states = json.loads(done.stdout.splitlines()[-1])
    assert len(states) > 6 and len(states[0]) >= 3
    for number in range(len(states[0])):
        assert {state[number] for state in states} >= {"begun", "done"}, "it was killed in every step"

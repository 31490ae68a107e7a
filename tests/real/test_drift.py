"""Two real hosts of one image on which a bootstrap step went differently, by their snapshots."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lab.faults.bootstrap_steps import IS_TAKEN_AWAY, NEEDS_ENVIRONMENT, NEEDS_FILE, zone
from lab.machines.nspawn import why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
CHECKOUT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).with_name("necroscope")


def take(units: Mapping[str, str], path: Path, *, works: bool) -> str:
    """Boot a host, and write its snapshot; gives the host's name."""
    with zone(units, works=works, binds=(CHECKOUT,)) as machine:
        done = machine.run([str(PROGRAM), "snapshot"])
        assert done.returncode == 0, done.stderr
        path.write_text(done.stdout)
        return machine.name


@pytest.mark.parametrize(
    "units, runs_where_it_works",
    [(NEEDS_FILE, True), (NEEDS_ENVIRONMENT, True), (IS_TAKEN_AWAY, False)],
    ids=["condition", "environment", "taken-away"],
)
def test_the_agent_first_and_then_its_cause(
    tmp_path: Path, units: Mapping[str, str], runs_where_it_works: bool
) -> None:
    one, other = tmp_path / "a.json", tmp_path / "b.json"
    works, fails = take(units, one, works=True), take(units, other, works=False)
    runs, rests = (works, fails) if runs_where_it_works else (fails, works)

    shown = subprocess.run([str(PROGRAM), "drift", one, other], capture_output=True, text=True, check=False)
    first, second, *_ = shown.stdout.splitlines()
    assert shown.returncode == 1
    assert first.startswith(f"ecs.service runs on {runs} and ")
    assert rests in first
    assert first.endswith(f"because bootstrap step node-setup.service failed on {fails} (exit 1)")
    assert second == (
        f"bootstrap step node-setup.service failed (exit 1) on {fails} and succeeded on {works}"
    )

    asked = subprocess.run(
        [str(PROGRAM), "drift", "--json", one, other], capture_output=True, text=True, check=False
    )
    body: dict[str, Any] = json.loads(asked.stdout)
    effect, cause = body["differences"][:2]
    assert (effect["fact"], cause["fact"]) == ("units/ecs.service/runs", "bootstrap/node-setup.service")
    assert effect["because"]["fact"] == cause["fact"]
    assert cause["cause_of"] == [effect["fact"]]
    assert [row["fact"] for row in body["differences"] if row["matters"]] == [effect["fact"], cause["fact"]]

"""One test of each real subsystem, for `make test`; the others are in `make test-real`.

What others do on the machine at the same time does not matter here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import recorders
from lab.faults import zombies
from lab.faults.hogs import user_hog
from lab.faults.leaks import Leaker, leakers
from lab.machines import nspawn
from lab.machines.nspawn import Container
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER, SETTLED_SECONDS
from necroscope.sources.host import Host
from tests.real.recorders import (
    ask,
    events_of,
    recording,
    require_all_open,
    require_tidy,
    seconds_with_counters,
)

PROGRAM = Path(sys.executable).with_name("necroscope")
CHECKOUT = Path(__file__).parents[2]
LOOP = "[Service]\nExecStart=/bin/false\nRestart=always\nRestartSec=200ms\n"
UNITS = {
    "loop.service": f"[Unit]\nStartLimitIntervalSec=0\n{LOOP}[Install]\nWantedBy=multi-user.target\n",
    "healthy.service": "[Service]\nExecStart=/bin/sleep infinity\n",
}

in_a_container = pytest.mark.skipif(nspawn.why_not() is not None, reason=str(nspawn.why_not()))


@pytest.mark.skipif(recorders.why_not() is not None, reason=str(recorders.why_not()))
def test_a_recorder_that_is_killed_loses_no_closed_second_and_names_what_ran(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with user_hog(0) as hog:
        with recording(store, "--segment", "60s") as one:
            began = time.time()
            time.sleep(4)
            one.kill()
            ended = time.time()
        time.sleep(1.2)  # a whole second without a recorder
        with recording(store, "--segment", "60s") as one:
            time.sleep(2)
            code, _ = one.end()
    assert code == 1, one.said()  # the hole is a finding
    require_tidy(store)
    require_all_open(store)
    assert set(range(int(began) + 1, int(ended))) <= seconds_with_counters(store)
    # Beside other tests a reading may be late, which is a gap, too.
    assert "recorder" in [gap.event.rule for gap in events_of(store, "capture-gap")]
    # The sampler saw the loop, before the recorder was killed.
    found = ask(
        "flame", "--store", str(store), "-b", f"{began:.0f}", "-e", f"{ended:.0f}", "--process", str(hog)
    )
    assert found["samples"] > 50


@pytest.mark.skipif(
    zombies.why_not() is not None or not Path("/sys/kernel/tracing/instances").is_dir(),
    reason=str(zombies.why_not() or "needs tracefs at /sys/kernel/tracing"),
)
def test_the_ledger_counts_what_each_program_leaks() -> None:
    name = f"leaker-{os.getpid()}"[:15]
    read = CGROUP_LEDGER.open(Host())
    with leakers(Leaker(name, 200, 300)):
        time.sleep(SETTLED_SECONDS + 0.5)
        ledger = read().value
        assert ledger
    counts = {group.pattern.rpartition("/")[2]: group for group in ledger.groups if group.creator == name}
    leaked, clean = counts["leak-#"], counts["clean-#"]
    assert (leaked.made, leaked.removed, leaked.released, leaked.zombies) == (200, 200, 0, 200)
    assert (clean.made, clean.removed, clean.released, clean.zombies) == (300, 300, 300, 0)


def test_doctor_looks_at_this_machine(doctor: Callable[..., dict[str, Any]]) -> None:
    body = doctor("-d", "1s")
    assert {"nic-reset", "softirq-starved"} <= set(body["checked"])
    assert body["host"]["hostname"] == os.uname().nodename


@pytest.fixture(scope="module")
def machine() -> Iterator[Container]:
    with Container(units=UNITS, enable=("loop.service", "healthy.service"), binds=(CHECKOUT,)) as container:
        yield container


def run(machine: Container, *words: str) -> dict[str, Any]:
    """What a verb answers inside."""
    done = machine.run([str(PROGRAM), *words, "--store", "/var/tmp/store", "--json"])
    body: dict[str, Any] = json.loads(done.stdout)
    return body


@in_a_container
def test_the_crash_loop_of_a_real_systemd_is_found(machine: Container) -> None:
    body = run(machine, "doctor", "-d", "5s")
    assert [one["subject"] for one in body["findings"] if one["id"] == "unit-crash-loop"] == ["loop.service"]


@in_a_container
def test_a_fix_is_applied_and_undone(machine: Container) -> None:
    def is_enabled() -> str:
        return machine.run(["systemctl", "is-enabled", "loop.service"]).stdout.strip()

    body = run(machine, "fix", "disable-unit", "loop", "-d", "1s", "--baseline", "0", "--apply")
    assert body["fix"]["state"] == "applied"
    assert is_enabled() == "disabled"
    assert machine.run(["systemctl", "is-active", "loop.service"]).stdout == "inactive\n"
    assert run(machine, "fix", "--undo", body["fix"]["id"])["fix"]["state"] == "undone"
    assert is_enabled() == "enabled"
    assert machine.run(["systemctl", "is-active", "healthy.service"]).stdout == "active\n"


def test_the_installed_program_starts() -> None:
    done = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("necroscope ")

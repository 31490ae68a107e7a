"""A real recording of a varying load with a spike, shipped under several names: who stands out there?"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from lab.faults import kernel_lines
from lab.faults.varying_load import KERNEL_WORK, ready_spike, spike, varying_load
from tests.real import recorders
from tests.real.recorders import ask, recording

REASON = recorders.why_not() or kernel_lines.why_not()
if REASON is None and (os.cpu_count() or 1) < 2:
    REASON = "needs two cores"
pytestmark = [pytest.mark.skipif(REASON is not None, reason=str(REASON)), pytest.mark.servers]
CORE, OTHER_CORE = 0, 1
HOSTS = 4
BEFORE_SECONDS, SPIKE_SECONDS, AFTER_SECONDS = 30, 5, 3


def test_a_spike_that_all_hosts_have_is_the_culprit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NECROSCOPE_FLEET_CACHE", str(tmp_path / "cache"))
    kind = "zero"
    with (
        varying_load((CORE, OTHER_CORE), 7),
        ready_spike(CORE, kind, SPIKE_SECONDS) as (name, one),
    ):
        time.sleep(1)  # the interpreters have started
        with recording(tmp_path / "store", "--segment", "60s") as recorder:
            time.sleep(BEFORE_SECONDS)
            spike(one)
            kernel_lines.write_lines(["necroscope mark: spike"])
            time.sleep(AFTER_SECONDS)
            code, _ = recorder.end()
        assert code == 0, recorder.said()
    place = tmp_path / "place"
    place.mkdir()
    (recorded,) = [path for path in (tmp_path / "store").iterdir() if not path.name.startswith(".")]
    for number in range(HOSTS):
        store, config = tmp_path / f"store-{number}", tmp_path / f"{number}.toml"
        shutil.copytree(recorded, store / recorded.name)
        config.write_text(f'[fleet]\nplace = "{place}"\nname = "node-{number}"\n')
        ask("fleet", "ship", "--store", str(store), "--config", str(config))
    for _ in range(2):  # what is in the tables is taken from the inbox at the next one
        ask("fleet", "ingest", "--fleet", str(place))
    body = ask("fleet", "culprit", "--fleet", str(place), "--kind", "user-mark", "-b", "10m")
    assert (body["events"], body["compared"], body["hosts"]) == (HOSTS, HOSTS, HOSTS), body
    culprit = body["culprit"]
    assert culprit
    assert culprit == body["suspects"][0]
    assert (culprit["process"], culprit["hosts"]) == (name, HOSTS)
    assert any(word in culprit["function"] for word in KERNEL_WORK[kind])

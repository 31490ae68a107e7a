"""A real recorder tells Prometheus what is wrong now, once its first segment is sealed."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from lab.faults.kernel_lines import TRUST, write_lines
from necroscope.findings.standing_memory import MEMORY
from tests.real import recorders
from tests.real.recorders import metrics, recording, wait_until

REASON = recorders.why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
STARVED = "ena 0000:00:05.0 necro7: napi handler hasn't been called for a long time but is scheduled"
FOUND = 'necroscope_findings_active{{finding="nic-reset",severity="{}"}}'
EXAMINED = "necroscope_findings_examined_timestamp_seconds"
RESETS = 'necroscope_nic_resets_total{{device="necro7",driver="ena",reason="{}"}}'


def test_a_reset_and_its_reason_and_the_finding(tmp_path: Path) -> None:
    store = tmp_path / "store"
    words = ("--rate", "0", "--segment", "6s", "--listen", "127.0.0.1:0", "--config", "/dev/null", TRUST)
    with recording(store, *words, samples=False) as one:
        assert EXAMINED not in metrics(one), "nothing is sealed yet"
        write_lines([STARVED])
        wait_until(lambda: EXAMINED in metrics(one), 30, "an examination")
        values = metrics(one)
        code, body = one.end()
    # A program wrote the line, and there is no such device. Others may write lines about other devices.
    assert values[FOUND.format("warning")] >= 1
    segments = json.loads((store / body["folder"] / MEMORY).read_text())["segments"].values()
    rows = [row for segment in segments for row in segment["findings"] if "necro7" in json.dumps(row)]
    assert {row["severity"] for row in rows} == {"warning"}
    assert 0 <= time.time() - values[EXAMINED] < 60
    assert [values[RESETS.format(reason)] for reason in ("starvation", "device", "watchdog")] == [1, 0, 0]
    assert (code, body["findings_error"]) == (0, ""), one.said()

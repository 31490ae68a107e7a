"""A real recorder shows Prometheus what is wrong now within seconds."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from lab.faults.kernel_lines import TRUST, write_lines
from tests.real import recorders
from tests.real.recorders import metrics, recording, wait_until

REASON = recorders.why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
STARVED = "ena 0000:00:05.0 necro7: napi handler hasn't been called for a long time but is scheduled"
FOUND = 'necroscope_findings_active{{finding="nic-reset",severity="{}"}}'
EXAMINED = "necroscope_findings_examined_timestamp_seconds"
RESETS = 'necroscope_nic_resets_total{{device="necro7",driver="ena",reason="{}"}}'


def test_a_reset_is_a_finding_in_the_next_scrape_also_after_a_restart(tmp_path: Path) -> None:
    store = tmp_path / "store"
    words = ("--rate", "0", "--listen", "127.0.0.1:0", "--config", "/dev/null", TRUST)
    with recording(store, *words, samples=False) as first:
        wait_until(lambda: EXAMINED in metrics(first), 30, "an examination")
        before = metrics(first)[FOUND.format("warning")]
        write_lines([STARVED])
        wait_until(lambda: metrics(first)[FOUND.format("warning")] > before, 5, "a finding")
        wait_until(lambda: metrics(first)[RESETS.format("starvation")] > 0, 10, "a reset")
        values = metrics(first)
        code, body = first.end()
    # A program wrote the line, and there is no such device. Others may write lines about other devices.
    assert 0 <= time.time() - values[EXAMINED] < 60
    assert [values[RESETS.format(reason)] for reason in ("starvation", "device", "watchdog")] == [1, 0, 0]
    assert (code, body["findings_error"]) == (0, ""), first.said()
    with recording(store, *words, samples=False) as second:
        wait_until(lambda: EXAMINED in metrics(second), 30, "an examination")
        assert metrics(second)[FOUND.format("warning")] > before

"""Lines in the real kernel log, written by a program and trusted. Without trust: tests/security."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.faults.kernel_lines import TRUST, why_not, write_lines
from necroscope.sources.host import Host
from necroscope.sources.kernel_log import KERNEL_LOG

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
Doctor = Callable[..., dict[str, Any]]
ORDINARY = Path(__file__).parents[1] / "findings/ordinary_kernel_lines.txt"

LINES = (
    "ena 0000:00:05.0 necro0: TX q 5 is paused for too long (threshold 5000000). "
    "Time since last napi 5180000 usec. napi scheduled: 1",
    "NETDEV WATCHDOG: necro1 (igb): transmit queue 2 timed out",
    "mlx5_core 0000:3b:00.0 necro2: TX timeout on queue: 3, SQ: 0x11, CQ: 0x22, SQ Cons: 0x1 SQ Prod: 0x2, "
    "usecs since last trans: 15000000",
)


def resets(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for event in body["events"] if event["kind"] == "nic-reset"]


def test_three_stalls_give_three_events(doctor: Doctor) -> None:
    before = {event["id"] for event in resets(doctor("-d", "1s", TRUST))}
    write_lines(LINES)
    body = doctor("-d", "1s", TRUST)
    new = [event for event in resets(body) if event["id"] not in before]
    assert [(event["device"], event["driver"], event["queue"]) for event in new] == [
        ("necro0", "ena", 5),
        ("necro1", "igb", 2),
        ("necro2", "mlx5_core", 3),
    ]
    assert all(event["from_user_space"] for event in new)
    assert [event["stall_seconds"] for event in new] == [5.18, None, 15.0]
    devices = {finding["summary"].split()[0] for finding in body["findings"] if finding["id"] == "nic-reset"}
    assert {"necro0", "necro1", "necro2"} <= devices


def test_two_hundred_ordinary_lines_give_none(doctor: Doctor) -> None:
    lines = ORDINARY.read_text().splitlines()[:200]
    before = doctor("-d", "1s", TRUST)
    write_lines(lines)
    after = doctor("-d", "1s", TRUST)
    # A full log drops its oldest lines, so that their number need not grow.
    log = KERNEL_LOG.open(Host())().value
    assert log and {line.strip() for line in lines} <= {line.text.strip() for line in log.lines}
    assert {event["id"] for event in after["events"]} <= {event["id"] for event in before["events"]}

"""Lines in the real kernel log, written by a program and trusted. Without trust: tests/security."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.faults.kernel_lines import TRUST, why_not, write_lines
from necroscope.sources.host import Host
from necroscope.sources.kernel_log import KERNEL_LOG

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
Doctor = Callable[..., dict[str, Any]]
ORDINARY = Path(__file__).parents[1] / "signals/ordinary_kernel_lines.txt"
# Other tests write to the same log, and earlier runs have: these devices are ours.
ENA, IGB, MLX5 = (f"n{uuid.uuid4().hex[:10]}" for _ in range(3))
DOMAIN = uuid.uuid4().hex[:4]  # of their bus addresses

LINES = (
    f"ena {DOMAIN}:00:05.0 {ENA}: TX q 5 is paused for too long (threshold 5000000). "
    "Time since last napi 5180000 usec. napi scheduled: 1",
    f"NETDEV WATCHDOG: {IGB} (igb): transmit queue 2 timed out",
    f"mlx5_core {DOMAIN}:3b:00.0 {MLX5}: TX timeout on queue: 3, SQ: 0x11, CQ: 0x22, SQ Cons: 0x1 "
    "SQ Prod: 0x2, usecs since last trans: 15000000",
)


def resets(body: dict[str, Any]) -> list[dict[str, Any]]:
    events = [event for event in body["events"] if event["device"] in (ENA, IGB, MLX5)]
    assert {event["kind"] for event in events} <= {"nic-reset"}
    return events


def test_three_stalls_give_three_events(doctor: Doctor) -> None:
    write_lines(LINES)
    body = doctor("-d", "1s", TRUST)
    new = resets(body)
    assert [(event["device"], event["driver"], event["queue"]) for event in new] == [
        (ENA, "ena", 5),
        (IGB, "igb", 2),
        (MLX5, "mlx5_core", 3),
    ]
    assert all(event["from_user_space"] for event in new)
    assert [event["stall_seconds"] for event in new] == [5.18, None, 15.0]
    devices = {finding["summary"].split()[0] for finding in body["findings"] if finding["id"] == "nic-reset"}
    assert {ENA, IGB, MLX5} <= devices


def test_two_hundred_ordinary_lines_give_none(doctor: Doctor) -> None:
    lines = ORDINARY.read_text().splitlines()[:200]
    write_lines(lines)
    body = doctor("-d", "1s", TRUST)
    # A full log drops its oldest lines, so that their number need not grow.
    log = KERNEL_LOG.open(Host())().value
    assert log and {line.strip() for line in lines} <= {line.text.strip() for line in log.lines}
    assert not {line.strip() for line in lines} & {event["text"].strip() for event in body["events"]}

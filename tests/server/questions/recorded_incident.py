"""A store of known content without samples: core 0 is in the kernel, and a NIC is reset at second 28."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from necroscope.model.timestamp import SECOND_US
from necroscope.server.questions.selection import Range
from necroscope.store.segment import Moment
from tests.diagnosis.scenes import NIC_LINE, ledger, scene_of, tasks, units, zombies
from tests.segments import BEGIN_NS
from tests.stored import HOST, SECOND_NS, UTC_NS, event_of, open_segment, sealed_segment

SECONDS = 40
MOMENTS = SECONDS + 1
FULL = ["idle"] * 20 + ["system"] * 8 + ["idle"] * 12
RESET = replace(NIC_LINE, time_ns=BEGIN_NS + 28 * SECOND_NS, sequence=7)
RESET_ID = "nic-reset-20260415T100028.000Z-7"
BEGIN_US = UTC_NS // 1000


def incident_moments(core0: Sequence[str] = FULL, **changes: Sequence[Any]) -> tuple[Moment, ...]:
    """Forty seconds of a crash loop that leaks."""
    sources: dict[str, Any] = {
        "zombies": zombies(*range(5_000, 5_000 + 10 * MOMENTS, 10)),
        "ledger": ledger(*range(0, 100 * MOMENTS, 100)),
        "units": units(*range(MOMENTS)),
        "tasks": tasks(*["kubelet"] * MOMENTS),
        **changes,
    }
    return scene_of(core0, **sources).segment.moments


def recorded_incident(root: Path, *, is_open: bool = False) -> Path:
    """Two segments; the reset lies in the second, which may be open."""
    recorded = incident_moments()
    sealed_segment(root, recorded[:21])
    make = open_segment if is_open else sealed_segment
    make(root, recorded[20:], [RESET, event_of("unit-restart", 22, unit="ecs.service")])
    return root


def seconds(begin: float, end: float, host: str = HOST) -> Range:
    """Some seconds of the store."""
    return Range(host, BEGIN_US + int(begin * SECOND_US), BEGIN_US + int(end * SECOND_US))

"""Real recordings of a varying load on two cores, with a planted spike on one of them: who stands out?"""

from __future__ import annotations

import json
import logging
import os
import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab.faults import kernel_lines
from lab.faults.varying_load import KERNEL_WORK, ready_spike, spike, varying_load
from tests.real import recorders
from tests.real.recorders import ask, events_of, recording

REASON = recorders.why_not() or kernel_lines.why_not()
if REASON is None and (os.cpu_count() or 1) < 2:
    REASON = "needs two cores"
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
LOG = logging.getLogger(__name__)
SPIKE_CORE, OTHER_CORE = 0, 1
SPIKE_SECONDS = 5
RECORDED_SECONDS = 44
FEWER_SECONDS = 36  # where it is done with every change


@dataclass(frozen=True, slots=True)
class Told:
    """What was planted, and what the verb says of both cores."""

    kind: str
    process: str
    spiked: dict[str, Any]
    other: dict[str, Any]

    @property
    def is_first(self) -> bool:
        """Whether the planted process in the function that does its work is the culprit, and ranked first."""
        culprit, suspects = self.spiked["culprit"], self.spiked["suspects"]
        return (
            culprit is not None
            and culprit == suspects[0]
            and (culprit["kind"], culprit["process"]) == ("pair", self.process)
            and any(word in culprit["function"] for word in KERNEL_WORK[self.kind])
        )

    @property
    def is_still(self) -> bool:
        """Whether nothing stands out on the core without a spike."""
        return not any(suspect["is_significant"] for suspect in self.other["suspects"])


def record_and_ask(folder: Path, number: int, seconds: int = RECORDED_SECONDS) -> Told:
    """One recording, the spike at a random second of it."""
    rng = random.Random(number)
    kind = list(KERNEL_WORK)[number % len(KERNEL_WORK)]
    store = folder / "store"
    before_s = rng.uniform(10, seconds - 15)
    segment = ("--segment", rng.choice(["10s", "120s"]))
    with (
        varying_load((SPIKE_CORE, OTHER_CORE), number),
        ready_spike(SPIKE_CORE, kind, SPIKE_SECONDS) as (name, one),
    ):
        time.sleep(1)  # the interpreters have started
        with recording(store, *segment) as recorder:
            time.sleep(before_s)
            spike(one)
            kernel_lines.write_lines([f"necroscope mark: spike {number}"])
            time.sleep(seconds - before_s - SPIKE_SECONDS)
            code, _ = recorder.end()
        assert code == 0, recorder.said()
    (mark,) = [
        event for event in events_of(store, "user-mark") if event.event.text.endswith(f"spike {number}")
    ]
    words = ("culprit", "--store", str(store), "--around", mark.id, "--cpu")
    told = Told(kind, name, ask(*words, str(SPIKE_CORE)), ask(*words, str(OTHER_CORE)))
    LOG.info("%d %s %s: %s", number, kind, segment[1], in_short(told))
    return told


def in_short(told: Told) -> str:
    """The numbers of a recording in one line."""

    def of(body: dict[str, Any]) -> dict[str, Any]:
        culprit = body["culprit"] and {k: v for k, v in body["culprit"].items() if k not in ("kind", "way")}
        return {key: body[key] for key in ("window_seconds", "quiet_seconds", "compared")} | {
            "culprit": culprit
        }

    return json.dumps(
        {"first": told.is_first, "still": told.is_still, "spiked": of(told.spiked), "other": of(told.other)}
    )


@pytest.mark.parametrize("number", [0, 1])
def test_a_planted_spike_is_named(tmp_path: Path, number: int) -> None:
    told = record_and_ask(tmp_path, number, FEWER_SECONDS)
    assert told.is_first, in_short(told)


@pytest.mark.servers
def test_twenty_spikes_are_named_and_twenty_loads_without_one_are_not(tmp_path: Path) -> None:
    told = [record_and_ask(tmp_path / str(number), number) for number in range(20)]
    assert [in_short(one) for one in told if not one.is_first] == []
    assert sum(one.is_still for one in told) >= 19, [in_short(one) for one in told if not one.is_still]

"""Real recordings of a varying load on two cores, with and without a planted spike: who stands out?"""

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
RECORDED_SECONDS = 36
MARKS = 4  # in a recording without a spike, each looked at by itself


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
        return is_still(self.other)


def is_still(body: dict[str, Any]) -> bool:
    """Whether nothing is significant in an answer."""
    return not any(suspect["is_significant"] for suspect in body["suspects"])


def record_and_ask(folder: Path, number: int) -> Told:
    """One recording, the spike at a random second of it."""
    rng = random.Random(number)
    kind = list(KERNEL_WORK)[number % len(KERNEL_WORK)]
    store = folder / "store"
    before_s = rng.uniform(10, RECORDED_SECONDS - 15)
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
            time.sleep(RECORDED_SECONDS - before_s - SPIKE_SECONDS)
            code, _ = recorder.end()
        assert code == 0, recorder.said()
    words = (*culprit_of(store, f"spike {number}"), "--cpu")
    told = Told(kind, name, ask(*words, str(SPIKE_CORE)), ask(*words, str(OTHER_CORE)))
    LOG.info("%d %s %s: %s", number, kind, segment[1], in_short(told))
    return told


def record_without(folder: Path, number: int) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """One recording of the load alone, with marks at random seconds: what is said of all cores, and of one.

    Where there is too little to compare with, nothing could be significant, and that would prove nothing.
    """
    rng = random.Random(f"without {number}")
    store = folder / "store"
    marks = [f"without {number}-{mark}" for mark in range(MARKS)]
    with varying_load((SPIKE_CORE, OTHER_CORE), 100 + number):
        time.sleep(1)  # the interpreters have started
        with recording(store, "--segment", rng.choice(["10s", "120s"])) as recorder:
            time.sleep(rng.uniform(8, 26))
            for mark in marks:
                kernel_lines.write_lines([f"necroscope mark: {mark}"])
                time.sleep(rng.uniform(6, 12))  # a window of its own
            code, _ = recorder.end()
        assert code == 0, recorder.said()
    return [without_mark(store, mark) for mark in marks]


def without_mark(store: Path, mark: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is said of all cores around a mark, and of one."""
    words = culprit_of(store, mark)
    answers = ask(*words), ask(*words, "--cpu", str(SPIKE_CORE))
    LOG.info("%s: %s", mark, [numbers_of(body) for body in answers])
    assert [(body["note"], body["window_seconds"] >= 5) for body in answers] == [("", True)] * 2
    return answers


def culprit_of(store: Path, mark: str) -> tuple[str, ...]:
    """The words that ask about a mark."""
    (found,) = [event for event in events_of(store, "user-mark") if event.event.text.endswith(mark)]
    return "culprit", "--store", str(store), "--around", found.id


def in_short(told: Told) -> str:
    """The numbers of a recording in one line."""
    both = {"spiked": numbers_of(told.spiked), "other": numbers_of(told.other)}
    return json.dumps({"first": told.is_first, "still": told.is_still, **both})


def numbers_of(body: dict[str, Any]) -> dict[str, Any]:
    """How much was compared, and who stands out."""
    culprit = body["culprit"] and {k: v for k, v in body["culprit"].items() if k not in ("kind", "way")}
    return {key: body[key] for key in ("window_seconds", "quiet_seconds", "compared")} | {"culprit": culprit}


def test_a_planted_spike_is_named(tmp_path: Path) -> None:
    told = record_and_ask(tmp_path, 0)
    assert told.is_first, in_short(told)


@pytest.mark.long
def test_five_spikes_are_named_and_their_other_cores_are_not(tmp_path: Path) -> None:
    told = [record_and_ask(tmp_path / str(number), number) for number in range(5)]
    assert [in_short(one) for one in told if not one.is_first] == []
    assert sum(one.is_still for one in told) >= 4, [in_short(one) for one in told if not one.is_still]


@pytest.mark.parametrize(
    "recordings", [pytest.param(1, marks=pytest.mark.servers), pytest.param(3, marks=pytest.mark.long)]
)
def test_at_moments_without_a_spike_nothing_stands_out(tmp_path: Path, recordings: int) -> None:
    answers = [
        pair for number in range(recordings) for pair in record_without(tmp_path / str(number), number)
    ]
    loud = [[numbers_of(body) for body in pair] for pair in answers if not all(map(is_still, pair))]
    assert len(answers) == MARKS * recordings
    assert len(loud) <= 1, loud

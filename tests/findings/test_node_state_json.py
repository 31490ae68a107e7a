"""A state comes back as it went, and is never too long for the pipe that it goes through."""

from __future__ import annotations

import json
from typing import Any

import pytest

from necroscope.findings.catalog import DETECTORS
from necroscope.findings.node_state_json import parse_state, state_document
from necroscope.findings.standing import MOST_FINDINGS
from necroscope.model.finding import Severity
from necroscope.model.node_state import ActiveFinding, NodeState

PIPE_BYTES = 64 << 10


def test_there_and_back() -> None:
    found = ActiveFinding("unit-crash-loop", Severity.WARNING, "ecs.service is crash-looping", "ecs.service")
    state = NodeState(1_776_247_331_500_000_000, (found,), ("unit-crash-loop",), (("nic-reset", "refused"),))
    assert parse_state(json.loads(json.dumps(state_document(state)))) == state


def test_the_longest_fits_into_a_pipe() -> None:
    long = "ä" * 5000  # as unit names and cgroup paths may be; JSON writes each as six letters
    found = tuple(ActiveFinding("core-saturated", Severity.WARNING, long, long) for _ in range(MOST_FINDINGS))
    state = NodeState(0, found, (), tuple((detector.id, long) for detector in DETECTORS))
    assert len(json.dumps(state_document(state))) < 0.8 * PIPE_BYTES
    assert parse_state(state_document(state)).findings[0].summary == "ä" * 40


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"examined_utc_ns": 1, "findings": [{"id": "a"}], "checked": [], "not_checked": []},
        {"examined_utc_ns": 1, "findings": [5], "checked": [], "not_checked": []},
        {"examined_utc_ns": 1, "findings": [], "checked": [], "not_checked": [["one"]]},
        {"examined_utc_ns": "x", "findings": [], "checked": [], "not_checked": []},
    ],
)
def test_what_is_no_state(document: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        parse_state(document)

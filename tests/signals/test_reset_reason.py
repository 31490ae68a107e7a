"""Every line that drivers write about a reset has one reason, by the rules."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

from necroscope.model.event import Event
from necroscope.signals.kernel_log_events import match_line
from necroscope.signals.reset_reason import REASONS, reset_reason, stronger
from necroscope.sources.kernel_log import LogLine

TABLES = tomllib.loads(files("necroscope.signals").joinpath("rules/kernel_log.toml").read_text())
ENA = "ena 0000:00:05.0 eth0: "


def reason_of(line: str) -> str:
    event = match_line(LogLine(0, line, 0, 1))
    assert event, line
    return reset_reason(event, 4.0)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("TX q 5 is paused for too long. Time since last napi 5180000 usec. napi scheduled: 1", "starvation"),
        ("TX q 5 is paused for too long. Time since last napi 5180000 usec. napi scheduled: 0", "watchdog"),
        ("TX q 5 is paused for too long. Time since last napi 4000 usec. napi scheduled: 1", "watchdog"),
        ("napi handler hasn't been called for a long time but is scheduled", "starvation"),
        ("Transmit time out", "watchdog"),
        ("Resetting the device", "watchdog"),
        ("ENA admin queue is not in running state!", "device"),
        ("Received request to refresh capabilities", "planned"),
    ],
)
def test_what_the_driver_of_aws_says(line: str, reason: str) -> None:
    assert reason_of(ENA + line) == reason


def test_a_switch_that_stops_us_is_not_our_core() -> None:
    line = "ice 0000:18:00.0 ens1f0: Fake Tx hang detected on queue 5, timeout caused by PFC storm"
    assert reason_of(line) == "device"


def test_every_rule_has_a_reason() -> None:
    for id, table in TABLES.items():
        if table["event"] == "nic-reset":
            assert {reason_of(line) for line in table["match"]} <= set(REASONS), id


def test_timeouts_that_were_only_counted() -> None:
    assert reset_reason(Event("nic-reset", 0, "tx-timeout-count", ""), 4.0) == "watchdog"


def test_what_says_more_wins() -> None:
    assert stronger("watchdog", "device") == stronger("device", "watchdog") == "device"
    assert stronger("starvation", "device") == "starvation"

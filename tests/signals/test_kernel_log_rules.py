"""Every shipped rule proves itself on its own examples, and stays silent on ordinary lines."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from necroscope.findings.nic_reset import ADVICE
from necroscope.model.event import EVENT_KINDS
from necroscope.signals.kernel_log_events import kernel_log_rules, match_line, match_rule, split_prefix
from necroscope.sources.kernel_log import LogLine

TABLES: dict[str, dict[str, Any]] = tomllib.loads(
    files("necroscope.signals").joinpath("rules/kernel_log.toml").read_text()
)
ORDINARY = (Path(__file__).parent / "ordinary_kernel_lines.txt").read_text().splitlines()
GROUPS = {
    *("device", "driver", "comm", "reason", "queue", "core", "pid", "count", "status"),
    *("stall_us", "stall_ms", "stall_s", "stall_jiffies", "napi_scheduled"),
}
ATTRIBUTE = {"comm": "process"}  # what an event calls a group of another name
NOT_KEPT = {"count", "status", "stall_jiffies"}  # groups that no event carries

each_rule = pytest.mark.parametrize("id", TABLES)


def rules_matching(line: str) -> list[str]:
    return [rule.id for rule in kernel_log_rules() if match_rule(rule, split_prefix(line))]


@each_rule
def test_rule_keeps_to_the_schema(id: str) -> None:
    table = TABLES[id]
    needed = {"event", "means", "pattern", "match", "no_match"}
    others = {"phase", "cause", "drivers", "since", "starved", "by_programs", "fields_of"}
    assert needed <= table.keys() <= needed | others
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", id)
    assert table["event"] in EVENT_KINDS
    phases = {"stall", "reset", "done", "failed"} if table["event"] == "nic-reset" else {None}
    assert table.get("phase") in phases
    assert table.get("cause", "") in ADVICE
    assert re.compile(table["pattern"]).groupindex.keys() <= GROUPS
    assert table["means"].endswith(".") and ". " not in table["means"], "one plain sentence"


@each_rule
def test_lines_match_this_rule_and_no_other(id: str) -> None:
    assert TABLES[id]["match"] and TABLES[id]["no_match"], "a rule without examples is a guess"
    for line in TABLES[id]["match"]:
        assert rules_matching(line) == [id], line
    for line in TABLES[id]["no_match"]:
        assert id not in rules_matching(line), line


@each_rule
def test_fields_of_the_event(id: str) -> None:
    for line, fields in zip(TABLES[id]["match"], TABLES[id].get("fields_of", []), strict=False):
        event = match_line(LogLine(0, line, 0, 1))
        assert event
        assert event.kind == TABLES[id]["event"]
        expected = {ATTRIBUTE.get(n, n): v for n, v in fields.items() if n not in NOT_KEPT}
        for name in ("device", "driver", "queue", "core", "process", "pid", "reason", "napi_scheduled"):
            assert getattr(event, name) == expected.get(name, getattr(type(event)("", 0, "", ""), name)), (
                name,
                line,
            )
        assert event.stall_seconds == pytest.approx(expected.get("stall_seconds")), line


@each_rule
def test_other_speakers_are_not_believed(id: str) -> None:
    for line in TABLES[id]["match"]:
        assert rules_matching(f"node-agent[4711]: {line}") == []
        if "drivers" in TABLES[id]:
            assert rules_matching("another_" + line) == []


def test_ordinary_lines_match_nothing() -> None:
    assert len(set(ORDINARY)) >= 220
    assert {line: ids for line in ORDINARY if (ids := rules_matching(line))} == {}


def test_a_line_written_by_a_program_is_marked() -> None:
    line = TABLES["ena-tx-queue-paused"]["match"][0]
    marks = [
        (event := match_line(LogLine(0, line, facility, 1))) and event.from_user_space for facility in (0, 1)
    ]
    assert marks == [False, True]


def test_a_number_without_end_is_no_number() -> None:
    many = "9" * 400
    text = f"ena 0000:00:05.0 eth0: TX q {many} is paused for too long (threshold {many}). " + (
        f"Time since last napi {many} usec. napi scheduled: 1"
    )
    event = match_line(LogLine(0, text, 1, 1))
    assert event and (event.queue, event.stall_seconds) == (None, None)

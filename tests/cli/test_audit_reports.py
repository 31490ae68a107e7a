from __future__ import annotations

import datetime
import json
from xml.etree import ElementTree

from necroscope.cli.audit_reports import to_junit, to_sarif
from necroscope.inventory.judge import judge
from necroscope.inventory.policy import Policy, Rule
from necroscope.model.inventory import Inventory
from necroscope.model.judgement import Judgement
from tests.inventories import LOOPING, agent, inventory, unit

ORPHAN = unit(agent=agent(False), running=LOOPING, description="strange \x1b[31m bytes")
OTHER = unit(
    name="other.service", file="/etc/systemd/system/other.service", agent=agent(False), running=LOOPING
)
WELL = unit(name="well.service")


def judged() -> tuple[Inventory, Judgement]:
    seen = inventory(ORPHAN, OTHER, WELL)
    policy = Policy(allow=(Rule("other.service", "until March"),))
    return seen, judge(seen, (), policy, datetime.date(2026, 11, 16))


def test_sarif_has_a_rule_and_a_place_for_every_result() -> None:
    report = json.loads(to_sarif(*judged()))
    assert report["version"] == "2.1.0"
    (run,) = report["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [
        "unit-crash-loop",
        "unit-orphaned-agent",
        "unit-default-enabled",
    ]
    found, allowed = run["results"]
    assert rules[found["ruleIndex"]]["id"] == found["ruleId"] == "unit-orphaned-agent"
    assert found["level"] == "warning"
    assert "suppressions" not in found
    place = found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert place == "usr/lib/systemd/system/agent.service"
    assert allowed["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": "until March"}
    ]


def test_the_same_trouble_has_the_same_fingerprint_whatever_the_numbers() -> None:
    first, second = (json.loads(to_sarif(*judged()))["runs"][0]["results"] for _ in range(2))
    assert first[0]["partialFingerprints"] == second[0]["partialFingerprints"]
    assert first[0]["partialFingerprints"] != first[1]["partialFingerprints"]


def test_junit_has_a_test_for_every_enabled_unit() -> None:
    (suite,) = ElementTree.fromstring(to_junit(*judged()))
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped", "errors")} == {
        "tests": "3",
        "failures": "1",
        "skipped": "1",
        "errors": "0",
    }
    outcome = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
    assert outcome == {"agent.service": ["failure"], "other.service": ["skipped"], "well.service": []}
    failure = suite.find("testcase/failure")
    assert failure is not None and failure.get("type") == "unit-orphaned-agent"


def test_a_policy_with_a_typing_error_is_told_in_both() -> None:
    seen = inventory(WELL)
    policy = Policy(allow=(Rule("wel.service", "a typing error"),))
    judgement = judge(seen, (), policy, datetime.date(2026, 11, 16))
    assert "wel.service matches no enabled unit" in to_sarif(seen, judgement)
    assert "wel.service matches no enabled unit" in to_junit(seen, judgement)


def test_junit_survives_what_xml_cannot_hold() -> None:
    strange = inventory(unit(name="a\x00b\x1b.service", agent=agent(False), running=LOOPING))
    judgement = judge(strange, (), Policy(), datetime.date(2026, 11, 16))
    assert ElementTree.fromstring(to_junit(strange, judgement)).get("name") is None

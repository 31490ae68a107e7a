from __future__ import annotations

import datetime

import pytest

from necroscope.findings.catalog import UNIT_DETECTORS
from necroscope.findings.detector import UnitDetector
from necroscope.inventory import judge as judging
from necroscope.inventory.judge import judge
from necroscope.inventory.policy import Policy, Rule
from necroscope.model.finding import Finding, Severity
from necroscope.model.judgement import Judgement
from tests.inventories import LOOPING, UP, agent, inventory, unit

TODAY = datetime.date(2026, 11, 16)
YESTERDAY = datetime.date(2026, 11, 15)
LOOP = Finding(
    "unit-crash-loop", Severity.WARNING, "agent.service is crash-looping", (), subject="agent.service"
)
ORPHAN = unit(agent=agent(False), running=LOOPING)
WELL = unit(name="well.service", running=UP)


def judged(**policy: object) -> Judgement:
    return judge(inventory(ORPHAN, WELL), [LOOP], Policy(**policy), TODAY)  # type: ignore[arg-type]


def ids(judgement: Judgement) -> list[tuple[str, str]]:
    return [(finding.subject, finding.id) for finding in judgement.findings]


def test_without_a_policy_the_detectors_decide() -> None:
    assert ids(judged()) == [("agent.service", "unit-orphaned-agent"), ("agent.service", "unit-crash-loop")]


def test_what_is_allowed_is_told_apart_with_its_reason() -> None:
    judgement = judged(allow=(Rule("agent*", "until it is mended"),))
    assert not judgement.findings
    assert [one.finding.id for one in judgement.allowed] == ["unit-orphaned-agent", "unit-crash-loop"]
    assert {one.reason for one in judgement.allowed} == {"until it is mended"}


def test_a_permission_that_has_ended_allows_nothing_and_is_told() -> None:
    judgement = judged(allow=(Rule("agent*", "for a week", YESTERDAY),))
    assert len(judgement.findings) == 2
    assert judgement.unused == ("agent* ended on 2026-11-15",)


def test_a_forbidden_unit_is_found_though_it_is_well_and_though_it_is_allowed() -> None:
    judgement = judged(forbid=(Rule("well.service", "not here"),), allow=(Rule("*", "all"),))
    assert ids(judgement) == [("well.service", "unit-default-enabled")]
    assert "the policy forbids it: not here" in judgement.findings[0].summary


def test_others_can_be_reported() -> None:
    assert ("well.service", "unit-default-enabled") in ids(judged(reports_others=True))
    allowed = judged(reports_others=True, allow=(Rule("well.service", "wanted"),))
    assert "well.service" not in [finding.subject for finding in allowed.findings]


def test_a_pattern_without_effect_is_told() -> None:
    assert judged(allow=(Rule("wel.service", "a typing error"),)).unused == (
        "wel.service matches no enabled unit",
    )


def test_a_forbidden_mount_is_found_and_an_overruled_permission_is_told() -> None:
    mount = unit(name="tmp.mount")
    policy = Policy(forbid=(Rule("tmp.mount", "on disk here"),), allow=(Rule("tmp*", "why not"),))
    judgement = judge(inventory(mount), (), policy, TODAY)
    assert ids(judgement) == [("tmp.mount", "unit-default-enabled")]
    assert judgement.unused == ("tmp* is allowed and forbidden, and forbid goes first",)


def test_one_finding_of_a_kind_for_each_unit() -> None:
    failing = unit(running=LOOPING)
    policy = Policy(forbid=(Rule("agent*", "never"),))
    (finding,) = judge(inventory(failing), (), policy, TODAY).findings
    assert (finding.evidence[0].name, finding.evidence[0].value) == ("policy", "never")
    assert "keeps failing" in finding.summary


def test_a_broken_detector_does_not_silence_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> list[Finding]:
        raise KeyError("oops")

    detectors = (UnitDetector("unit-broken", broken), *UNIT_DETECTORS)  # type: ignore[arg-type]
    monkeypatch.setattr(judging, "UNIT_DETECTORS", detectors)
    judgement = judged()
    assert len(judgement.findings) == 2
    assert judgement.not_checked[0].source == "unit-broken"
    assert "KeyError" in judgement.not_checked[0].reason

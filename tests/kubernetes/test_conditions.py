"""Which conditions follow from what was found, and that every finding has its place in the rules."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from necroscope.findings.catalog import ALL_DETECTORS
from necroscope.kubernetes.condition import Condition
from necroscope.kubernetes.conditions import (
    LONGEST_MESSAGE,
    OWN,
    condition_rules,
    conditions_of,
    conditions_unexamined,
    conditions_unknown,
    findings_without_condition,
    own_troubles,
)
from necroscope.kubernetes.node_status import conditions_patch, removal_patch, standing_conditions
from necroscope.model.event import EVENT_KINDS
from necroscope.model.finding import Severity
from necroscope.model.node_state import ActiveFinding, NodeState
from necroscope.model.recorder_status import Status

ROOT = Path(__file__).parents[2]
UTC_NS = 1_776_247_331_500_000_000
ALL = tuple(detector.id for detector in ALL_DETECTORS)
CAMEL = re.compile(r"(?:[A-Z]+[a-z]*)+")
DETECTED = {detector.id for detector in ALL_DETECTORS}


def named(conditions: tuple[Condition, ...]) -> dict[str, Condition]:
    return {one.type.removeprefix("necroscope.dev/"): one for one in conditions}


def found(*ids: str, severity: Severity = Severity.WARNING, checked: tuple[str, ...] = ALL) -> NodeState:
    return NodeState(UTC_NS, tuple(ActiveFinding(id, severity, f"{id} it is") for id in ids), checked)


def status(**errors: str) -> Status:
    numbers = dict.fromkeys(
        ("begin_utc_ns", "moments", "segments_sealed", "segments_waiting", "store_bytes", "frames_waiting"), 0
    )
    more = {
        "frames_dropped": 0,
        "profiling": "",
        "perf_starts": 0,
        "gaps": 3,
        "gap_seconds": 9.0,
        "costs": (),
    }
    texts = {"store_error": "", "profiling_error": ""} | errors
    return Status(**numbers, **more, **texts)  # type: ignore[arg-type]


def test_every_finding_makes_a_condition_or_says_why_not() -> None:
    told = {id for rule in condition_rules() for id in rule.findings}
    assert told == (DETECTED | set(OWN)) - findings_without_condition().keys()
    assert not told & findings_without_condition().keys()
    assert all(len(why) > 20 for why in findings_without_condition().values())


def test_the_rules_are_as_the_cluster_wants_them() -> None:
    for rule in condition_rules():
        reasons = [rule.healthy_reason, *rule.findings.values()]
        assert all(CAMEL.fullmatch(word) for word in [rule.name, *reasons]), rule.name
        assert len(set(reasons)) == len(reasons)
        assert set(rule.must_look) <= set(rule.findings)
        assert rule.event in ("", *EVENT_KINDS)
        assert ("{event}" in rule.go_on) == bool(rule.event)
        assert rule.means.endswith(".")


def test_every_condition_and_reason_is_documented() -> None:
    manual = (ROOT / "docs/conditions.md").read_text()
    for rule in condition_rules():
        assert f"| `{rule.type}` |" in manual
        assert all(f"`{reason}`" in manual for reason in (*rule.findings.values(), rule.healthy_reason))


def test_a_finding_sets_its_condition_and_no_other() -> None:
    for rule in condition_rules():
        for id, reason in rule.findings.items():
            conditions = conditions_of(found(id), (), {})
            true = [(one.type, one.reason) for one in conditions if one.status == "True"]
            assert true == [(rule.type, reason)]


def test_nothing_found_is_false_with_the_time_that_was_examined() -> None:
    conditions = named(conditions_of(found(), (), {}))
    assert {one.status for one in conditions.values()} == {"False"}
    assert conditions["NICResetting"].reason == "NoNICReset"
    assert conditions["NICResetting"].message.endswith("in the 10 minutes until 2026-04-15T10:02:11Z")
    assert conditions["RecorderImpaired"].message == "the recorder records"


def test_who_could_not_look_does_not_say_that_all_is_well() -> None:
    state = NodeState(
        UTC_NS, (), ("zombie-memory-cgroups",), (("nic-reset", "the kernel log: not permitted"),)
    )
    conditions = named(conditions_of(state, (), {}))
    nic = conditions["NICResetting"]
    assert (nic.status, nic.reason) == ("Unknown", "NotChecked")
    assert nic.message == "nic-reset could not look: the kernel log: not permitted"
    assert conditions["CoreSaturated"].message == "core-saturated could not look: it was not asked"
    leak = conditions["MemoryCgroupLeak"]
    assert leak.status == "False", "who leaks them is known only with a right that few give"
    assert leak.message.endswith("; memory-cgroup-leak could not look: it was not asked")


def test_info_sets_nothing() -> None:
    conditions = conditions_of(found("unit-crash-loop", severity=Severity.INFO), (), {})
    assert {one.status for one in conditions} == {"False"}


def test_the_worst_gives_the_reason_and_the_others_are_counted() -> None:
    both = found("memory-cgroup-leak", "zombie-memory-cgroups")
    leak = named(conditions_of(both, (), {}))["MemoryCgroupLeak"]
    assert leak.reason == "ZombieMemoryCgroups"
    assert leak.message == "zombie-memory-cgroups it is (and 1 more): necroscope zombies"
    worse = NodeState(
        UTC_NS, (*both.findings, ActiveFinding("memory-cgroup-leak", Severity.CRITICAL, "x")), ALL
    )
    assert named(conditions_of(worse, (), {}))["MemoryCgroupLeak"].reason == "MemoryCgroupsNotFreed"


def test_the_event_to_go_on_with_is_named_where_it_is_known() -> None:
    id = "nic-reset-20260415T100211.250Z-1208"
    known = named(conditions_of(found("nic-reset"), (), {"nic-reset": id}))["NICResetting"]
    assert known.message == f"nic-reset it is: necroscope flame --around {id}"
    assert named(conditions_of(found("nic-reset"), (), {}))["NICResetting"].message.endswith(
        ": necroscope diagnose"
    )
    long = NodeState(UTC_NS, (ActiveFinding("nic-reset", Severity.CRITICAL, "x" * 5000),), ALL)
    message = named(conditions_of(long, (), {"nic-reset": id}))["NICResetting"].message
    assert len(message) == LONGEST_MESSAGE
    assert message.endswith(id)


def test_the_recorder_tells_of_its_own_troubles_and_holes_are_none() -> None:
    assert own_troubles(status()) == ()
    troubles = own_troubles(status(store_error="no space left on device", profiling_error="perf ended"))
    impaired = named(conditions_of(found(), troubles, {}))["RecorderImpaired"]
    assert (impaired.status, impaired.reason) == ("True", "StoreNotWritable")
    assert impaired.message == "no space left on device (and 1 more): kubectl logs"
    assert named(conditions_of(found("capture-gap"), (), {}))["RecorderImpaired"].status == "False"


def test_what_is_no_longer_examined_is_unknown_but_for_the_recorder_itself() -> None:
    conditions = named(
        conditions_unexamined("nothing was sealed", own_troubles(status(sealing_error="oops")))
    )
    impaired = conditions.pop("RecorderImpaired")
    assert (impaired.status, impaired.reason) == ("True", "SealingFails")
    told = {(one.status, one.reason, one.message) for one in conditions.values()}
    assert told == {("Unknown", "NotExamined", "nothing was sealed")}
    assert {one.status for one in conditions_unknown("no recorder")} == {"Unknown"}


def test_since_when_a_status_stands_is_kept_while_it_is_the_same() -> None:
    before = {
        "status": {
            "conditions": [
                {"type": "Ready", "status": "True"},
                {
                    "type": "necroscope.dev/NICResetting",
                    "status": "True",
                    "reason": "Old",
                    "lastTransitionTime": "2026-04-14T00:00:00Z",
                },
                {
                    "type": "necroscope.dev/CoreSaturated",
                    "status": "True",
                    "lastTransitionTime": "2026-04-14T00:00:00Z",
                },
            ]
        }
    }
    standing = standing_conditions(before)
    assert set(standing) == {"necroscope.dev/NICResetting", "necroscope.dev/CoreSaturated"}
    patch = conditions_patch(conditions_of(found("nic-reset"), (), {}), standing, UTC_NS)
    rows = {row["type"].removeprefix("necroscope.dev/"): row for row in patch["status"]["conditions"]}
    assert len(rows) == len(condition_rules()), "nobody else's condition is in it"
    now = "2026-04-15T10:02:11Z"
    assert rows["NICResetting"]["lastTransitionTime"] == "2026-04-14T00:00:00Z"
    assert rows["CoreSaturated"]["lastTransitionTime"] == rows["NetworkStarved"]["lastTransitionTime"] == now
    assert {row["lastHeartbeatTime"] for row in rows.values()} == {now}


def test_only_what_stands_is_removed() -> None:
    standing = standing_conditions(
        {
            "status": {
                "conditions": [{"type": "necroscope.dev/NICResetting"}, {"type": "necroscope.dev/Foreign"}]
            }
        }
    )
    rows = removal_patch(standing)["status"]["conditions"]
    assert rows == [{"$patch": "delete", "type": "necroscope.dev/NICResetting"}]


def test_a_node_that_makes_no_sense_has_no_conditions() -> None:
    documents: list[Any] = [None, [], {}, {"status": []}, {"status": {"conditions": [None, "x"]}}]
    for document in documents:
        assert standing_conditions(document) == {}

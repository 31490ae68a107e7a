from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jeepney import HeaderFields, Message, new_method_return

from necroscope.model.reading import Absence
from necroscope.sources import systemd_bus
from necroscope.sources.held_back_units import HELD_BACK_UNITS, HeldBackUnit, HeldBackUnits
from necroscope.sources.host import Host
from tests.sources.conftest import StartSystemd, write_tree
from tests.sources.fake_systemd import Row, answer_from, row

CONFIG = "/etc/ecs/ecs.config"
VIRTUAL = ("ConditionVirtualization", False, True, "container", -1)
CONDITION = ("ConditionPathExists", False, False, CONFIG, -1)
TARGET = row("multi-user.target", "active", "active")
STEP = row("node-setup.service", "failed", "failed")
ECS = row("ecs.service", "inactive", "dead")
OTHER = row("other.service", "inactive", "dead")
HELD_BY_FILE = HeldBackUnit(
    "ecs.service",
    "enabled",
    "multi-user.target",
    "node-setup.service",
    "exit-code",
    1,
    "",
    f"ConditionPathExists={CONFIG}",
    CONFIG,
    is_only_reason=True,
)
Properties = Mapping[tuple[str, str], tuple[str, Any]]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systemd_bus, "TIMEOUT_SECONDS", 10)


def step(command: str = f"echo x >{CONFIG}", *, type_: str = "oneshot", name: str = STEP[0]) -> Properties:
    commands = [("/bin/sh", ["/bin/sh", "-c", command], False, 0, 0, 0, 0, 0, 0, 0)]
    return {
        (name, "Type"): ("s", type_),
        (name, "Result"): ("s", "exit-code"),
        (name, "ExecMainStatus"): ("i", 1),
        (name, "ExecStart"): ("a(sasbttttuii)", commands),
    }


def resting(name: str = "ecs.service", **changes: Any) -> Properties:
    """An enabled service that multi-user.target wants, and that never started; changed as told."""
    values: dict[str, tuple[str, Any]] = {
        "InactiveExitTimestampMonotonic": ("t", 0),
        "UnitFileState": ("s", "enabled"),
        "Requires": ("as", ["sysinit.target"]),
        "WantedBy": ("as", ["multi-user.target"]),
        "Conditions": ("a(sbbsi)", [CONDITION]),
        "ConditionResult": ("b", False),
        "ConditionTimestampMonotonic": ("t", 4711),
    }
    values |= {property_: (values[property_][0], value) for property_, value in changes.items()}
    return {(name, property_): value for property_, value in values.items()}


# Kept from starting before systemd looked at its conditions.
NOT_TRIED: dict[str, Any] = {"ConditionTimestampMonotonic": 0}


@pytest.fixture
def held_back(start_systemd: StartSystemd, tmp_path: Path) -> Any:
    def read(rows: list[Row], *properties: Properties, files: Mapping[str, str] | None = None) -> Any:
        known = {key: value for some in properties for key, value in some.items()}
        others = answer_from(rows, known)

        def answer(question: Message) -> Message:
            if question.header.fields[HeaderFields.member] != "ListUnitsByPatterns":
                return others(question)
            states, _ = question.body
            found = [one for one in rows if not states or one[3] in states]
            return new_method_return(question, "a(ssssssouso)", (found,))

        systemd = start_systemd(answer)
        write_tree(tmp_path, files or {})
        value: HeldBackUnits | None = HELD_BACK_UNITS.open(Host(tmp_path))().value
        assert value is not None
        return value, systemd

    return read


def test_a_condition_on_a_file_that_a_failed_step_names(held_back: Any) -> None:
    found, _ = held_back([TARGET, STEP, ECS], step(), resting())
    assert found == (HELD_BY_FILE,)


def test_the_script_of_a_step_is_read_and_what_it_includes(held_back: Any) -> None:
    files = {
        "/opt/boot/setup.sh": "#!/bin/sh\n. /opt/boot/ecs.sh\nmake_config\n",
        "/opt/boot/ecs.sh": "make_config() { mkdir -p /etc/ecs && cp x /etc/ecs/; }\n",
    }
    (found,), _ = held_back([TARGET, STEP, ECS], step("/opt/boot/setup.sh"), resting(), files=files)
    assert (found.failed, found.path) == ("node-setup.service", "/etc/ecs")


@pytest.mark.parametrize("kind", ["Requires", "Requisite", "BindsTo"])
def test_a_unit_that_it_needs_has_failed(held_back: Any, kind: str) -> None:
    needs = {("ecs.service", kind): ("as", ["node-setup.service"])}
    unit = resting(Conditions=[], **NOT_TRIED)
    (found,), _ = held_back([TARGET, STEP, ECS], step("exit 1"), unit, needs)
    assert (found.failed, found.needs, found.condition) == ("node-setup.service", "node-setup.service", "")
    assert found.is_only_reason


def test_a_unit_that_it_needs_is_held_back_itself(held_back: Any) -> None:
    properties = (
        step("exit 1"),
        resting(Conditions=[], Requires=["other.service"], **NOT_TRIED),
        resting(
            "other.service",
            UnitFileState="static",
            Requires=["node-setup.service", "ecs.service"],
            Conditions=[],
            **NOT_TRIED,
        ),
    )
    found, _ = held_back([TARGET, STEP, ECS, OTHER], *properties)
    assert [(one.name, one.failed, one.needs) for one in found] == [
        ("ecs.service", "node-setup.service", "other.service")
    ]


def test_a_mount_that_it_needs_has_failed(held_back: Any) -> None:
    mount = row("data.mount", "failed", "failed")
    result = {("data.mount", "Result"): ("s", "timeout")}
    unit = resting(Conditions=[], Requires=["data.mount"], **NOT_TRIED)
    (found,), _ = held_back([TARGET, mount, ECS], unit, result)
    assert (found.failed, found.result, found.exit_status) == ("data.mount", "timeout", 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"UnitFileState": "disabled"},
        {"UnitFileState": "masked"},
        {"UnitFileState": "static"},
        {"InactiveExitTimestampMonotonic": 4711},  # it has run and was stopped, or has done what it had to
        {"WantedBy": ["graphical.target"]},  # not reached on this machine
        {"WantedBy": []},
        {"Conditions": [], **NOT_TRIED},  # nobody knows why
        {"Conditions": [(*CONDITION[:4], 1)], "ConditionResult": True},
        {"Conditions": [(*CONDITION[:4], 0)], **NOT_TRIED},
        {"Conditions": [("ConditionPathExists", False, True, CONFIG, -1)]},  # somebody switched it off
        {"Conditions": [("ConditionPathExists", False, False, "/dev/nvidia0", -1)]},
        {"Conditions": [("ConditionVirtualization", False, False, CONFIG, -1)]},
        {
            "Conditions": [
                (*CONDITION[:1], True, *CONDITION[2:]),
                ("ConditionPathExists", True, False, "/x", 1),
            ],
            "ConditionResult": True,
        },
        {"Conditions": [CONDITION, ("ConditionPathExists", False, False, "/etc/none", 0)]},  # nor this one
        {"Requires": ["node-setup.service"], "Conditions": [VIRTUAL]},
        {"Requires": ["node-setup.service"], "Conditions": [(*CONDITION[:3], "/dev/nvidia0", -1)]},
        {
            "Requires": ["node-setup.service"],
            "Conditions": [(*CONDITION[:3], "/etc/none", 0)],
            **NOT_TRIED,
        },
    ],
)
def test_what_rests_for_another_reason_is_not_told(held_back: Any, changes: Any) -> None:
    found, _ = held_back([TARGET, STEP, ECS], step(), resting(**changes))
    assert found == ()


@pytest.mark.parametrize(
    ("command", "type_"),
    [
        ("echo x >/etc/other/other.config", "oneshot"),
        ("cp x /etc/default", "oneshot"),
        (f"agent --config {CONFIG}", "simple"),  # it reads the file, and may have failed for want of it
        ("/opt/boot/setup.sh", "oneshot"),
    ],
)
def test_a_failure_without_a_tie_is_not_told(held_back: Any, command: str, type_: str) -> None:
    files = {"/opt/boot/setup.sh": f"#!/bin/sh\n# see {CONFIG}\n. {CONFIG}\nexit 1\n"}
    found, _ = held_back([TARGET, STEP, ECS], step(command, type_=type_), resting(), files=files)
    assert found == ()


@pytest.mark.parametrize(
    "command",
    [
        f"foo-init --config {CONFIG}",  # it may have failed for want of the file
        f"mkdir -p /etc/ecs; foo-init --config {CONFIG}",
        f"FILE={CONFIG}; make_config >$FILE",
        "cp -r /opt/boot/. /etc/ecs/",
    ],
)
def test_of_a_step_that_only_names_the_file_not_more_is_said(held_back: Any, command: str) -> None:
    (found,), _ = held_back([TARGET, STEP, ECS], step(command), resting())
    assert found.failed == "node-setup.service" and not found.is_only_reason


def test_of_two_steps_the_one_that_writes_the_file_is_blamed(held_back: Any) -> None:
    first = row("a-reads.service", "failed", "failed")
    reads = step(f"foo-init --config {CONFIG}", name=first[0])
    found, _ = held_back([TARGET, first, STEP, ECS], reads, step(), resting())
    assert found == (HELD_BY_FILE,)


def test_of_two_failures_none_is_the_only_reason(held_back: Any) -> None:
    other = row("other.service", "failed", "failed")
    needs = ["node-setup.service", "other.service"]
    unit = resting(Conditions=[], Requires=needs, **NOT_TRIED)
    (found,), _ = held_back([TARGET, STEP, other, ECS], step(), step(name=other[0]), unit)
    assert found.needs == "node-setup.service" and not found.is_only_reason


@pytest.mark.parametrize(
    ("condition", "is_only_reason"),
    [((*VIRTUAL[:4], 0), False), ((*CONDITION[:4], 0), True), ((*CONDITION[:3], "/opt/boot", 0), True)],
)
def test_a_condition_that_systemd_did_not_get_to(
    held_back: Any, condition: Any, is_only_reason: bool
) -> None:
    unit = resting(Conditions=[condition], Requires=["node-setup.service"], **NOT_TRIED)
    (found,), _ = held_back([TARGET, STEP, ECS], step(), unit, files={"/opt/boot/setup.sh": ""})
    assert (found.needs, found.is_only_reason) == ("node-setup.service", is_only_reason)


def test_what_was_passed_over_for_a_condition_keeps_nobody_from_starting(held_back: Any) -> None:
    other = resting("other.service", Requires=["node-setup.service"], Conditions=[VIRTUAL])
    unit = resting(Conditions=[], Requires=["other.service"], **NOT_TRIED)
    found, _ = held_back([TARGET, STEP, ECS, OTHER], step(), unit, other)
    assert found == ()


@pytest.mark.parametrize(("verb", "is_only_reason"), [("touch", True), ("wait-for", False)])
def test_a_file_in_run(held_back: Any, verb: str, is_only_reason: bool) -> None:
    unit = resting(Conditions=[(*CONDITION[:3], "/run/node/ready", -1)])
    (found,), _ = held_back([TARGET, STEP, ECS], step(f"{verb} /run/node/ready"), unit)
    assert (found.path, found.is_only_reason) == ("/run/node/ready", is_only_reason)


def test_alternatives_none_of_which_holds(held_back: Any) -> None:
    conditions = [("ConditionPathExists", True, False, path, -1) for path in ("/x", CONFIG)]
    (found,), _ = held_back([TARGET, STEP, ECS], step(), resting(Conditions=conditions))
    assert found.condition == f"ConditionPathExists=|{CONFIG}"


def test_after_a_daemon_reload_files_tell_which_condition_it_was(held_back: Any) -> None:
    there = ("ConditionPathExists", False, False, "/etc/hostname", 0)
    files = {"/etc/hostname": "zone\n"}
    forgotten = resting(Conditions=[there, (*CONDITION[:4], 0)])
    found, _ = held_back([TARGET, STEP, ECS], step(), forgotten, files=files)
    assert found == (HELD_BY_FILE,)


@pytest.mark.parametrize(
    "conditions",
    [
        [("ConditionVirtualization", False, True, "container", 0), (*CONDITION[:4], 0)],  # which was it?
        [("ConditionPathExists", False, False, "/etc/none", 0), (*CONDITION[:4], 0)],  # the first one
        [("ConditionPathExists", False, True, CONFIG, 0)],
    ],
)
def test_after_a_daemon_reload_what_is_not_certain_is_not_told(held_back: Any, conditions: Any) -> None:
    found, _ = held_back([TARGET, STEP, ECS], step(), resting(Conditions=conditions))
    assert found == ()


def test_where_nothing_failed_one_question_is_enough(held_back: Any) -> None:
    found, systemd = held_back([TARGET, ECS], resting())
    assert found == () and systemd.asked == ["ListUnitsByPatterns"]


def test_no_systemd(tmp_path: Path) -> None:
    reading = HELD_BACK_UNITS.open(Host(tmp_path))()
    assert (reading.absence, reading.detail) == (Absence.NOT_SUPPORTED, "no systemd answers on this host")

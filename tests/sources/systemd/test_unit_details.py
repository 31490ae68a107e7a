from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jeepney import HeaderFields, Message, new_error

from necroscope.model.reading import Absence
from necroscope.sources import systemd_bus
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_details import OF_KIND, OF_UNIT, UnitDetail, read_unit_details
from tests.sources.conftest import StartSystemd
from tests.sources.fake_systemd import Answer, answer_from, row

CONDITIONS = "a(sbbsi)"
COMMANDS = "a(sasbttttuii)"
NO_TIMES = (False, 0, 0, 0, 0, 0, 0, 0)
ROWS = [
    row("ecs.service", "activating", "auto-restart"),
    row("idle.service", "inactive", "dead"),
    row("gone.service", "inactive", "dead", load="not-found"),
    row("removed.service", "active", "running", load="not-found"),
    row("ecs.socket", "active", "listening"),
    row("proc.mount", "active", "mounted"),
]
PROPERTIES: dict[tuple[str, str], tuple[str, Any]] = {
    ("ecs.service", "RequiredBy"): ("as", ["b.service"]),
    ("ecs.service", "RequisiteOf"): ("as", ["a.service"]),
    ("ecs.service", "BoundBy"): ("as", ["b.service"]),
    ("ecs.service", "WantedBy"): ("as", ["multi-user.target"]),
    ("ecs.service", "UpheldBy"): ("as", ["keeper.service"]),
    ("ecs.service", "TriggeredBy"): ("as", ["ecs.socket"]),
    ("ecs.service", "Requires"): ("as", ["docker.service"]),
    ("ecs.service", "Requisite"): ("as", ["r.service"]),
    ("ecs.service", "BindsTo"): ("as", ["dev-sda.device"]),
    ("ecs.service", "Wants"): ("as", ["w.service"]),
    ("ecs.service", "After"): ("as", ["docker.service", "cloud-final.service"]),
    ("ecs.service", "Conditions"): (CONDITIONS, [("ConditionPathExists", False, True, "/x", -1)]),
    ("ecs.service", "Asserts"): (CONDITIONS, []),
    ("ecs.service", "FragmentPath"): ("s", "/lib/systemd/system/ecs.service"),
    ("ecs.service", "DropInPaths"): ("as", ["/etc/systemd/system/ecs.service.d/a.conf"]),
    ("ecs.service", "Type"): ("s", "simple"),
    ("ecs.service", "Result"): ("s", "exit-code"),
    ("ecs.service", "ExecMainStatus"): ("i", 5),
    ("ecs.service", "NRestarts"): ("u", 4711),
    ("ecs.service", "MainPID"): ("u", 77),
    ("ecs.service", "Environment"): ("as", ["A=1", "B=two words"]),
    ("ecs.service", "EnvironmentFiles"): ("a(sb)", [("/etc/ecs/ecs.config", True), ("/etc/must", False)]),
    ("ecs.service", "ExecStart"): (
        COMMANDS,
        [
            ("/bin/sh", ["sh-by-another-name", "-c", "echo it's $HOME", ""], *NO_TIMES),
            ("/usr/bin/agent", ["/usr/bin/agent", "--port=1", "$WORDS"], *NO_TIMES),
        ],
    ),
    ("ecs.service", "ControlGroup"): ("s", "/system.slice/ecs.service"),
    ("ecs.service", "CPUUsageNSec"): ("t", 12_000),
    ("ecs.service", "MemoryCurrent"): ("t", 4096),
    ("ecs.service", "TasksCurrent"): ("t", 2**64 - 1),
    ("ecs.socket", "FragmentPath"): ("s", "/lib/systemd/system/ecs.socket"),
    ("ecs.socket", "Result"): ("s", "success"),
}
ANSWER = answer_from(ROWS, PROPERTIES)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systemd_bus, "TIMEOUT_SECONDS", 10)


def details(host: Host, *names: str) -> dict[str, UnitDetail]:
    reading = read_unit_details(host, names or None)
    assert reading.value is not None, reading.reason
    return {unit.name: unit for unit in reading.value}


def test_a_service_in_full(start_systemd: StartSystemd, tmp_path: Path) -> None:
    start_systemd(ANSWER)
    assert details(Host(tmp_path))["ecs.service"] == UnitDetail(
        name="ecs.service",
        description="the ecs.service",
        load_state="loaded",
        active_state="activating",
        sub_state="auto-restart",
        type="simple",
        result="exit-code",
        exit_status=5,
        restarts=4711,
        main_pid=77,
        control_group="/system.slice/ecs.service",
        cpu_ns=12_000,
        memory_bytes=4096,
        tasks=None,
        needed_by=("a.service", "b.service"),
        wanted_by=("ecs.socket", "keeper.service", "multi-user.target"),
        needs=("dev-sda.device", "docker.service", "r.service"),
        wants=("w.service",),
        after=("cloud-final.service", "docker.service"),
        environment=("A=1", "B=two words"),
        environment_files=("-/etc/ecs/ecs.config", "/etc/must"),
        commands=("/bin/sh -c 'echo it'\"'\"'s $HOME' ''", "/usr/bin/agent --port=1 $WORDS"),
        condition="ConditionPathExists=!/x",
        file="/lib/systemd/system/ecs.service",
        drop_ins=("/etc/systemd/system/ecs.service.d/a.conf",),
    )


def test_which_units_count(start_systemd: StartSystemd, tmp_path: Path) -> None:
    """Inactive ones too; not a mount without a file, nor a mere name in somebody's Wants=."""
    start_systemd(ANSWER)
    assert set(details(Host(tmp_path))) == {"ecs.service", "idle.service", "removed.service", "ecs.socket"}


def test_what_does_not_apply_or_is_not_known(start_systemd: StartSystemd, tmp_path: Path) -> None:
    start_systemd(ANSWER)
    units = details(Host(tmp_path))
    socket = units["ecs.socket"]
    assert (socket.result, socket.type, socket.restarts, socket.main_pid) == ("success", "", None, None)
    idle = units["idle.service"]
    assert (idle.restarts, idle.cpu_ns, idle.memory_bytes, idle.condition) == (None, None, None, "")


def test_only_the_named(start_systemd: StartSystemd, tmp_path: Path) -> None:
    systemd = start_systemd(ANSWER)
    assert set(details(Host(tmp_path), "idle.service", "not-loaded.service", "gone.service")) == {
        "idle.service"
    }
    assert set(systemd.asked) == {"ListUnitsByPatterns", "Get"}  # and nothing that loads a unit
    assert systemd.asked.count("Get") == 1 + len(OF_UNIT) + len(OF_KIND["Service"])
    assert read_unit_details(Host(tmp_path), ()).value == ()


def test_every_property_is_asked_of_its_interface(start_systemd: StartSystemd, tmp_path: Path) -> None:
    asked: set[tuple[str, str]] = set()

    def answer(question: Message) -> Message:
        if question.header.fields[HeaderFields.member] == "Get":
            asked.add((question.body[0].rpartition(".")[2], question.body[1]))
        return ANSWER(question)

    start_systemd(answer)
    details(Host(tmp_path))
    assert {("Unit", "After"), ("Service", "ExecStart"), ("Socket", "Result")} <= asked
    assert not {("Unit", "ExecStart"), ("Service", "After"), ("Mount", "Result")} & asked


@pytest.mark.parametrize(
    ("conditions", "asserts", "text"),
    [
        ([], [], ""),
        ([("ConditionUser", False, False, "root", 1)], [], ""),
        ([("ConditionUser", False, False, "root", 0)], [], ""),
        (
            [("ConditionUser", False, False, "root", 1), ("ConditionHost", False, True, "a", -1)],
            [],
            "ConditionHost=!a",
        ),
        # Of the triggering ones, one that holds is enough.
        (
            [("ConditionPathExists", True, False, "/a", -1), ("ConditionPathExists", True, True, "/b", 1)],
            [],
            "",
        ),
        (
            [("ConditionPathExists", True, False, "/a", -1), ("ConditionPathExists", True, True, "/b", -1)],
            [],
            "ConditionPathExists=|/a, ConditionPathExists=|!/b",
        ),
        (
            [("ConditionPathExists", True, False, "/a", -1), ("ConditionHost", False, False, "b", -1)],
            [],
            "ConditionHost=b",
        ),
        ([], [("AssertPathExists", False, False, "/a", -1)], "AssertPathExists=/a"),
    ],
    ids=["none", "held", "not looked at", "failed", "one of two", "none of two", "both kinds", "assert"],
)
def test_the_condition_that_failed(
    start_systemd: StartSystemd, tmp_path: Path, conditions: list[Any], asserts: list[Any], text: str
) -> None:
    properties = {
        ("idle.service", "Conditions"): (CONDITIONS, conditions),
        ("idle.service", "Asserts"): (CONDITIONS, asserts),
    }
    start_systemd(answer_from(ROWS, properties))
    assert details(Host(tmp_path), "idle.service")["idle.service"].condition == text


def errors(name: str) -> Answer:
    return lambda question: new_error(question, name)


def silent_about_properties(question: Message) -> Message | bytes:
    return b"" if question.header.fields[HeaderFields.member] == "Get" else ANSWER(question)


@pytest.mark.parametrize(
    ("answer", "absence"),
    [
        (errors("org.freedesktop.DBus.Error.UnknownMethod"), Absence.NOT_SUPPORTED),
        (errors("org.freedesktop.DBus.Error.AccessDenied"), Absence.NOT_PERMITTED),
        (lambda _: b"rubbish, and more than sixteen bytes of it", Absence.BROKEN),
        (silent_about_properties, Absence.BROKEN),
    ],
    ids=["method", "denied", "rubbish", "hang-up"],
)
def test_what_goes_wrong_has_its_reason(
    start_systemd: StartSystemd, tmp_path: Path, answer: Answer, absence: Absence
) -> None:
    start_systemd(answer)
    reading = read_unit_details(Host(tmp_path))
    assert reading.absence is absence
    assert reading.detail.startswith("systemd over D-Bus: ")


def test_wrong_authentication(start_systemd: StartSystemd, tmp_path: Path) -> None:
    start_systemd(ANSWER, auth=b"REJECTED EXTERNAL\r\n")
    assert read_unit_details(Host(tmp_path)).absence is Absence.NOT_PERMITTED


def test_no_systemd(tmp_path: Path) -> None:
    reading = read_unit_details(Host(tmp_path))
    assert (reading.absence, reading.detail) == (Absence.NOT_SUPPORTED, "no systemd answers on this host")

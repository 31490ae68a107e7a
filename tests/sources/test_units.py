from __future__ import annotations

from pathlib import Path

import pytest
from jeepney import HeaderFields, Message, new_error

from necroscope.model.reading import Absence
from necroscope.sources import systemd_bus
from necroscope.sources.host import Host
from necroscope.sources.units import UNITS, Unit
from tests.sources.conftest import StartSystemd
from tests.sources.fake_systemd import Answer, answer_from, row

ECS = row("ecs.service", "activating", "auto-restart")
ROWS = [
    ECS,
    row("ssh.service", "active", "running"),
    row("done.service", "inactive", "dead"),
    row("gone.service", "failed", "failed", load="not-found"),
]
PROPERTIES = {
    ("ecs.service", "NRestarts"): ("u", 4711),
    ("ecs.service", "Result"): ("s", "exit-code"),
    ("ecs.service", "Restart"): ("s", "on-failure"),
    ("ecs.service", "RestartUSec"): ("t", 10_000_000),
    ("ecs.service", "StateChangeTimestampMonotonic"): ("t", 5_122_417_893),
    ("ecs.service", "ExecMainStatus"): ("i", 255),
    ("ecs.service", "UnitFileState"): ("s", "enabled"),
    ("ecs.service", "UnitFilePreset"): ("s", "disabled"),
    ("ecs.service", "FragmentPath"): ("s", "/lib/systemd/system/ecs.service"),
    ("ssh.service", "NRestarts"): ("u", 0),
}
ANSWER = answer_from(ROWS, PROPERTIES)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systemd_bus, "TIMEOUT_SECONDS", 10)


def test_services_that_are_not_simply_inactive(start_systemd: StartSystemd, tmp_path: Path) -> None:
    start_systemd(ANSWER)
    units = UNITS.open(Host(tmp_path))().value
    assert units
    assert units[0] == Unit(
        name="ecs.service",
        description="the ecs.service",
        active_state="activating",
        sub_state="auto-restart",
        restarts=4711,
        result="exit-code",
        restart_policy="on-failure",
        restart_delay_seconds=10.0,
        state_changed_ns=5_122_417_893_000,
        exit_status=255,
        enabled="enabled",
        preset="disabled",
        file="/lib/systemd/system/ecs.service",
    )
    assert [(unit.name, unit.restarts) for unit in units] == [("ecs.service", 4711), ("ssh.service", 0)]


def test_every_property_is_asked_of_its_interface(start_systemd: StartSystemd, tmp_path: Path) -> None:
    asked: set[tuple[str, str]] = set()

    def answer(question: Message) -> Message:
        if question.header.fields[HeaderFields.member] == "Get":
            asked.add(question.body)
        return ANSWER(question)

    start_systemd(answer)
    UNITS.open(Host(tmp_path))()
    of_unit = {"StateChangeTimestampMonotonic", "UnitFileState", "UnitFilePreset", "FragmentPath"}
    of_service = {"NRestarts", "Result", "Restart", "RestartUSec", "ExecMainStatus"}
    assert asked == {("org.freedesktop.systemd1.Unit", name) for name in of_unit} | {
        ("org.freedesktop.systemd1.Service", name) for name in of_service
    }


def test_an_old_systemd_does_not_count_restarts(start_systemd: StartSystemd, tmp_path: Path) -> None:
    properties = {key: value for key, value in PROPERTIES.items() if key[1] != "NRestarts"}
    start_systemd(answer_from(ROWS, properties))
    units = UNITS.open(Host(tmp_path))().value
    assert units
    assert [(unit.restarts, unit.result) for unit in units] == [(None, "exit-code"), (None, "")]


def test_no_service_at_all(start_systemd: StartSystemd, tmp_path: Path) -> None:
    start_systemd(answer_from([]))
    assert UNITS.open(Host(tmp_path))().value == ()


def test_every_reading_is_a_new_conversation(start_systemd: StartSystemd, tmp_path: Path) -> None:
    read = UNITS.open(Host(tmp_path))
    assert read().absence is Absence.NOT_SUPPORTED  # not started yet
    start_systemd(ANSWER)
    assert read().value == read().value != ()


def errors(name: str) -> Answer:
    return lambda question: new_error(question, name)


def silent_about_properties(question: Message) -> Message | bytes:
    return b"" if question.header.fields[HeaderFields.member] == "Get" else ANSWER(question)


@pytest.mark.parametrize(
    ("answer", "absence"),
    [
        (errors("org.freedesktop.DBus.Error.UnknownMethod"), Absence.NOT_SUPPORTED),  # before systemd 230
        (errors("org.freedesktop.DBus.Error.ServiceUnknown"), Absence.NOT_SUPPORTED),  # a bus without systemd
        (errors("org.freedesktop.DBus.Error.AccessDenied"), Absence.NOT_PERMITTED),
        (errors("org.freedesktop.DBus.Error.Failed"), Absence.BROKEN),
        (lambda _: b"rubbish, and more than sixteen bytes of it", Absence.BROKEN),
        (silent_about_properties, Absence.BROKEN),
    ],
    ids=["method", "service", "denied", "failed", "rubbish", "hang-up"],
)
def test_what_goes_wrong_has_its_reason(
    start_systemd: StartSystemd, tmp_path: Path, answer: Answer, absence: Absence
) -> None:
    start_systemd(answer)
    reading = UNITS.open(Host(tmp_path))()
    assert reading.absence is absence
    assert reading.detail.startswith("systemd over D-Bus: ")


def test_no_answer(start_systemd: StartSystemd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systemd_bus, "TIMEOUT_SECONDS", 0.2)
    start_systemd(lambda _: None)
    assert UNITS.open(Host(tmp_path))().absence is Absence.BROKEN


def test_no_greeting(start_systemd: StartSystemd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systemd_bus, "TIMEOUT_SECONDS", 0.2)
    start_systemd(ANSWER, auth=b"")
    reading = UNITS.open(Host(tmp_path))()
    assert reading.absence is Absence.BROKEN
    assert "/run/systemd/private" in reading.detail


def test_wrong_authentication(start_systemd: StartSystemd, tmp_path: Path) -> None:
    start_systemd(ANSWER, auth=b"REJECTED EXTERNAL\r\n")
    reading = UNITS.open(Host(tmp_path))()
    assert reading.absence is Absence.NOT_PERMITTED
    assert "/run/systemd/private: refused: REJECTED EXTERNAL" in reading.detail


def test_no_systemd(tmp_path: Path) -> None:
    reading = UNITS.open(Host(tmp_path))()
    assert (reading.absence, reading.detail) == (Absence.NOT_SUPPORTED, "no systemd answers on this host")

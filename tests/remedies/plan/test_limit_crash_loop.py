from __future__ import annotations

from pathlib import Path

import pytest

from lab.machines.image_roots import plant
from necroscope.model.plan import Plan
from necroscope.model.remedy_ids import LIMIT_CRASH_LOOP
from necroscope.sources.host import Host
from tests.real.carry_out import carry_out, listing, plan_for, take_back

USR = "usr/lib/systemd/system"
ETC = "etc/systemd/system"
VERSION = {"usr/lib/systemd/libsystemd-shared-252.so": ""}


def plan(root: Path, service: str, unit: str = "", **others: str) -> Plan:
    plant(
        root,
        {f"{USR}/x.service": f"[Unit]\n{unit}\n[Service]\nExecStart=/x\n{service}\n", **VERSION, **others},
    )
    return plan_for(Host(root), LIMIT_CRASH_LOOP, "x")


def text(root: Path, service: str, unit: str = "") -> str:
    (step,) = plan(root, service, unit).steps
    assert step.target == f"/{ETC}/x.service.d/50-necroscope-limit.conf"
    return step.value


@pytest.mark.parametrize(
    ("delay", "interval"),
    [
        ("10s", 360),
        ("", 360),
        ("0", 360),
        ("1min 30s", 780),
        ("200ms", 360),
        ("10\nRestartMaxDelaySec=5min", 1860),
    ],
)
def test_five_restarts_fit_into_the_interval(tmp_path: Path, delay: str, interval: int) -> None:
    found = text(tmp_path, f"Restart=on-failure\nRestartSec={delay}")
    assert found == f"[Unit]\nStartLimitIntervalSec={interval}\nStartLimitBurst=5\n"


@pytest.mark.parametrize(
    ("service", "unit", "reason"),
    [
        ("", "", "Restart=no"),
        ("Restart=no", "", "Restart=no"),
        ("Restart=always\nRestartSec=1s", "StartLimitIntervalSec=1h\nStartLimitBurst=10", "given up already"),
    ],
)
def test_where_a_limit_is_of_no_use_there_is_nothing_to_do(
    tmp_path: Path, service: str, unit: str, reason: str
) -> None:
    found = plan(tmp_path, service, unit)
    assert found.steps == ()
    assert reason in found.seen[0]


def test_a_limit_that_would_reboot_the_machine_is_told_not_to(tmp_path: Path) -> None:
    found = plan(tmp_path, "Restart=always", "StartLimitAction=reboot\nOnFailure=mail.service")
    assert "StartLimitAction=none" in found.steps[0].value
    assert "whole machine" in found.steps[0].why
    assert "mail.service" in found.warnings[0]


def test_defaults_of_the_manager_count(tmp_path: Path) -> None:
    conf = "[Manager]\nDefaultRestartSec=1min\nDefaultStartLimitIntervalSec=1d\nDefaultStartLimitBurst=3\n"
    found = plan(tmp_path, "Restart=always", **{"etc/systemd/system.conf": conf})
    assert found.steps == ()


def test_before_systemd_230_the_settings_stand_elsewhere(tmp_path: Path) -> None:
    plant(tmp_path, {f"{USR}/x.service": "[Service]\nExecStart=/x\nRestart=always\n"})
    (step,) = plan_for(Host(tmp_path), LIMIT_CRASH_LOOP, "x").steps
    assert step.value.endswith("[Service]\nStartLimitInterval=360\nStartLimitBurst=5\n")


def test_a_drop_in_that_would_undo_it_is_overtaken(tmp_path: Path) -> None:
    override = {f"{ETC}/x.service.d/override.conf": "[Unit]\nStartLimitIntervalSec=0\n"}
    found = plan(tmp_path, "Restart=always", **override)
    assert found.steps[0].target.endswith("/zz-necroscope-limit.conf")
    host = Host(tmp_path)
    files = listing(tmp_path, "etc")
    before = carry_out(host, found)
    assert plan_for(host, LIMIT_CRASH_LOOP, "x").steps == ()
    take_back(host, found, before)
    assert listing(tmp_path, "etc") == files

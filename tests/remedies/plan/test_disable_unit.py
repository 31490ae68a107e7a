"""Units of images, disabled so that systemd itself agrees."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from lab.machines.image_roots import (
    PLANTED,
    WANTED,
    Content,
    copied_root,
    is_enabled,
    plant,
    why_no_systemctl,
)
from necroscope.errors import CannotLookError
from necroscope.model.remedy_ids import DISABLE_UNIT
from necroscope.remedies.plan.subject import find_unit
from necroscope.sources.host import Host
from tests.real.carry_out import carry_out, listing, plan_for, take_back

pytestmark = pytest.mark.skipif(why_no_systemctl() is not None, reason=str(why_no_systemctl()))

ETC, USR = "etc/systemd/system", "usr/lib/systemd/system"
BUS = "usr/share/dbus-1/system-services"
# At these systemd 252 gives up applying presets at all.
TOO_BAD = ("planted-own-name.service", "planted-dangling.service", "planted-bad.service")
MORE: dict[str, Content] = {
    f"{USR}/planted-by-default.service": WANTED,
    "usr/lib/systemd/system-preset/05-more.preset": "enable planted-by-default.service\n",
    f"{USR}/ecs.service": WANTED.replace("/usr/bin/true", "/usr/libexec/amazon-ecs-init start"),
    f"{USR}/called-by-bus.service": WANTED,
    f"{BUS}/org.x.service": "[D-BUS Service]\nName=org.x\nSystemdService=called-by-bus.service\n",
    f"{USR}/of-device@.service": WANTED,
    f"{USR}/plugged.service": WANTED,
    "usr/lib/udev/rules.d/9.rules": 'ENV{SYSTEMD_WANTS}+="plugged.service of-device@$name.service"\n',
    f"{USR}/on-failure.service": WANTED,
    f"{USR}/fails.service": "[Unit]\nOnFailure=on-failure.service\n[Service]\nExecStart=/x\n",
    f"{ETC}/local-timed.service": "[Service]\nExecStart=/bin/true\n",
    f"{ETC}/local-timed.timer": "[Timer]\nOnBootSec=1\n[Install]\nWantedBy=timers.target\n",
    f"{ETC}/timers.target.wants/local-timed.timer": Path("/etc/systemd/system/local-timed.timer"),
    "etc/init.d/old": "#!/bin/sh\n",
    "etc/rc2.d/S01old": Path("../init.d/old"),
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copied_root(tmp_path_factory.mktemp("root"))
    planted: dict[str, Content] = {**PLANTED}
    plant(folder, {name: content for name, content in planted.items() if not name.endswith(TOO_BAD)})
    plant(folder, MORE)
    (folder / "etc/init.d/old").chmod(0o755)
    return folder


def state_after_first_boot(root: Path, unit: str, scratch: Path) -> str:
    """What systemd makes of the unit where it finds no machine-id and goes by the presets."""
    shutil.copytree(root, scratch, symlinks=True)
    done = subprocess.run(["systemctl", f"--root={scratch}", "preset-all"], check=False, capture_output=True)
    assert (scratch / ETC / "multi-user.target.wants/planted-by-default.service").is_symlink(), done.stderr
    return is_enabled(scratch, unit)


@pytest.mark.parametrize(
    ("subject", "steps", "state"),
    [
        ("planted-by-preset", ["remove-links", "write-file"], "disabled"),
        ("planted-by-link", ["remove-links"], "disabled"),
        ("planted-against-preset", ["remove-links"], "disabled"),
        ("planted-disabled", [], "disabled"),
        ("planted-masked", [], "masked"),
        ("planted-runtime", [], "enabled-runtime"),  # what lies in /run is no part of an image
        ("planted-alias", ["remove-links"], "disabled"),
        ("planted@two", ["remove-links"], "disabled"),
        ("planted@one", ["remove-links", "make-link"], "masked"),
        ("called-by-bus", ["make-link", "write-file"], "masked"),
        ("plugged", ["make-link", "write-file"], "masked"),
        ("of-device@sda", ["make-link"], "masked"),
        ("on-failure", ["make-link", "write-file"], "masked"),
        ("local-timed", ["write-file"], "static"),
        ("old", ["make-link"], "masked"),
    ],
)
def test_systemd_says_what_the_plan_means(
    root: Path, tmp_path: Path, subject: str, steps: list[str], state: str
) -> None:
    host = Host(root)
    unit = find_unit(host, subject).name
    plan = plan_for(host, DISABLE_UNIT, subject)
    assert [step.action for step in plan.steps] == steps
    files = listing(root, "etc")
    before = carry_out(host, plan)
    assert is_enabled(root, unit) == state
    assert state_after_first_boot(root, unit, tmp_path / "copy") == state
    take_back(host, plan, before)
    assert listing(root, "etc") == files


def test_without_the_preset_the_first_boot_would_enable_it_again(root: Path, tmp_path: Path) -> None:
    host = Host(root)
    plan = plan_for(host, DISABLE_UNIT, "planted-by-preset")
    links = replace(plan, steps=plan.steps[:1])
    before = carry_out(host, links)
    assert is_enabled(root, "planted-by-preset.service") == "disabled"
    assert state_after_first_boot(root, "planted-by-preset.service", tmp_path / "copy") == "enabled"
    take_back(host, links, before)


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        ("called-by-bus", "D-Bus starts it when somebody asks for org.x"),
        ("plugged", "udev starts it for a device (/usr/lib/udev/rules.d/9.rules)"),
        ("of-device@sda", "udev starts it for a device (/usr/lib/udev/rules.d/9.rules)"),
        ("on-failure", "fails.service names it in OnFailure="),
        ("local-timed", "local-timed.timer triggers it"),
        ("old", "systemd makes it from /etc/init.d/old at every boot"),
    ],
)
def test_the_plan_says_what_could_start_it_again(root: Path, subject: str, reason: str) -> None:
    plan = plan_for(Host(root), DISABLE_UNIT, subject)
    assert any(reason in step.why for step in plan.steps)


def test_commands_for_an_image_never_name_the_machine_that_builds_it(root: Path) -> None:
    for subject in ("planted-by-preset", "called-by-bus", "local-timed", "planted-linked"):
        for step in plan_for(Host(root), DISABLE_UNIT, subject).steps:
            for text in (step.command, step.undo):
                assert str(root) in text
                assert "daemon-reload" not in text


def test_a_known_agent_comes_with_advice_to_remove_its_package(root: Path) -> None:
    plan = plan_for(Host(root), DISABLE_UNIT, "ecs")
    (advice,) = plan.by_hand
    assert any("ecs-init" in line for line in advice.commands)
    assert not any(line.startswith("systemctl") for line in advice.commands)


def test_a_link_that_is_removed_makes_nobody_need_the_unit(tmp_path: Path) -> None:
    required = "[Service]\nExecStart=/x\n[Install]\nRequiredBy=basic.target\n"
    link = f"{ETC}/basic.target.requires/needed.service"
    plant(
        tmp_path,
        {
            f"{USR}/needed.service": required,
            f"{USR}/basic.target": "[Unit]\nDescription=x\n",
            link: Path("/usr/lib/systemd/system/needed.service"),
        },
    )
    assert plan_for(Host(tmp_path), DISABLE_UNIT, "needed").vital == ()
    (tmp_path / f"{USR}/basic.target").write_text("[Unit]\nRequires=needed.service\n")
    assert plan_for(Host(tmp_path), DISABLE_UNIT, "needed").vital[0].startswith("basic.target: ")


def test_what_lies_in_run_is_no_part_of_an_image(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {
            f"{USR}/x.service": WANTED,
            f"{ETC}/multi-user.target.wants/x.service": Path("/usr/lib/systemd/system/x.service"),
            "run/systemd/system/x.service": Path("/dev/null"),
            "run/systemd/system/multi-user.target.wants/x.service": Path("/usr/lib/systemd/system/x.service"),
        },
    )
    plan = plan_for(Host(tmp_path), DISABLE_UNIT, "x")
    assert plan.steps[0].action == "remove-links"
    assert not any("/run/" in step.value for step in plan.steps)


def test_a_link_to_nowhere_is_no_question_of_rights(tmp_path: Path) -> None:
    plant(tmp_path, {f"{USR}/y.service": WANTED, f"{ETC}/x.service": Path("/opt/none/x.service")})
    with pytest.raises(CannotLookError) as error:
        plan_for(Host(tmp_path), DISABLE_UNIT, "x")
    assert error.value.hint == ""

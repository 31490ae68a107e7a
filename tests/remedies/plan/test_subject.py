from __future__ import annotations

from pathlib import Path

import pytest

from lab.machines.image_roots import plant
from necroscope.errors import CannotLookError, UsageError
from necroscope.remedies.plan.subject import find_unit
from necroscope.sources.host import Host

USR = "usr/lib/systemd/system"
SERVICE = "[Service]\nExecStart=/x\n[Install]\nWantedBy=multi-user.target\n"


@pytest.fixture
def host(tmp_path: Path) -> Host:
    names = ("ecs.service", "a.b.service", "t@.service", "amazon-ecs-volume.service")
    plant(tmp_path, dict.fromkeys((f"{USR}/{name}" for name in names), SERVICE))
    plant(tmp_path, {f"{USR}/alias.service": Path("ecs.service"), f"{USR}/u@.service": Path("t@.service")})
    return Host(tmp_path)


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ("ecs", "ecs.service"),
        ("ecs.service", "ecs.service"),
        ("alias", "ecs.service"),
        ("a.b", "a.b.service"),
        ("t@one", "t@one.service"),
        ("u@one", "t@one.service"),
    ],
)
def test_a_unit_is_found_by_any_of_its_names(host: Host, subject: str, name: str) -> None:
    assert find_unit(host, subject).name == name


def test_all_its_names_are_told(host: Host) -> None:
    assert find_unit(host, "ecs").names == ("ecs.service", "alias.service")


@pytest.mark.parametrize(
    ("subject", "near"), [("esc", "ecs.service"), ("ecs-volume", "amazon-ecs-volume.service")]
)
def test_near_names_are_offered_for_one_that_is_not_there(host: Host, subject: str, near: str) -> None:
    with pytest.raises(UsageError, match=f"no unit {subject}.service") as error:
        find_unit(host, subject)
    assert near in error.value.hint


@pytest.mark.parametrize("subject", ["", "a/b", "system.slice", "dev-sda.device", "t@.service"])
def test_what_cannot_be_fixed_is_refused(host: Host, subject: str) -> None:
    with pytest.raises(UsageError):
        find_unit(host, subject)


def test_the_hint_for_a_slice_names_the_kinds_in_words(host: Host) -> None:
    with pytest.raises(UsageError) as error:
        find_unit(host, "system.slice")
    assert error.value.hint.startswith("one of: service, socket, ")


def test_a_root_without_systemd_cannot_be_looked_at(tmp_path: Path) -> None:
    with pytest.raises(CannotLookError):
        find_unit(Host(tmp_path), "ecs")

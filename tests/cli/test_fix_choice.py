"""What `fix` would treat: of an image, of a recorded event, and of words that mean nothing."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import pytest

from lab.machines.image_roots import plant
from necroscope.cli.fix_choice import choose
from necroscope.errors import UsageError
from necroscope.model.plan import Goal, Treatment
from necroscope.remedies.plan.choose import Choice
from necroscope.sources.host import Host
from tests.cli.test_audit import IMAGE
from tests.cli.test_diagnose import RESET, RESET_ID, RESTART_ID, moments
from tests.stored import HOST, event_of, sealed_segment


@pytest.fixture
def image(tmp_path: Path) -> Path:
    root = tmp_path / "image"
    plant(root, {**IMAGE, "proc/sys/kernel/hostname": f"{HOST}\n"})
    for name in ("usr/libexec/amazon-ecs-init", "usr/bin/well"):
        (root / name).chmod(0o755)
    return root


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("chosen") / "store"
    sealed_segment(root, moments(), [RESET, event_of("unit-restart", 22, unit="ecs.service")])
    return root


def chosen(root: Path, what: str = "", subject: str = "", store: Path | None = None) -> Choice:
    words = argparse.Namespace(what=what, subject=subject, duration=1.0, config=None, store=store)
    return choose(words, Host(root))


@pytest.mark.parametrize("words", [("unit-orphaned-agent", ""), ("ecs.service", ""), ("ecs", "")])
def test_an_orphan_of_an_image_is_disabled(image: Path, words: tuple[str, str]) -> None:
    found = chosen(image, *words)
    assert found.treatments == (Treatment("disable-unit", "ecs.service"),)
    assert "of no use in this image" in found.reasons[0]
    assert found.goals == (Goal("unit-runs", "ecs.service"),)


def test_without_a_word_the_worst_of_an_image_is_treated(image: Path) -> None:
    (treatment,) = chosen(image).treatments
    assert treatment.remedy == "disable-unit" and treatment.subject in ("ecs.service", "broken.service")


def test_a_remedy_for_an_image_needs_no_look(image: Path) -> None:
    found = chosen(image, "disable-unit", "well")
    assert found.treatments == (Treatment("disable-unit", "well.service"),)
    assert found.reasons == ("disable-unit was asked for",)


def test_a_healthy_unit_is_disabled_if_asked_for_and_that_is_said(image: Path) -> None:
    found = chosen(image, "well.service")
    assert found.treatments == (Treatment("disable-unit", "well.service"),)
    assert found.reasons == ("nothing was found about well.service",)


def test_what_an_image_cannot_have_is_not_looked_for(image: Path) -> None:
    found = chosen(image, "zombie-memory-cgroups")
    assert not found.treatments and "is an image" in found.reasons[0]


def test_a_finding_that_an_image_does_not_have_is_said(image: Path) -> None:
    found = chosen(image, "unit-default-enabled", "ecs.service")
    assert not found.treatments
    assert found.reasons[0] == "unit-default-enabled was not found about ecs.service"


def test_an_event_is_treated_by_its_diagnosis(image: Path, store: Path) -> None:
    found = chosen(image, RESET_ID, store=store)
    assert found.treatments == (Treatment("move-interrupts", "0"),)
    assert "stalled because its core 0" in found.reasons[0]
    assert found.goals[0] == Goal("nic-resets", "")


def test_what_an_image_does_not_show_is_carried_along(image: Path) -> None:
    for words in ((), ("unit-orphaned-agent",), ("ecs.service",)):
        assert [row.source for row in chosen(image, *words).not_checked] == ["packages"]
    for wanted in image.glob("etc/systemd/system/*.wants"):
        shutil.rmtree(wanted)
    nothing = chosen(image)
    assert not nothing.treatments and nothing.not_checked
    assert nothing.reasons == ("nothing was found in what could be looked at",)


def test_a_recording_that_could_not_be_read_is_told_with_an_event(
    image: Path, store: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(store, tmp_path / "store")
    broken = copy / HOST / "20260415T090000Z"
    broken.mkdir()
    (broken / "segment.json").write_text("{")
    found = chosen(image, RESET_ID, store=copy)
    assert found.treatments == (Treatment("move-interrupts", "0"),)
    (row,) = [row for row in found.not_checked if row.source == "recordings"]
    assert str(broken) in row.reason and row.affects == ("diagnosis",)


def test_an_event_of_another_host_is_refused(image: Path, store: Path) -> None:
    (image / "proc/sys/kernel/hostname").write_text("node-18\n")
    with pytest.raises(UsageError, match="happened on node-17, and this is node-18"):
        chosen(image, RESET_ID, store=store)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("disable-unit", ""), "disable-unit needs a subject"),
        (("move-interrupts", ""), "move-interrupts needs a subject"),
        (("reboot", "now"), "takes no subject"),
        (("zombie-memory-cgroup", ""), "nothing is called 'zombie-memory-cgroup'"),
        (("gone.service", ""), "there is no unit gone.service"),
        (("disable-unit", "gone"), "there is no unit gone.service"),
        (("ecs.service", "now"), "unexpected argument"),
        ((RESTART_ID, ""), "is nothing to explain"),
        (("nic-reset-20260415T100000.000Z-9", ""), "there is no event"),
    ],
)
def test_words_that_mean_nothing_are_refused_before_a_look(
    image: Path, store: Path, words: tuple[str, str], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        chosen(image, *words, store=store)

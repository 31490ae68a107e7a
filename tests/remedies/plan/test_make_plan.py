from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from necroscope.errors import HostChangedError, PlanError
from necroscope.model.plan import Assumption, Goal, Plan, Treatment
from necroscope.remedies.plan.goals import OWN, why_not_goal
from necroscope.remedies.plan.make_plan import is_of_host, make_plan, refuse_if_changed
from necroscope.remedies.plan.plan_document import parse_plan, plan_text
from necroscope.sources.host import Host
from tests.remedies.on_record import plan_of
from tests.remedies.trees import REMEDY, plan_for, step


def refused(plan: Plan, image: Path) -> str:
    with pytest.raises(HostChangedError) as caught:
        refuse_if_changed(plan, Host(image))
    assert caught.value.hint
    return caught.value.what


def test_without_a_change_it_is_the_same_plan(image: Path) -> None:
    plan = plan_for(image)
    assert refuse_if_changed(plan, Host(image)) == plan


def test_reasons_and_goals_are_the_reviewers(image: Path) -> None:
    plan = replace(plan_for(image), reasons=("ticket 4711",), goals=(), seen=("last week",), made_at="then")
    checked = refuse_if_changed(plan, Host(image))
    assert (checked.reasons, checked.goals, checked.made_at) == (("ticket 4711",), (), "then")
    assert checked.seen == ("3 files",), "what is seen is seen now"


def test_a_change_on_the_host_is_said_with_both_values(image: Path) -> None:
    plan = plan_for(image)
    (image / "etc/other").write_text("somebody was here\n")
    was, is_ = plan.assumptions[0].value, plan_for(image).assumptions[0].value
    assert refused(plan, image) == f"the host is not as the plan says: /etc/other: was {was}, is {is_}"


def test_another_machine_is_another_host(image: Path) -> None:
    plan = plan_for(image)
    (image / "etc/hostname").write_text("image-2\n")
    (image / "etc/machine-id").write_text("f" * 32 + "\n")
    what = refused(plan, image)
    assert "host: was image-1, is image-2" in what and "machine id: was 0123" in what


@pytest.mark.parametrize(("field", "value"), [("root", "/"), ("is_image", False)])
def test_a_plan_for_elsewhere_is_refused(image: Path, field: str, value: object) -> None:
    what = refused(replace(plan_for(image), **{field: value}), image)  # type: ignore[arg-type]
    assert str(image) in what if field == "root" else "was a running machine, is an image" in what


def test_an_added_step_is_refused(image: Path) -> None:
    plan = plan_for(image)
    evil = replace(plan, steps=(*plan.steps, step("put-text", "/etc/shadow", "root::")))
    assert "step 5 of the plan would not be planned now" in refused(evil, image)


def test_a_missing_step_is_refused(image: Path) -> None:
    plan = plan_for(image)
    what = refused(replace(plan, steps=plan.steps[:-1]), image)
    assert "step 4 would be needed and is not in the plan: put-text /etc/new.conf" in what


@pytest.mark.parametrize("field", ["action", "target", "value", "command", "why", "undo"])
def test_any_other_word_of_a_step_is_refused(image: Path, field: str) -> None:
    plan = plan_for(image)
    steps = (plan.steps[0], replace(plan.steps[1], **{field: "/etc/shadow"}), *plan.steps[2:])
    assert f"step 2 of the plan is not the one that would be planned now ({field})" in refused(
        replace(plan, steps=steps), image
    )


def test_another_order_is_refused(image: Path) -> None:
    plan = plan_for(image)
    assert "step 1 of the plan is not" in refused(replace(plan, steps=plan.steps[::-1]), image)


def test_a_dropped_assumption_is_refused(image: Path) -> None:
    what = refused(replace(plan_for(image), assumptions=(Assumption("kernel", "6.1"),)), image)
    assert "kernel: was 6.1, is nothing" in what and "/etc/other: was nothing, is " in what


@pytest.mark.parametrize(
    ("before", "goals"),
    [
        ("zombies", ()),
        ("zombies", (Goal("reclaim", ""),)),
        ("zombies", (Goal("zombies", ""), Goal("zombies", ""))),
        ("nic-resets, zombies", (Goal("zombies", ""), Goal("unit-runs", "ecs.service"))),
    ],
)
def test_goals_that_the_treatments_do_not_have_or_do_not_lack_are_refused(
    image: Path, monkeypatch: pytest.MonkeyPatch, before: str, goals: tuple[Goal, ...]
) -> None:
    """Whoever edits a plan cannot choose by what `verify` judges, and leave out what the remedy is for."""
    monkeypatch.setitem(OWN, REMEDY, "zombies")
    wanted = [Goal(quantity, "") for quantity in before.split(", ")]
    plan = make_plan(Host(image), [Treatment(REMEDY, "")], (), wanted)
    assert refuse_if_changed(plan, Host(image)) == plan
    assert "goals: was " in refused(replace(plan, goals=goals), image)


@pytest.mark.parametrize(
    ("treated", "goal", "why"),
    [
        ("", Goal("happiness", ""), "there is no quantity 'happiness'"),
        ("a.service", Goal("unit-runs", "b.service"), "'b.service' is not what is treated"),
        ("a.service", Goal("zombies", "a.service"), "'a.service' is not what is treated"),
        ("a.service", Goal("unit-restarts", "a.service"), ""),
    ],
)
def test_a_plan_file_has_only_goals_that_its_treatments_can_have(treated: str, goal: Goal, why: str) -> None:
    plan = plan_of([goal], [Treatment("disable-unit", treated)])
    assert why_not_goal(goal, plan.treatments) == why
    if not why:
        assert parse_plan(plan_text(plan).encode()) == plan
        return
    with pytest.raises(PlanError, match=rf"goals\[0\]: {why}"):
        parse_plan(plan_text(plan).encode())


def test_a_subject_that_is_gone_is_refused(image: Path) -> None:
    plan = replace(plan_for(image), treatments=(Treatment("tend-tree", "gone"),))
    assert "no longer be planned: there is no unit gone.service" in refused(plan, image)


def test_many_differences_are_cut(image: Path) -> None:
    plan = plan_for(image)
    what = refused(replace(plan, host="x", machine_id="y", root="/z", steps=()), image)
    assert what.endswith("; and 2 more")


def test_an_image_is_known_by_its_place_and_a_machine_by_its_id(image: Path, tmp_path: Path) -> None:
    plan = plan_for(image)
    assert is_of_host(plan, Host(image))
    assert not is_of_host(replace(plan, root=str(tmp_path)), Host(image))
    here = Host(Path("/"))
    live = replace(plan, is_image=False, root="/host", machine_id=here.word("/etc/machine-id"))
    assert is_of_host(live, here) == bool(live.machine_id)
    assert is_of_host(replace(live, root="/"), here)
    assert not is_of_host(replace(live, machine_id="0" * 32), here)
    assert not is_of_host(live, here.as_image())

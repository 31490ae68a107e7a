from __future__ import annotations

import pytest

from necroscope.errors import UsageError
from necroscope.model.diagnosis import Diagnosis, Link, Strength
from necroscope.model.finding import Finding, Severity
from necroscope.model.plan import Goal, Treatment
from necroscope.remedies.plan.choose import (
    Choice,
    choose_for_all,
    choose_for_diagnosis,
    choose_for_finding,
    choose_for_remedy,
    choose_for_unit,
    without_absent_cores,
)

ECS = "ecs.service"


def finding(id: str, subject: str = "", remedy: str = "", severity: Severity = Severity.WARNING) -> Finding:
    return Finding(id, severity, f"{id} {subject}".strip(), (), (), subject, remedy)


def diagnosis(symptom: str, *treatments: tuple[str, str], links: tuple[str, ...] = ()) -> Diagnosis:
    chain = tuple(Link(id, "", "", Strength.STRONG, (), "", "") for id in links)
    asked = tuple(Treatment(*one) for one in treatments)
    return Diagnosis("x", "because of it", symptom, chain, (), None, (), (), (), (), asked)


def remedies(choice: Choice) -> list[str]:
    return [f"{one.remedy} {one.subject}".strip() for one in choice.treatments]


def goals(choice: Choice) -> list[str]:
    return [f"{goal.quantity} {goal.subject}".strip() for goal in choice.goals]


ZOMBIES = finding("zombie-memory-cgroups", "", "purge-zombies", Severity.CRITICAL)
LOOP = finding("unit-crash-loop", ECS, "limit-crash-loop")
ORPHAN = finding("unit-orphaned-agent", ECS, "disable-unit")
LEAK = finding("memory-cgroup-leak", ECS)
FULL_CORE = finding("core-saturated", "3", "move-interrupts")
ADVICE = ["reboot", "upgrade-kernel", "move-to-cgroup-v2"]
NIC = diagnosis(
    "nic-reset-20260415T100211.250Z-1208",
    ("limit-crash-loop", ECS),
    ("purge-zombies", ""),
    ("move-interrupts", "3"),
    links=("unit-leaks-cgroups", "zombies-slow-the-kernel", "kernel-work-fills-core", "core-starves-nic"),
)


def test_zombies_are_purged_after_their_leak_is_stopped() -> None:
    found = choose_for_finding([ZOMBIES, LOOP, LEAK], None, ZOMBIES.id)
    assert remedies(found) == [f"limit-crash-loop {ECS}", "purge-zombies", *ADVICE]
    assert goals(found) == ["zombie-growth", "zombies"]
    assert ZOMBIES.summary in found.reasons and LEAK.summary in found.reasons


def test_zombies_whose_leak_nobody_names_are_purged_all_the_same() -> None:
    found = choose_for_finding([ZOMBIES, LOOP], None, ZOMBIES.id)
    assert remedies(found) == ["purge-zombies", *ADVICE]
    assert goals(found) == ["zombies"]


def test_a_leaking_unit_that_nobody_needs_is_disabled() -> None:
    found = choose_for_finding([ZOMBIES, LOOP, LEAK, ORPHAN], None, LEAK.id)
    assert remedies(found)[:2] == [f"disable-unit {ECS}", "purge-zombies"]


def test_a_leaking_unit_that_does_not_loop_has_its_cgroup_emptied() -> None:
    leak = finding("memory-cgroup-leak", "job.service", "clean-before-removal")
    assert remedies(choose_for_finding([leak], None, leak.id))[:2] == [
        "clean-before-removal job.service",
        "purge-zombies",
    ]


def test_what_leaks_and_is_no_unit_leaves_the_zombies_to_purge() -> None:
    leak = finding("memory-cgroup-leak")
    assert remedies(choose_for_finding([leak], None, leak.id)) == ["purge-zombies", *ADVICE]


def test_a_maker_of_cgroups_that_does_not_loop_is_left_alone() -> None:
    leak = finding("memory-cgroup-leak", "docker.service")
    assert remedies(choose_for_finding([leak, LOOP], None, leak.id)) == ["purge-zombies", *ADVICE]


def test_two_leaks_at_once_are_both_stopped_before_the_purge() -> None:
    other = finding("memory-cgroup-leak", "job.service", "clean-before-removal")
    found = choose_for_finding([ZOMBIES, LEAK, other, LOOP], None, ZOMBIES.id)
    assert remedies(found)[:3] == [
        f"limit-crash-loop {ECS}",
        "clean-before-removal job.service",
        "purge-zombies",
    ]


@pytest.mark.parametrize(
    ("findings", "remedy"), [([LOOP], "limit-crash-loop"), ([LOOP, ORPHAN], "disable-unit")]
)
def test_a_crash_loop_is_bounded_unless_nobody_needs_the_unit(findings: list[Finding], remedy: str) -> None:
    found = choose_for_finding(findings, None, LOOP.id)
    assert found.treatments == (Treatment(remedy, ECS),)
    assert Goal("unit-restarts", ECS) in found.goals


def test_a_finding_of_two_subjects_asks_which() -> None:
    other = finding("unit-crash-loop", "b.service", "limit-crash-loop")
    with pytest.raises(UsageError) as error:
        choose_for_finding([LOOP, other], None, LOOP.id)
    assert "necroscope fix unit-crash-loop b.service" in error.value.hint
    assert f"necroscope fix unit-crash-loop {ECS}" in error.value.hint
    chosen = choose_for_finding([LOOP, other], None, LOOP.id, "b.service")
    assert remedies(chosen) == ["limit-crash-loop b.service"]


def test_a_finding_that_is_not_there_says_so_and_what_is() -> None:
    found = choose_for_finding([LOOP], None, "nic-reset")
    assert not found.treatments and not found.goals
    assert found.reasons == ("nic-reset was not found", f"found: {LOOP.summary}")


def test_a_finding_without_a_remedy_says_so() -> None:
    throttled = finding("cpu-throttling")
    found = choose_for_finding([throttled], None, throttled.id)
    assert not found.treatments
    assert found.reasons == (throttled.summary, "no remedy is known for this")


def test_a_full_core_gets_its_root_treated_and_the_stop_gap() -> None:
    found = choose_for_finding([FULL_CORE, ZOMBIES, LEAK, LOOP], NIC, FULL_CORE.id)
    assert remedies(found) == [f"limit-crash-loop {ECS}", "purge-zombies", "move-interrupts 3"]
    assert goals(found)[0] == "saturated-core-seconds"
    assert found.reasons[0] == "because of it"


def test_a_full_core_without_a_diagnosis_gets_the_stop_gap() -> None:
    assert remedies(choose_for_finding([FULL_CORE], None, FULL_CORE.id)) == ["move-interrupts 3"]


def test_a_diagnosis_is_treated_at_its_root_without_a_stop_gap() -> None:
    found = choose_for_diagnosis([FULL_CORE, ZOMBIES, LOOP, ORPHAN], NIC)
    assert remedies(found) == [f"disable-unit {ECS}", "purge-zombies", *ADVICE]
    assert goals(found) == [
        "nic-resets",
        "softirq-delay",
        "saturated-core-seconds",
        "zombies",
        "zombie-growth",
    ]


def test_a_diagnosis_whose_root_is_unknown_gets_the_stop_gap() -> None:
    found = choose_for_diagnosis([], diagnosis("nic-reset-1", ("move-interrupts", "3")))
    assert remedies(found) == ["move-interrupts 3"]
    assert goals(found) == ["nic-resets"]


def test_all_begins_with_the_diagnosis() -> None:
    assert choose_for_all([ZOMBIES, LOOP], NIC) == choose_for_diagnosis([ZOMBIES, LOOP], NIC)


def test_all_takes_the_worst_finding_that_has_a_remedy() -> None:
    unknown = finding("kernel-stall", severity=Severity.CRITICAL)
    idle = finding("unit-orphaned-agent", "idle.service", "disable-unit", Severity.INFO)
    assert remedies(choose_for_all([unknown, LOOP, idle], None)) == [f"limit-crash-loop {ECS}"]
    nothing = choose_for_all([unknown, idle], None)
    assert not nothing.treatments
    assert nothing.reasons == (unknown.summary, "nothing was found that a remedy is for")


def test_a_cure_goes_before_a_graver_stop_gap() -> None:
    reset = finding("nic-reset", "0", "move-interrupts", Severity.CRITICAL)
    assert remedies(choose_for_all([reset, LOOP], None)) == [f"limit-crash-loop {ECS}"]
    assert remedies(choose_for_all([reset], None)) == ["move-interrupts 0"]


def test_a_cause_that_is_elsewhere_is_said_and_not_patched_over() -> None:
    reset = finding("nic-reset", "0", "move-interrupts", Severity.CRITICAL)
    elsewhere = diagnosis("nic-reset-20260415T100211.250Z-1208")
    nothing = choose_for_all([reset], elsewhere)
    assert not nothing.treatments and nothing.reasons[0] == elsewhere.verdict
    asked = choose_for_finding([reset], elsewhere, reset.id)
    assert remedies(asked) == ["move-interrupts 0"] and asked.reasons[0] == elsewhere.verdict


def test_a_unit_gets_what_its_findings_ask_for() -> None:
    assert remedies(choose_for_unit([LOOP, ZOMBIES], None, ECS)) == [f"limit-crash-loop {ECS}"]
    leaking = choose_for_unit([LOOP, ZOMBIES, LEAK], None, ECS)
    assert remedies(leaking) == [f"limit-crash-loop {ECS}", "purge-zombies", *ADVICE]
    assert goals(leaking) == ["zombie-growth", "zombies"]
    assert remedies(choose_for_unit([LOOP, ZOMBIES], NIC, ECS))[:2] == [
        f"limit-crash-loop {ECS}",
        "purge-zombies",
    ]


def test_a_unit_that_nothing_was_found_about_is_disabled_and_that_is_said() -> None:
    found = choose_for_unit([LOOP], None, "b.service")
    assert found == Choice(
        (Treatment("disable-unit", "b.service"),),
        ("nothing was found about b.service",),
        (Goal("unit-runs", "b.service"),),
    )


def test_a_remedy_for_the_wrong_unit_is_judged_by_what_was_found() -> None:
    found = choose_for_remedy([ZOMBIES, LEAK, LOOP], "disable-unit", "b.service")
    assert remedies(found) == ["disable-unit b.service"]
    assert "nothing that was found asks for it" in found.reasons[0]
    assert goals(found) == ["zombie-growth", "zombies"]
    alone = choose_for_remedy([LOOP], "disable-unit", "b.service")
    assert goals(alone) == ["unit-runs b.service"], "a goal is of what is treated"


def test_what_a_remedy_is_for_comes_before_what_else_was_found() -> None:
    reset = finding("nic-reset", "0", "move-interrupts", Severity.CRITICAL)
    assert goals(choose_for_remedy([reset], "purge-zombies", "")) == ["zombies", "nic-resets"]
    assert goals(choose_for_remedy([reset, ZOMBIES], "purge-zombies", "")) == ["zombies", "nic-resets"]


def test_a_remedy_where_nothing_is_wrong_is_judged_by_itself() -> None:
    assert goals(choose_for_remedy([], "disable-unit", ECS)) == [f"unit-runs {ECS}"]
    assert goals(choose_for_remedy(None, "limit-crash-loop", ECS)) == [f"unit-restarts {ECS}"]
    assert goals(choose_for_remedy([], "reboot", "")) == []


def test_a_remedy_that_is_asked_for_has_its_reasons_and_judges_the_rest_too() -> None:
    found = choose_for_remedy([FULL_CORE, ZOMBIES, LOOP, ORPHAN], "limit-crash-loop", ECS)
    assert found.reasons == (LOOP.summary, ORPHAN.summary)
    assert goals(found) == ["saturated-core-seconds", "zombies"]
    alone = choose_for_remedy([LOOP], "limit-crash-loop", ECS)
    assert goals(alone) == [f"unit-restarts {ECS}"]


def test_advice_is_for_zombies() -> None:
    assert choose_for_remedy([ZOMBIES], "upgrade-kernel", "").reasons == (ZOMBIES.summary,)


def test_a_core_that_is_not_online_is_left_alone_and_told() -> None:
    wanted = (Treatment("move-interrupts", "1"), Treatment("move-interrupts", "37"))
    choice = without_absent_cores(Choice(wanted, ("why",), ()), (0, 1))
    assert choice.treatments == (Treatment("move-interrupts", "1"),)
    assert choice.reasons == ("why", "core 37 is not online: it serves no interrupt")
    assert without_absent_cores(choice, (0, 1)) == choice

"""The same line of a driver with different causes; tests/real/test_diagnose.py makes them for real."""

from __future__ import annotations

from dataclasses import replace

import pytest

from necroscope.diagnosis.diagnose import diagnose
from necroscope.diagnosis.scene import Scene
from necroscope.model.diagnosis import Strength
from tests.diagnosis.scenes import (
    KUBELET,
    NIC_LINE,
    QUEUES,
    delays,
    interrupts,
    ledger,
    reclaim,
    scene_of,
    softirqs,
    tasks,
    units,
    zombies,
)

SECONDS = 12
MOMENTS = SECONDS + 1
QUIET = ["idle"] * SECONDS
FULL = ["idle"] * 3 + ["system"] * 5 + ["idle"] * 4  # until the line comes
IN_USER = ["idle"] * 3 + ["user"] * 5 + ["idle"] * 4
KUBELET_TASKS = tasks(*["kubelet"] * MOMENTS)
CALM = reclaim(*[0] * MOMENTS)


def incident(**changes: object) -> Scene:
    sources = {
        "culprit": KUBELET,
        "zombies": zombies(*[68_440] * MOMENTS),
        "ledger": ledger(*range(0, 60 * MOMENTS, 60)),
        "units": units(*range(100, 100 + MOMENTS)),
        "tasks": KUBELET_TASKS,
        "delays": delays(*[0.0] * 9, *[3.8] * (MOMENTS - 9)),
        "reclaim": CALM,
        "interrupts": interrupts(*range(0, 100 * MOMENTS, 100)),
        "softirqs": softirqs(*[50] * MOMENTS),
    }
    return scene_of(FULL, **{**sources, **changes})  # type: ignore[arg-type]


def test_the_incident_is_followed_from_the_unit_to_the_reset() -> None:
    found = diagnose(incident(), NIC_LINE)
    assert found.conclusion == "starved-core"
    assert [link.id for link in found.chain] == [
        "unit-leaks-cgroups",
        "zombies-slow-the-kernel",
        "kernel-work-fills-core",
        "core-starves-nic",
    ]
    assert "ecs.service" in found.chain[0].cause
    assert "kubelet" in found.chain[1].effect and "mem_cgroup_iter" in found.chain[1].effect
    assert "core 0" in found.chain[2].effect
    assert "eth0 queue 0" in found.chain[3].effect
    assert found.missing == () and found.culprit == KUBELET
    assert found.chain[3].strength is Strength.STRONG
    assert {rival.id for rival in found.ruled_out} == {
        "network-fault",
        "user-space-load",
        "idle-core",
        "other-core",
        "memory-pressure",
        "allocator",
        "steal",
    }
    assert not found.standing and not found.not_checked
    assert any("systemctl disable --now ecs.service" in step for step in found.advice)


def test_zombies_that_are_older_than_the_ledger_leave_a_hole_in_the_chain() -> None:
    found = diagnose(incident(ledger=ledger(*[0] * MOMENTS)), NIC_LINE)
    assert found.chain[0].id == "zombies-slow-the-kernel"
    assert found.missing == ("who leaked the 68,440 zombies: they are older than the ledger",)


def test_without_a_ledger_the_leak_is_not_guessed() -> None:
    scene = incident()
    moments = tuple(
        replace(m, readings={name: r for name, r in m.readings.items() if name != "cgroup-ledger"})
        for m in scene.segment.moments
    )
    found = diagnose(replace(scene, segment=replace(scene.segment, moments=moments)), NIC_LINE)
    assert found.chain[0].id == "zombies-slow-the-kernel"
    assert "cgroup-ledger: not recorded" in found.missing[0]


def test_a_leak_by_a_runtime_that_a_unit_asks_for_is_known_by_its_rate() -> None:
    # docker makes the cgroups; each restart of ecs.service asks it for one.
    by_docker = ledger(*range(0, 2 * MOMENTS, 2), unit="docker.service", creator="runc")
    restarts = units(*range(0, 2 * MOMENTS, 2))
    found = diagnose(incident(ledger=by_docker, units=restarts), NIC_LINE)
    assert found.chain[0].id == "unit-leaks-cgroups"
    assert "ecs.service" in found.chain[0].cause
    assert any("one came with each restart" in str(fact.value) for fact in found.chain[0].evidence)


def test_a_leak_whose_rate_has_nothing_to_do_with_the_restarts_is_its_own() -> None:
    by_docker = ledger(*range(0, 60 * MOMENTS, 60), unit="docker.service", creator="runc")
    found = diagnose(incident(ledger=by_docker), NIC_LINE)
    assert found.chain[0].id == "owner-leaks-cgroups"
    assert "docker.service" in found.chain[0].cause


def test_a_full_core_without_zombies_has_the_process_as_its_root() -> None:
    found = diagnose(incident(zombies=zombies(*[10] * MOMENTS)), NIC_LINE)
    assert found.conclusion == "starved-core"
    assert found.chain[0].id == "kernel-work-fills-core"
    assert found.missing == ()


def test_a_culprit_that_walks_nothing_is_not_blamed_on_zombies() -> None:
    copying = replace(KUBELET, process="dd", function="clear_user")
    found = diagnose(incident(culprit=copying), NIC_LINE)
    assert found.chain[0].id == "kernel-work-fills-core" and "zombie" not in found.verdict


def test_without_samples_the_function_is_missing_and_the_process_known() -> None:
    found = diagnose(replace(incident(), rank=None), NIC_LINE)
    assert found.conclusion == "starved-core" and found.culprit is None
    assert [link.id for link in found.chain] == ["core-starves-nic"]
    assert "what kept core 0 in the kernel" in found.missing[0] and "samples" in found.missing[0]
    assert "kubelet" in found.verdict


def test_a_core_that_ran_its_softirqs_makes_the_link_weak() -> None:
    silent = replace(NIC_LINE, napi_scheduled=None)
    ran = {"delays": delays(*[0.0] * MOMENTS), "softirqs": softirqs(*range(MOMENTS))}
    found = diagnose(incident(**ran), silent)
    assert found.chain[-1].strength is Strength.FAIR, "the driver does not say, and no thread waited"


def test_a_line_without_a_queue_has_candidates() -> None:
    found = diagnose(incident(), replace(NIC_LINE, queue=None))
    assert found.conclusion == "starved-core"
    assert found.chain[-1].strength is Strength.WEAK
    assert any("which core" in text for text in found.missing)
    (ranked,) = [fact.value for fact in found.chain[-1].evidence if fact.name.startswith("candidates")]
    assert str(ranked).startswith("0 ("), "the full one first"


@pytest.mark.parametrize(
    ("scene", "line", "conclusion", "says"),
    [
        (scene_of(IN_USER, tasks=tasks(*["train"] * MOMENTS)), NIC_LINE, "user-space-load", "train"),
        (scene_of(QUIET, FULL), NIC_LINE, "other-core", "core 1"),
        (scene_of(QUIET, zombies=zombies(*[5000] * MOMENTS)), NIC_LINE, "zombies-without-cost", "5,000"),
        (
            scene_of(QUIET, zombies=zombies(*[9] * MOMENTS), units=units(*range(MOMENTS))),
            NIC_LINE,
            "crash-loop-without-leak",
            "ecs.service",
        ),
        (scene_of(QUIET, zombies=zombies(*[9] * MOMENTS)), NIC_LINE, "healthy-node", "0% busy"),
        (scene_of(["steal=60,user=40"] * SECONDS), NIC_LINE, "stolen-core", "60% stolen"),
        (
            scene_of(QUIET, reclaim=reclaim(*range(0, 90_000 * MOMENTS, 90_000))),
            NIC_LINE,
            "memory-pressure",
            "waited for memory",
        ),
        (incident(), replace(NIC_LINE, napi_scheduled=False), "napi-not-waiting", "not waiting"),
    ],
)
def test_other_causes_get_other_answers(scene: Scene, line: object, conclusion: str, says: str) -> None:
    found = diagnose(scene, line)  # type: ignore[arg-type]
    assert found.conclusion == conclusion, found.verdict
    assert says in found.verdict
    assert not found.chain, "nothing leads to it"


def test_the_core_that_the_driver_names_wins_over_the_map() -> None:
    found = diagnose(scene_of(QUIET, FULL, culprit=KUBELET), replace(NIC_LINE, core=1))
    assert found.conclusion == "starved-core" and "core 1" in found.verdict


def test_an_interrupt_on_several_cores_is_ranked() -> None:
    spread = tuple(replace(queue, cores=(0, 1)) for queue in QUEUES)
    found = diagnose(scene_of(QUIET, FULL, culprit=KUBELET, queues=[spread, spread]), NIC_LINE)
    assert found.conclusion == "starved-core" and "core 1" in found.verdict
    assert found.chain[-1].strength is Strength.WEAK

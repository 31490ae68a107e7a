"""The same line of a driver with different causes; tests/real/test_diagnose.py makes them for real."""

from __future__ import annotations

from dataclasses import replace

import pytest

from necroscope.diagnosis.diagnose import diagnose
from necroscope.diagnosis.scene import Scene
from necroscope.model.diagnosis import Strength
from necroscope.model.event import Event
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
from tests.segments import BEGIN_NS

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
        "ledger": ledger(*range(0, 300 * MOMENTS, 300)),
        "units": units(*range(100, 100 + 5 * MOMENTS, 5)),
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
    assert found.missing == ("who leaked the 68,440 zombies: most of them are older than the ledger",)
    assert "ecs.service" not in found.verdict and "ecs.service" not in " ".join(found.advice)


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
    by_docker = ledger(*range(0, 5 * MOMENTS, 5), unit="docker.service", creator="runc")
    found = diagnose(incident(ledger=by_docker), NIC_LINE)
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


RAN = {"delays": delays(*[0.0] * MOMENTS), "softirqs": softirqs(*range(MOMENTS))}


def test_a_full_core_whose_softirqs_ran_does_not_explain_a_stall() -> None:
    silent = replace(NIC_LINE, napi_scheduled=None)
    found = diagnose(incident(**RAN), silent)
    assert found.conclusion == "full-core-served" and "ksoftirqd waited 0.00 s" in found.verdict
    assert not found.chain and "network-fault" in {rival.id for rival in found.standing}


def test_a_driver_that_the_counters_contradict_is_doubted() -> None:
    found = diagnose(incident(**RAN), NIC_LINE)
    assert found.conclusion == "starved-core"
    assert "stalled while its core 0" in found.verdict and "counters do not show it" in found.verdict
    assert found.chain[-1].strength is Strength.FAIR


def test_a_line_that_a_program_wrote_is_called_that() -> None:
    found = diagnose(incident(), replace(NIC_LINE, from_user_space=True))
    assert "written by a program" in found.verdict


def test_a_core_that_had_time_since_is_not_blamed() -> None:
    early = ["system"] * 6 + ["idle"] * 6  # two free seconds before a line of five seconds without NAPI
    found = diagnose(scene_of(early, culprit=KUBELET, zombies=zombies(*[9] * MOMENTS)), NIC_LINE)
    assert found.conclusion == "healthy-node" and "though the driver says" in found.verdict


def test_four_seconds_do_not_explain_a_stall_of_fifteen() -> None:
    short = ["idle"] * 4 + ["system"] * 4 + ["idle"] * 4
    assert diagnose(scene_of(short), NIC_LINE).conclusion == "starved-core"
    assert diagnose(scene_of(short), replace(NIC_LINE, stall_seconds=15.0)).conclusion != "starved-core"


def test_a_core_full_of_softirqs_is_not_kept_from_them() -> None:
    storm = ["idle"] * 3 + ["softirq"] * 5 + ["idle"] * 4
    found = diagnose(scene_of(storm, culprit=replace(KUBELET, function="net_rx_action")), NIC_LINE)
    assert found.conclusion == "softirq-load" and not found.chain


@pytest.mark.parametrize(
    ("function", "others"),
    [
        ("cgroup_rstat_flush_locked", ()),  # visits what has changed, and no zombie
        ("shrink_folio_list", ("shrink_node",)),  # works on pages; the walk is around it
        ("clear_user", ()),
    ],
)
def test_work_that_visits_no_zombie_is_not_blamed_on_them(function: str, others: tuple[str, ...]) -> None:
    culprit = replace(KUBELET, function=function, share=0.9)
    around = [replace(culprit, function=name, share=0.95) for name in others]
    found = diagnose(incident(culprit=culprit, suspects=around), NIC_LINE)
    assert found.chain[0].id == "kernel-work-fills-core" and "zombie" not in found.verdict


def test_a_statistics_file_that_is_not_walked_on_this_kernel_is_not_blamed() -> None:
    scene = incident(culprit=replace(KUBELET, function="memory_stat_show"))
    for kernel, first in (("5.0.0-37-generic", "unit-leaks-cgroups"), ("6.18.1", "kernel-work-fills-core")):
        labels = replace(scene.segment.labels, kernel=kernel)
        found = diagnose(replace(scene, segment=replace(scene.segment, labels=labels)), NIC_LINE)
        assert found.chain[0].id == first, kernel


def test_reclaim_while_memory_is_short_is_not_the_fault_of_zombies() -> None:
    searching = replace(KUBELET, process="kswapd0", function="shrink_node")
    short = reclaim(*[0] * MOMENTS, available=64 << 20)
    found = diagnose(incident(culprit=searching, reclaim=short), NIC_LINE)
    assert found.chain[0].id == "shortage-makes-reclaim"
    assert "memory was short" in found.verdict and "zombie" not in found.verdict
    assert "memory-pressure" in {rival.id for rival in found.standing}


def test_a_few_zombies_among_many_cgroups_in_use_are_not_the_reason() -> None:
    found = diagnose(incident(zombies=zombies(*[1_000] * MOMENTS, in_use=100_000)), NIC_LINE)
    assert found.chain[0].id == "kernel-work-fills-core" and "zombie" not in found.verdict


def test_a_leak_that_cannot_have_made_the_zombies_is_not_their_root() -> None:
    ten_days_ns = 10 * 86400 * 10**9
    slow = ledger(*range(20, 20 + MOMENTS), began_ns=BEGIN_NS - ten_days_ns)
    found = diagnose(incident(ledger=slow), NIC_LINE)
    assert found.chain[0].id == "zombies-slow-the-kernel"
    assert "older than the ledger" in found.missing[0] and "ecs.service" not in found.verdict


def test_restarts_after_the_line_are_not_its_cause() -> None:
    later = units(*[100] * 11, 150, 200)
    found = diagnose(incident(units=later), NIC_LINE)
    assert found.chain[0].id == "owner-leaks-cgroups"


def test_a_line_without_a_queue_has_candidates() -> None:
    found = diagnose(incident(), replace(NIC_LINE, queue=None))
    assert found.conclusion == "maybe-starved-core" and "may have stalled" in found.verdict
    assert found.chain[-1].strength is Strength.WEAK
    assert any("which core" in text for text in found.missing)
    (ranked,) = [fact.value for fact in found.chain[-1].evidence if fact.name.startswith("candidates")]
    assert str(ranked).startswith("0 ("), "the full one first"
    assert not {"network-fault", "other-core"} & {rival.id for rival in found.ruled_out}


def test_a_leak_is_that_of_its_own_unit() -> None:
    event = Event("cgroup-leak", NIC_LINE.time_ns, "ledger", "...", unit="ecs.service")
    found = diagnose(incident(), event)
    assert found.conclusion == "leak" and "ecs.service leaks" in found.verdict
    assert not any("NAPI" in row.reason for row in found.not_checked)


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
            "memory was short",
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
    assert found.conclusion == "maybe-starved-core" and "core 1" in found.verdict
    assert found.chain[-1].strength is Strength.WEAK


def test_an_interrupt_that_was_moved_just_before_is_not_overlooked() -> None:
    moved = tuple(replace(queue, cores=(1,)) for queue in QUEUES)
    maps = [QUEUES] * 8 + [moved] * 5
    found = diagnose(scene_of(FULL, culprit=KUBELET, queues=maps), NIC_LINE)
    assert found.conclusion == "maybe-starved-core" and "core 0" in found.verdict


def test_an_interrupt_that_another_core_took_is_not_overlooked() -> None:
    # The map is read once a minute, the interrupts every second.
    found = diagnose(scene_of(QUIET, FULL, interrupts=interrupts(*range(MOMENTS), core=1)), NIC_LINE)
    assert found.conclusion == "maybe-starved-core" and "core 1" in found.verdict


def test_a_line_that_names_the_bus_address_only_finds_its_queue() -> None:
    found = diagnose(incident(), replace(NIC_LINE, device="", bus="0000:00:05.0"))
    assert found.conclusion == "starved-core" and "core 0" in found.verdict

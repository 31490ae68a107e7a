"""The same line of a driver with different causes; tests/real/test_diagnose.py makes them for real."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from necroscope.diagnosis.diagnose import diagnose
from necroscope.diagnosis.scene import Scene
from necroscope.model.diagnosis import Strength
from necroscope.model.event import Event
from necroscope.model.reading import Absence, Reading
from tests.diagnosis.scenes import (
    HELD_BACK,
    KUBELET,
    NIC_LINE,
    QUEUES,
    delays,
    interrupts,
    ledger,
    reclaim,
    scene_of,
    sent,
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
    assert any(step.command == "necroscope fix disable-unit ecs.service" for step in found.advice)


def test_the_links_of_a_chain_ask_for_their_remedies_the_root_first() -> None:
    asked = [(one.remedy, one.subject) for one in diagnose(incident(), NIC_LINE).treatments]
    assert asked == [
        ("limit-crash-loop", "ecs.service"),
        ("purge-zombies", ""),
        ("reboot", ""),
        ("upgrade-kernel", ""),
        ("move-to-cgroup-v2", ""),
        ("move-interrupts", "0"),
    ]


def test_what_does_not_explain_a_symptom_asks_for_no_remedy() -> None:
    idle = diagnose(scene_of(QUIET, zombies=zombies(*[68_440] * MOMENTS)), NIC_LINE)
    assert idle.conclusion == "zombies-without-cost" and not idle.treatments


def test_zombies_that_are_older_than_the_ledger_leave_a_hole_in_the_chain() -> None:
    found = diagnose(incident(ledger=ledger(*[0] * MOMENTS)), NIC_LINE)
    assert found.chain[0].id == "zombies-slow-the-kernel"
    assert found.missing == ("who leaked the 68,440 zombies: most of them are older than the ledger",)
    assert "ecs.service" not in found.verdict and "ecs.service" not in " ".join(map(str, found.advice))


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


def test_a_line_that_a_program_wrote_is_called_that_and_proves_nothing() -> None:
    found = diagnose(incident(), replace(NIC_LINE, from_user_space=True))
    assert found.conclusion == "starved-core" and "written by a program" in found.verdict
    assert "is said to have stalled" in found.verdict and "driver" not in found.verdict
    assert found.chain[-1].strength is Strength.FAIR, "whatever the counters show"
    assert "the line says it was stuck" in found.chain[-1].effect
    (why,) = [rival.why for rival in found.ruled_out if rival.id == "network-fault"]
    assert "the counters show" in why and "says" not in why


def test_a_line_of_a_driver_that_the_device_does_not_have_proves_nothing() -> None:
    found = diagnose(incident(), replace(NIC_LINE, driver="igb", device_driver="ena"))
    assert found.conclusion == "starved-core" and found.chain[-1].strength is Strength.FAIR
    against = {one.name: one.value for one in found.chain[-1].evidence}
    assert against["against it: the driver of eth0"] == "ena, and the line is one of igb"


def test_a_line_that_a_program_wrote_rules_nothing_out() -> None:
    found = diagnose(incident(**RAN), replace(NIC_LINE, from_user_space=True))
    assert found.conclusion == "starved-core" and "The line says" in found.verdict
    assert "network-fault" in {rival.id for rival in found.standing}


LATE_LINE = replace(
    NIC_LINE, time_ns=BEGIN_NS + 18 * 10**9, from_user_space=True, driver="ena", stall_seconds=5.1
)
LONG = 24


def idle_queue(**changes: object) -> Scene:
    """The same with a longer recording, in which nothing is sent or completed at all."""
    full = ["idle"] * 13 + ["system"] * 5 + ["idle"] * (LONG - 19)
    sources = {"interrupts": interrupts(*[7] * LONG), "counters": sent(*[9] * LONG)}
    waited = {"softirqs": softirqs(*[50] * LONG), "delays": delays(*[0.0] * 16, *[3.8] * (LONG - 16))}
    return scene_of(full, culprit=KUBELET, **{**sources, **waited, **changes})  # type: ignore[arg-type]


def test_counters_that_contradict_a_line_of_a_program_are_told() -> None:
    virtio = tuple(replace(queue, driver="virtio_net") for queue in QUEUES)
    found = diagnose(idle_queue(queues=[virtio, virtio]), replace(LATE_LINE, device_driver="virtio_net"))
    assert found.conclusion == "starved-core" and found.chain[-1].strength is Strength.FAIR
    assert "stalled, while its core 0" in found.verdict and "the queue was idle" in found.verdict
    against = {one.name: one.value for one in found.chain[-1].evidence if one.name.startswith("against it")}
    assert against["against it: the driver of eth0"] == "virtio_net, and the line is one of ena"
    assert against["against it: interrupts of queue 0 (irq 39) in 18 s"] == 0
    assert against["against it: sent by eth0 in 18 s"] == "nothing, by its driver's counters"
    (why,) = [rival.why for rival in found.standing if rival.id == "network-fault"]
    assert "the queue was idle" in why


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"interrupts": interrupts(*[7] * 3, *[8] * (LONG - 3))}, LATE_LINE),
        ({"counters": sent(*[9] * 3, *[10] * (LONG - 3))}, LATE_LINE),
        ({"counters": [(), *sent(*[9] * (LONG - 1))]}, LATE_LINE),
        ({}, replace(LATE_LINE, from_user_space=False)),
    ],
    ids=["completed", "sent", "not counted", "the kernel says so"],
)
def test_a_queue_is_idle_only_where_nothing_moved(changes: dict[str, object], line: Event) -> None:
    found = diagnose(idle_queue(**changes), line)
    assert "idle" not in found.verdict
    assert "network-fault" in {rival.id for rival in found.ruled_out}


def test_why_the_counters_of_a_queue_tell_nothing_is_said() -> None:
    def why(line: Event, **sources: object) -> str:
        found = diagnose(incident(**sources), line)
        return next(row.reason for row in found.not_checked if row.reason.startswith("whether NET_RX ran"))

    assert "irq 39 of queue 0 did not come" in why(NIC_LINE, interrupts=interrupts(*[7] * MOMENTS))
    assert "the queue's interrupt is not known" in why(replace(NIC_LINE, queue=None))
    assert "softirqs: read only once" in why(NIC_LINE, softirqs=softirqs(1))


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


@pytest.mark.parametrize(
    ("rule", "conclusion"), [("oom-kill", "memory-pressure"), ("oom-kill-memory-cgroup", "healthy-node")]
)
def test_a_kill_at_the_limit_of_a_cgroup_is_no_shortage_of_the_node(rule: str, conclusion: str) -> None:
    kill = Event("oom-kill", NIC_LINE.time_ns - 2 * 10**9, rule, "...", process="worker", pid=77)
    scene = scene_of(QUIET, zombies=zombies(*[9] * MOMENTS), reclaim=reclaim(*[0] * MOMENTS))
    found = diagnose(replace(scene, events=(kill, NIC_LINE)), NIC_LINE)
    assert found.conclusion == conclusion, found.verdict


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


@pytest.mark.parametrize(
    ("scene", "line", "why"),
    [
        (scene_of(QUIET), NIC_LINE, "core 0 had time for its network work, though the driver says"),
        (scene_of(["softirq=90,user=10"] * SECONDS), NIC_LINE, "core 0 was full of softirqs"),
        (incident(), replace(NIC_LINE, napi_scheduled=False), "no network work was waiting for it"),
        (
            incident(**RAN),
            replace(NIC_LINE, napi_scheduled=None),
            "core 0 was full, but its network work did not wait (ksoftirqd waited 0.00 s)",
        ),
    ],
)
def test_why_the_network_is_not_ruled_out_is_told_as_it_was(scene: Scene, line: Event, why: str) -> None:
    found = diagnose(scene, line)
    (network,) = [rival.why for rival in found.standing if rival.id == "network-fault"]
    assert why in network


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


def test_a_node_that_a_failure_keeps_from_harm_is_not_called_healthy() -> None:
    scene = scene_of(QUIET, zombies=zombies(*[9] * MOMENTS), held_back=[(HELD_BACK,)])
    found = diagnose(scene, NIC_LINE)
    assert found.conclusion == "healthy-by-accident" and not found.chain
    assert "ecs.service is enabled and does not run only because node-setup.service failed" in found.verdict
    assert [(one.unit, one.because) for one in found.by_accident] == [
        ("ecs.service", "node-setup.service failed (exit 1)")
    ]


def test_what_is_held_back_is_told_beside_every_other_conclusion() -> None:
    found = diagnose(incident(held_back=[(HELD_BACK,)]), NIC_LINE)
    assert found.conclusion == "starved-core" and [one.unit for one in found.by_accident] == ["ecs.service"]


def test_what_was_mended_before_the_symptom_counts_no_more() -> None:
    scene = scene_of(QUIET, zombies=zombies(*[9] * MOMENTS), held_back=[(HELD_BACK,), *[()] * (MOMENTS - 1)])
    found = diagnose(scene, NIC_LINE)
    assert (found.conclusion, found.by_accident) == ("healthy-node", ())


def test_where_systemd_did_not_answer_that_is_not_checked() -> None:
    absent: Reading[Any] = Reading(absence=Absence.NOT_SUPPORTED, detail="no systemd answers on this host")
    scene = scene_of(QUIET, zombies=zombies(*[9] * MOMENTS), held_back=[absent])
    found = diagnose(scene, NIC_LINE)
    assert (found.conclusion, found.by_accident) == ("healthy-node", ())
    assert any("which units a failure keeps from starting" in row.reason for row in found.not_checked)

from __future__ import annotations

from collections import Counter

from necroscope.server.one_file.range_page import MOST_EVENTS, worst_events
from necroscope.server.questions.events import Events, RecordedEvent

SECOND_US = 1_000_000


def event(kind: str, second: int, core: int | None = 0) -> RecordedEvent:
    return RecordedEvent(f"{kind}-{second}", second * SECOND_US, kind, "", core, None, None, "")


def events(*some: RecordedEvent) -> Events:
    ordered = sorted(some, key=lambda one: one.time_us)
    return Events(ordered, 0, dict(Counter(one.kind for one in some)), [])


def test_rare_kinds_come_first_and_of_each_the_newest() -> None:
    resets = [event("nic-reset", second) for second in (100, 200)]
    saturated = [event("core-saturated", second) for second in range(1000, 1100, 10)]
    chosen = worst_events(events(*resets, *saturated), None)
    assert len(chosen) == MOST_EVENTS
    assert [one.id for one in chosen[:4]] == [
        "nic-reset-200",
        "core-saturated-1090",
        "nic-reset-100",
        "core-saturated-1080",
    ]


def test_several_lines_about_one_stall_are_one() -> None:
    chosen = worst_events(
        events(event("nic-reset", 100), event("nic-reset", 102), event("nic-reset", 101, 7)), None
    )
    assert sorted(one.id for one in chosen) == ["nic-reset-101", "nic-reset-102"]


def test_what_says_nothing_about_a_core_is_not_among_them() -> None:
    assert (
        worst_events(events(event("unit-restart", 1), event("user-mark", 2), event("cgroup-leak", 3)), None)
        == []
    )


def test_what_the_diagnosis_explains_is_the_first() -> None:
    symptom = event("nic-reset", 100, 5)
    chosen = worst_events(events(event("nic-reset", 100, None), event("oom-kill", 300)), symptom)
    assert chosen[0] == symptom
    assert event("nic-reset", 100, None) in chosen, "a click in the overview asks for all cores"

"""What is common to hosts: the counting, without samples."""

from __future__ import annotations

import random

import pytest
from scipy import stats

from necroscope.fleet.questions.culprit_common import (
    BY_CHANCE,
    chance_of_host,
    common_name,
    common_suspects,
    least_events,
)
from necroscope.model.culprit import Kind, Ranking, Suspect, Way


def suspect(
    process: str, function: str = "", *, is_significant: bool = True, share: float = 0.5, way: Way = ""
) -> Suspect:
    kind: Kind = "process" if not function else "pair" if process else "function"
    way = way or ("inclusive" if function else "")
    return Suspect(kind, process, function, way, share, 0.01, share / 0.01, 6, 1e-6, is_significant)


def ranking(*suspects: Suspect, culprit: Suspect | None = None, compared: int = 300) -> Ranking:
    return Ranking((), 6, 60, 1, compared, suspects, culprit)


@pytest.mark.parametrize("events", [1, 2, 3, 10, 50, 200])
def test_chance_on_a_host_with_many_events(events: int) -> None:
    least = least_events(events)
    tail = stats.binom.sf(least - 1, events, BY_CHANCE)
    assert tail <= BY_CHANCE * 1.000001 < stats.binom.sf(least - 2, events, BY_CHANCE)
    assert chance_of_host(events) == pytest.approx(tail)


@pytest.mark.parametrize(
    ("process", "name"),
    [
        ("ksoftirqd/13", "ksoftirqd/*"),
        ("kworker/3:1-events", "kworker/*"),
        ("kworker/u8:2", "kworker/*"),
        ("loader-17", "loader-*"),
        ("worker:3", "worker:*"),
        ("kubelet", "kubelet"),
        ("python3.11", "python3.11"),
        ("ena-monitor", "ena-monitor"),
    ],
)
def test_names_without_numbers(process: str, name: str) -> None:
    assert common_name(process) == name


def test_threads_and_functions_that_are_only_numbered_are_one() -> None:
    rankings = []
    for n in range(4):
        one = suspect(f"kworker/{n}:1-events", f"css_free.isra.{n}")
        rankings.append((f"node-{n}", ranking(one, culprit=one)))
    _, culprit = common_suspects(rankings)
    assert culprit
    assert (culprit.process, culprit.function, culprit.hosts) == ("kworker/*", "css_free", 4)


def test_a_host_with_a_hundred_events_is_one_host() -> None:
    loud = [("loud", ranking(suspect("kubelet"), culprit=suspect("kubelet"))) for _ in range(100)]
    quiet = [(f"node-{n}", ranking()) for n in range(9)]
    suspects, culprit = common_suspects([*loud, *quiet])
    assert culprit is None
    assert (suspects[0].events, suspects[0].hosts, suspects[0].of_hosts) == (100, 1, 10)
    assert suspects[0].share == pytest.approx(0.05)


def test_a_few_of_many_events_are_chance_on_that_host() -> None:
    rankings = [
        (f"node-{host}", ranking(*[suspect("cron")] * (event < 2)))
        for host in range(5)
        for event in range(40)
    ]
    suspects, culprit = common_suspects(rankings)
    assert (suspects, culprit) == ([], None)


def test_the_deepest_function_that_explains_it_on_most_hosts() -> None:
    process, outer, inner = (suspect("kubelet", name) for name in ("", "seq_read", "nr_lru_pages"))
    rankings = [(f"node-{n}", ranking(process, outer, inner, culprit=inner)) for n in range(6)]
    assert common_suspects(rankings)[1] == common_suspects(rankings)[0][0]
    culprit = common_suspects(rankings)[1]
    assert culprit
    assert culprit.function == "nr_lru_pages"


def test_functions_of_other_names_elsewhere_leave_the_process() -> None:
    rankings = []
    for n in range(9):
        inner = suspect("kubelet", f"walk_{'abc'[n % 3]}")
        rankings.append((f"node-{n}", ranking(suspect("kubelet"), inner, culprit=inner)))
    culprit = common_suspects(rankings)[1]
    assert culprit
    assert (culprit.kind, culprit.process, culprit.hosts) == ("process", "kubelet", 9)


def test_chance_alone_names_nobody() -> None:
    """200 fleets of 20 hosts, each event with somebody by chance as often as was measured."""
    rng = random.Random(5)
    alarms = 0
    for _ in range(200):
        rankings = [
            (f"node-{host}", ranking(*[suspect(f"p{rng.randrange(30)}")] * (rng.random() < BY_CHANCE)))
            for host in range(20)
            for _ in range(rng.randrange(1, 4))
        ]
        alarms += common_suspects(rankings)[1] is not None
    assert alarms <= 2


def test_nothing_compared() -> None:
    assert common_suspects([]) == ([], None)

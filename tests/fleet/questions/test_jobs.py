from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from necroscope.fleet.engine.engine import LocalEngine
from necroscope.fleet.questions.jobs import Gathered, Sought, ask_jobs, conclude_jobs, gathered, sort_jobs
from necroscope.fleet.questions.jobs_gathered import NodeEvent, Recorded, gather_identities
from necroscope.fleet.questions.jobs_window import default_window, job_numbers, overlap_us
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.model.fleet.job import ENDED, SUCCEEDED, Blame, Job, Jobs
from tests.fleet.questions.jobs_tables import BEGIN, HOUR, SECOND, a_job, write_tables

DAY = (BEGIN, BEGIN + 24 * HOUR)
NIC = "nic-reset"
KEY_ERROR = 'Traceback (most recent call last):\n  File "train.py", line 9\n    x["loss"]\nKeyError: \'loss\''
NOON = BEGIN + 12 * HOUR
SOUGHT = Sought(DAY, (NIC,))


def ask(tables: FleetTables, jobs: list[Job], **words: object) -> Jobs:
    return ask_jobs(tables, LocalEngine(), jobs, replace(SOUGHT, **words))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> FleetTables:
    """Two hosts that were recorded all day, and one until noon; an event at noon on the first."""
    return write_tables(
        tmp_path_factory.mktemp("fleet"),
        {"a": [DAY], "b": [DAY], "c": [(BEGIN, NOON)]},
        [("a", NOON, NIC), ("b", NOON + HOUR, "soft-lockup"), ("b", BEGIN + HOUR, NIC)],
    )


@pytest.mark.parametrize(
    ("seconds", "blame"),
    [(10, Blame.NODE), (30, Blame.NODE), (31, Blame.UNKNOWN), (-5, Blame.NODE), (-6, Blame.UNKNOWN)],
)
def test_the_window_is_30_s_before_the_end_and_5_after(
    tables: FleetTables, seconds: int, blame: Blame
) -> None:
    found = ask(tables, [a_job("j", NOON + seconds * SECOND, ["a", "b"])])
    (one,) = found.blames
    assert one.blame == blame
    if blame == Blame.NODE:
        assert (one.host, one.kind, one.seconds_before) == ("a", NIC, seconds)
        assert one.event == f"nic-reset-{NOON}-a"
        assert found.attributed == found.with_event == 1
        assert one.by_chance == pytest.approx(70 / 86400)
        assert found.p == pytest.approx(70 / 86400)
        assert found.beyond_chance
    else:
        assert not found.beyond_chance and found.p == 1


def test_the_window_may_be_longer(tables: FleetTables) -> None:
    jobs = [a_job("j", NOON + 100 * SECOND, ["a"])]
    assert ask(tables, jobs, window=default_window(120)).attributed == 1
    assert ask(tables, jobs).attributed == 0


def test_a_job_that_failed_by_itself_is_not_put_down_to_an_event(tables: FleetTables) -> None:
    jobs = [a_job("own", NOON + 3 * SECOND, ["a"], message=KEY_ERROR)]
    found = ask(tables, jobs)
    (one,) = found.blames
    assert (one.blame, one.sign) == (Blame.OWN, "own-exception")
    assert "KeyError: 'loss'" in one.sentence and "chance" in one.sentence
    assert (found.with_event, found.own, found.attributed, found.expected) == (1, 1, 0, 0)
    assert not found.beyond_chance


def test_what_points_to_a_node_needs_an_event(tables: FleetTables) -> None:
    jobs = [a_job("lost", NOON + HOUR, ["a"], message="ray.exceptions.NodeDiedError: gone")]
    (one,) = ask(tables, jobs).blames
    assert one.blame == Blame.UNKNOWN
    assert one.sentence == (
        "no event on a from 30 s before to 5 s after its end: ray.exceptions.NodeDiedError: gone"
    )


def test_only_the_kinds_asked_for_count(tables: FleetTables) -> None:
    jobs = [a_job("j", NOON + HOUR + SECOND, ["b"])]
    assert ask(tables, jobs).attributed == 0
    assert ask(tables, jobs, kinds=("soft-lockup",)).attributed == 1


@pytest.mark.parametrize(
    ("job", "why"),
    [
        (a_job("j", NOON + HOUR, ["c"]), "c was not recorded then"),
        (a_job("j", NOON + HOUR, ["stranger", "c"]), "stranger, c were not recorded then"),
        (a_job("j", NOON, []), "where it ran is not known"),
        (replace(a_job("j", NOON, []), unknown_nodes=("10.0.0.1",)), "no host is known for 10.0.0.1"),
        (a_job("j", None, ["a"]), "when it ended is not known"),
        (a_job("j", NOON + 20 * SECOND, ["c"]), "c was not recorded then"),  # 10 of 35 s
    ],
)
def test_what_cannot_be_checked_is_told(tables: FleetTables, job: Job, why: str) -> None:
    found = ask(tables, [job])
    assert (found.blames[0].blame, found.blames[0].sentence) == (Blame.NOT_CHECKED, why)
    assert (found.failed, found.checked, found.attributed) == (1, 0, 0)
    assert "1 failed job could not be checked" in found.note


def test_a_host_that_died_is_recorded_enough(tables: FleetTables) -> None:
    """It is noticed 13 s later: 17 of 35 s."""
    (one,) = ask(tables, [a_job("j", NOON + 13 * SECOND, ["c"])]).blames
    assert one.blame == Blame.UNKNOWN


def test_the_hosts_that_are_known_are_checked(tables: FleetTables) -> None:
    job = replace(a_job("j", NOON + HOUR, ["a", "c"]), unknown_nodes=("x",))
    found = ask(tables, [job])
    assert "on a (2 more not known or not recorded)" in found.blames[0].sentence
    assert "no host is known: x" in found.note


def test_the_success_rate_and_what_it_would_be(tables: FleetTables) -> None:
    fine = [a_job(f"s{n}", BEGIN + n * 600 * SECOND, ["a"], SUCCEEDED) for n in range(1, 91)]
    failed = [a_job(f"f{n}", BEGIN + 2 * HOUR + n * 600 * SECOND, ["b"]) for n in range(9)]
    lost = a_job("lost", NOON + SECOND, ["a"])
    others = [a_job("stopped", NOON, ["a"], "STOPPED"), a_job("driver", NOON, ["a"], ENDED)]
    outside = [a_job("later", DAY[1], ["a"]), a_job("running", None, ["a"], "RUNNING")]
    found = ask(tables, [*fine, *failed, lost, *others, *outside])
    assert (found.jobs, found.ended, found.failed) == (103, 100, 10)
    assert found.success_rate == 0.9
    assert found.excess == pytest.approx(1, abs=0.01)
    assert found.success_rate_without == pytest.approx(0.91, abs=1e-4)
    assert found.success_rate_without_interval == pytest.approx((0.91, 0.91), abs=1e-4)
    assert (found.check.jobs, found.check.with_event) == (90, 1)  # one that ended at noon
    assert [one.job.id for one in found.blames][:3] == ["lost", "f8", "f7"]  # the newest first
    assert "How 1 job ended is not known" in found.note


def test_chance_is_raised_where_jobs_that_succeed_have_too_many_events(tmp_path: Path) -> None:
    """Every hour something both ends jobs and resets a NIC: then a failure near a reset says nothing."""
    hours = [BEGIN + n * HOUR for n in range(1, 24)]
    tables = write_tables(tmp_path, {"a": [DAY]}, [("a", time, NIC) for time in hours])
    jobs = [a_job(f"s{time}", time + 5 * SECOND, ["a"], SUCCEEDED) for time in hours[:20]]
    failed = [a_job("f", hours[21] + 4 * SECOND, ["a"])]
    assert ask(tables, failed).beyond_chance
    found = ask(tables, jobs + failed)
    assert found.check.with_event == 20
    assert found.attributed == 1 and not found.beyond_chance
    assert found.p > 0.9
    assert "jobs that succeeded had an event" in found.note


def test_jobs_that_fail_together_on_a_host_are_one_draw(tables: FleetTables) -> None:
    one = ask(tables, [a_job("j", NOON + SECOND, ["a"])])
    many = ask(tables, [a_job(f"j{n}", NOON + n * SECOND, ["a"]) for n in range(20)])
    assert many.attributed == 20
    assert many.p == pytest.approx(one.p)
    assert many.expected == pytest.approx(20 * one.expected)


def test_nothing_there(tmp_path: Path, tables: FleetTables) -> None:
    none = ask(tables, [])
    assert (none.jobs, none.success_rate, none.p, none.blames, none.note) == (0, None, 1, (), "")
    empty = write_tables(tmp_path / "empty", {"a": [(BEGIN, BEGIN + SECOND)]}, [])
    assert ask(empty, [a_job("j", NOON, ["a"])]).checked == 0


def test_clocks_in_doubt_are_told(tmp_path: Path) -> None:
    tables = write_tables(tmp_path, {"a": [DAY]}, [], synchronised=False)
    assert "clock of a was not synchronised" in ask(tables, [a_job("j", NOON, ["a"])]).note


def test_odd_names_do_no_harm(tmp_path: Path) -> None:
    odd = "it's; DROP TABLE rows --"
    tables = write_tables(tmp_path, {odd: [DAY]}, [(odd, NOON, NIC)])
    assert ask(tables, [a_job("j", NOON, [odd])]).attributed == 1


def test_identities_are_read_from_facts(tmp_path: Path) -> None:
    its = {"a": {"address": "192.0.2.1", "instance_id": "i-1", "other": "x"}, "b": {"address": "192.0.2.2"}}
    tables = write_tables(tmp_path, {"a": [DAY]}, [], its)
    assert gather_identities(tables, LocalEngine(), *DAY) == [
        ("192.0.2.1", "a"),
        ("192.0.2.2", "b"),
        ("i-1", "a"),
    ]
    assert gather_identities(write_tables(tmp_path / "2", {"a": [DAY]}, []), LocalEngine(), *DAY) == []


def test_overlapping_segments_count_once() -> None:
    assert overlap_us([(0, 10), (5, 20), (30, 40)], 8, 35) == 17
    assert overlap_us([(0, 5)], 8, 35) == 0
    assert overlap_us([], 8, 35) == 0


def test_every_number_has_its_reason() -> None:
    assert {"before", "after", "recorded", "significance", "raised", "most-checked"} == {*job_numbers()}


# --- generated fleets


def a_fleet(seed: int) -> tuple[Gathered, list[tuple[str, int]], np.random.Generator]:
    """40 hosts for a day; a quarter of them have resets, in bursts. As it is gathered, and all resets."""
    random = np.random.default_rng(seed)
    events: dict[str, list[NodeEvent]] = {}
    for number in range(0, 40, 4):
        bursts = random.integers(DAY[0], DAY[1], random.poisson(60))
        times = sorted(int(one) + n * 7 * SECOND for one in bursts for n in range(3))
        events[f"h{number}"] = [NodeEvent(f"h{number}", time, NIC, str(time)) for time in times]
    hosts = [f"h{number}" for number in range(40)]
    recorded = Recorded(dict.fromkeys(hosts, DAY[1] - DAY[0]), frozenset(), DAY[1] - DAY[0])
    found = gathered(recorded, events, {host: [DAY] for host in hosts}, SOUGHT)
    return found, [(host, event.time_us) for host, some in events.items() for event in some], random


def some_jobs(random: np.random.Generator, count: int) -> list[Job]:
    """On one to four hosts each; some fail in groups, as when a file server is away."""
    jobs: list[Job] = []
    while len(jobs) < count:
        hosts = {f"h{number}" for number in random.integers(0, 40, random.integers(1, 5))}
        end_us = int(random.integers(DAY[0] + 60 * SECOND, DAY[1] - 60 * SECOND))
        together = 6 if random.random() < 0.1 else 1
        jobs += [a_job(f"j{len(jobs)}-{n}", end_us + n * SECOND, sorted(hosts)) for n in range(together)]
    return jobs


def conclude(jobs: list[Job], found: Gathered) -> Jobs:
    return conclude_jobs(sort_jobs(jobs, DAY), SOUGHT, found)


def test_without_a_relation_few_alarms() -> None:
    """At 0.05, at most one in twenty: of 400 sets at most 32 (that more come has a probability of 0.5 %)."""
    found, _, random = a_fleet(1)
    answers = [conclude(some_jobs(random, 60), found) for _ in range(400)]
    assert sum(one.beyond_chance for one in answers) <= 32
    assert sum(one.attributed > 0 for one in answers) > 200  # there is something to be wrong about
    seen, expected = (np.mean([getattr(one, name) for one in answers]) for name in ("attributed", "expected"))
    assert seen == pytest.approx(expected, rel=0.15)


def test_a_planted_share_of_a_tenth_is_found() -> None:
    found, resets, random = a_fleet(2)
    inside = beyond = 0
    for _ in range(100):
        jobs = some_jobs(random, 90)
        planted = [resets[place] for place in random.choice(len(resets), len(jobs) // 9, replace=False)]
        because = [a_job(f"p{n}", time + 9 * SECOND, [host]) for n, (host, time) in enumerate(planted)]
        answer = conclude(jobs + because, found)
        low, high = answer.excess_interval
        inside += low <= len(because) <= high
        beyond += answer.beyond_chance
    assert inside >= 90
    assert beyond >= 95

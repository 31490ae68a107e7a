"""Who ran before events on many hosts: planted culprits, different noise, and none at all."""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest

from necroscope.fleet.engine.engine import LocalEngine
from necroscope.fleet.questions.culprit import CulpritWish, ask_culprit
from necroscope.model.fleet.common_culprit import CommonCulprits
from necroscope.store.store import StoredSegment
from tests.diagnosis.sampled_seconds import Plan, Work, sampled_segment
from tests.fleet.questions.hosts_with_samples import SampledHost, ship_hosts
from tests.stored import UTC_NS, event_of

T = TypeVar("T")
U = TypeVar("U")
BEGIN_US, END_US = UTC_NS // 1000, UTC_NS // 1000 + 3600 * 10**6
WALK = "kubelet: do_syscall_64 > seq_read > memcg_numa_stat_show > mem_cgroup_nr_lru_pages"
SHOW = "kubelet: do_syscall_64 > seq_read > memcg_numa_stat_show"
NIC_RESET = ("nic-reset",)
SECONDS, RESET = 80, 60


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NECROSCOPE_FLEET_CACHE", str(tmp_path / "cache"))


def loaded(seed: int, planted: str = "", spikes: range = range(0)) -> Plan:
    """Loads that come and go, others on each host; in the spikes somebody walks in the kernel."""
    rng = random.Random(seed)
    names = rng.sample(["python", "java", "envoy", "fluentd", "postgres", "nginx"], 3)
    usual = {(second, name): rng.choice([0, 0, 0.05, 0.2]) for second in range(SECONDS) for name in names}

    def plan(core: int, second: int) -> Work:
        work = {name: usual[second, name] for name in names if usual[second, name]}
        if planted and core == 0 and second in spikes:
            work |= {one.replace("kubelet", planted): share for one, share in ((WALK, 0.25), (SHOW, 0.1))}
        return work

    return plan


Recorded = Callable[[int, bool], StoredSegment]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A segment with a reset; who is planted runs in the seconds before it. Each is made once."""
    folder = tmp_path_factory.mktemp("recorded")

    @cache
    def made(seed: int, is_planted: bool) -> StoredSegment:
        events = [event_of("nic-reset", RESET + random.Random(seed).random(), device="eth0")]
        plan = loaded(seed, "kubelet" if is_planted else "", range(RESET - 5, RESET + 2))
        root = folder / f"{seed}-{is_planted}"
        return sampled_segment(root, plan, seconds=range(SECONDS), events=events)

    return made


def asked(folder: Path, hosts: list[SampledHost], wish: CulpritWish | None = None) -> CommonCulprits:
    place, tables = ship_hosts(folder / "place", hosts)
    return ask_culprit(tables, LocalEngine(), place, NIC_RESET, BEGIN_US, END_US, wish)


def fleet(record: Recorded, count: int, planted_on: int) -> list[SampledHost]:
    return [SampledHost(f"node-{n:02}", [record(n, n < planted_on)]) for n in range(count)]


def test_a_culprit_on_most_hosts_is_named_first(tmp_path: Path, record: Recorded) -> None:
    found = asked(tmp_path, fleet(record, 8, 6))
    culprit = found.culprit
    assert culprit and culprit == found.suspects[0]
    assert (culprit.process, culprit.function) == ("kubelet", "mem_cgroup_nr_lru_pages")
    assert (culprit.hosts, culprit.of_hosts, culprit.events, culprit.of_events) == (6, 8, 6, 8)
    assert culprit.is_significant
    assert culprit.lift is None or culprit.lift > 10
    assert (found.events, found.compared, found.hosts, found.not_compared, found.note) == (8, 8, 8, (), "")
    assert {one.process for one in found.suspects if one.is_significant} <= {"kubelet", ""}


def test_nobody_planted(tmp_path: Path, record: Recorded) -> None:
    found = asked(tmp_path, fleet(record, 8, 0))
    assert found.compared == 8
    assert (found.culprit, [one for one in found.suspects if one.is_significant]) == (None, [])


def test_one_host_alone_is_not_the_fleet(tmp_path: Path, record: Recorded) -> None:
    found = asked(tmp_path, fleet(record, 6, 1))
    assert found.culprit is None
    assert found.suspects[0].process == "kubelet"
    assert (found.suspects[0].hosts, found.suspects[0].is_significant) == (1, False)


def test_events_of_an_episode_are_one_and_the_newest_of_each_host_come_first(tmp_path: Path) -> None:
    segments = [
        sampled_segment(
            tmp_path / str(n),
            loaded(n),
            seconds=range(SECONDS),
            events=[
                event_of("nic-reset", second + place / 10, device=f"eth{place}")
                for second in (20, 21, 30)
                for place in (0, 1)
            ],
        )
        for n in range(3)
    ]
    hosts = [SampledHost(f"node-{n}", [segment]) for n, segment in enumerate(segments)]
    found = asked(tmp_path, hosts, CulpritWish(most=4))
    assert (found.events, found.compared, found.hosts) == (6, 4, 3)  # of each device one
    assert "2 older events were left out" in found.note


def test_what_is_not_compared_is_told(tmp_path: Path, record: Recorded) -> None:
    hosts = fleet(record, 4, 4)
    hosts.append(SampledHost("silent", [record(7, False)], has_shipped=False))
    short = sampled_segment(
        tmp_path / "short", loaded(9), seconds=range(8), events=[event_of("nic-reset", 6)]
    )
    hosts.append(SampledHost("short", [short]))
    found = asked(tmp_path, hosts)
    assert found.culprit
    why = {one.host: one.why for one in found.not_compared}
    assert why.keys() == {"silent", "short"}
    assert "has not shipped" in why["silent"]
    assert "quiet seconds" in why["short"]
    assert found.note == "2 of 6 events could not be compared"


def test_a_damaged_segment_is_told(tmp_path: Path, record: Recorded) -> None:
    hosts = fleet(record, 4, 4)
    place, tables = ship_hosts(tmp_path / "place", hosts)
    for blob in (place.root / "hosts/node-00/blobs").iterdir():
        blob.write_bytes(b"damaged")
    found = ask_culprit(tables, LocalEngine(), place, NIC_RESET, BEGIN_US, END_US)
    assert [one.host for one in found.not_compared] == ["node-00"]
    assert found.culprit and found.culprit.hosts == 3


@pytest.mark.parametrize(("begin_us", "end_us"), [(0, BEGIN_US), (END_US, END_US + 10**6)])
def test_no_event_is_nothing_to_explain(tmp_path: Path, record: Recorded, begin_us: int, end_us: int) -> None:
    place, tables = ship_hosts(tmp_path / "place", fleet(record, 1, 1))
    found = ask_culprit(tables, LocalEngine(), place, NIC_RESET, begin_us, end_us)
    assert (found.events, found.compared, found.culprit) == (0, 0, None)
    assert found.note.startswith("nothing to explain")


def test_an_event_on_a_core_is_looked_at_there(tmp_path: Path) -> None:
    """Somebody is busy on core 0, and the event names core 1."""
    hosts = []
    for n in range(4):
        events = [event_of("soft-lockup", 40, core=1)]
        plan = loaded(n, "kubelet", range(35, 42))
        hosts.append(
            SampledHost(
                f"node-{n}", [sampled_segment(tmp_path / str(n), plan, seconds=range(SECONDS), events=events)]
            )
        )
    place, tables = ship_hosts(tmp_path / "place", hosts)
    found = ask_culprit(tables, LocalEngine(), place, ("soft-lockup",), BEGIN_US, END_US)
    assert (found.compared, found.culprit) == (4, None)


class OtherProcess(LocalEngine):
    """Has each event looked at in another process, which knows nothing but the place's address."""

    def map(self, work: Callable[[T], U], items: Sequence[T]) -> Iterable[U]:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as other:
            return list(other.map(work, items))


def test_another_process_gives_the_same_answer(
    tmp_path: Path, record: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, tables = ship_hosts(tmp_path / "place", fleet(record, 4, 3))
    here = ask_culprit(tables, LocalEngine(), place, NIC_RESET, BEGIN_US, END_US)
    monkeypatch.setenv("NECROSCOPE_FLEET_CACHE", str(tmp_path / "elsewhere"))
    there = ask_culprit(tables, OtherProcess(), place, NIC_RESET, BEGIN_US, END_US)
    assert here == there
    assert here.compared == 4

"""One flame graph of the seconds before the events of many hosts: every sample once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from necroscope.fleet.call_trees import CallTrees
from necroscope.fleet.engine.engine import LocalEngine
from necroscope.fleet.questions.flame import FlameWish, apart, ask_flame
from necroscope.model.fleet.fleet_flame import FleetFlame
from necroscope.profiles.window import Selection, window
from necroscope.store.store import StoredSegment
from tests.diagnosis.sampled_seconds import sampled_segment
from tests.fleet.questions.hosts_with_samples import SampledHost, ship_hosts
from tests.fleet.questions.test_culprit import BEGIN_US, END_US, SECONDS, loaded
from tests.stored import event_of

T = TypeVar("T")
U = TypeVar("U")
NIC_RESET = ("nic-reset",)
SECOND_NS = 10**9


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NECROSCOPE_FLEET_CACHE", str(tmp_path / "cache"))


class Pairs(LocalEngine):
    """Puts two together at a time, the last ones first."""

    workers = 4

    def reduce(self, work: Callable[[T], U], merge: Callable[[Sequence[U]], U], items: Sequence[T]) -> U:
        parts = [merge([work(item)]) for item in items]
        while len(parts) > 1:
            parts.append(merge([parts.pop(), parts.pop()]))
        return parts[0]


def recorded(folder: Path, seed: int, *resets: float, core: int | None = None) -> StoredSegment:
    events = [event_of("nic-reset", second, device=f"eth{n}", core=core) for n, second in enumerate(resets)]
    plan = loaded(seed, "kubelet", range(30, 50))
    return sampled_segment(folder / f"{seed}", plan, seconds=range(SECONDS), events=events)


def asked(
    folder: Path,
    hosts: Sequence[SampledHost],
    wish: FlameWish | None = None,
    engine: LocalEngine | None = None,
) -> tuple[FleetFlame, CallTrees]:
    _, tables = ship_hosts(folder / "place", hosts)
    return ask_flame(tables, engine or LocalEngine(), NIC_RESET, (BEGIN_US, END_US), wish)


def stacks(trees: CallTrees) -> dict[str, int]:
    return {";".join(stack): count for stack, count in trees.window().stacks.folded()}


def plain(
    segments: Sequence[StoredSegment], begin: float, end: float, cpus: tuple[int, ...] = ()
) -> dict[str, int]:
    """The flame graphs of single hosts, added up."""
    counts: Counter[str] = Counter()
    for segment in segments:
        first_ns = segment.begin_ns
        selection = Selection(first_ns + int(begin * SECOND_NS), first_ns + int(end * SECOND_NS), cpus=cpus)
        for stack, count in window([segment], selection).stacks.folded():
            counts[";".join(stack)] += count
    return dict(counts)


def test_the_graphs_of_all_hosts_added_up(tmp_path: Path) -> None:
    segments = [recorded(tmp_path, seed, 40.25) for seed in range(5)]
    hosts = [SampledHost(f"node-{n}", [segment]) for n, segment in enumerate(segments)]
    found, trees = asked(tmp_path, hosts)
    assert stacks(trees) == plain(segments, 35.25, 41.25)
    assert found.samples == trees.samples == sum(stacks(trees).values()) > 100
    assert (found.events, found.merged, found.hosts, found.not_merged, found.note) == (5, 5, 5, (), "")
    assert found.seconds == pytest.approx(5 * 6)
    assert asked(tmp_path, hosts, engine=Pairs()) == (found, trees)


def test_events_that_follow_each_other_count_their_seconds_once(tmp_path: Path) -> None:
    segments = [recorded(tmp_path, seed, 40.25, 42.25) for seed in range(2)]
    hosts = [SampledHost(f"node-{n}", [segment]) for n, segment in enumerate(segments)]
    found, trees = asked(tmp_path, hosts)
    assert (found.events, found.merged, found.hosts) == (4, 4, 2)  # of each device one
    assert stacks(trees) == plain(segments, 35.25, 43.25)
    assert found.seconds == pytest.approx(2 * 8)


def test_the_core_of_the_event_or_every_core(tmp_path: Path) -> None:
    segments = [recorded(tmp_path, seed, 40.25, core=1) for seed in range(3)]
    hosts = [SampledHost(f"node-{n}", [segment]) for n, segment in enumerate(segments)]
    assert stacks(asked(tmp_path, hosts)[1]) == plain(segments, 35.25, 41.25, (1,))
    wish = FlameWish(window_seconds=2, is_every_core=True)
    assert stacks(asked(tmp_path, hosts, wish)[1]) == plain(segments, 38.25, 41.25)


def test_what_is_not_there_or_damaged_is_told(tmp_path: Path) -> None:
    segments = [recorded(tmp_path, seed, 40.25) for seed in range(4)]
    hosts = [SampledHost(f"node-{n}", [segment], n != 3) for n, segment in enumerate(segments)]
    place, tables = ship_hosts(tmp_path / "place", hosts)
    for blob in (place.root / "hosts/node-0/blobs").iterdir():
        blob.write_bytes(b"damaged")
    found, trees = ask_flame(tables, LocalEngine(), NIC_RESET, (BEGIN_US, END_US))
    assert stacks(trees) == plain(segments[1:3], 35.25, 41.25)
    assert [one.host for one in found.not_merged] == ["node-0", "node-3"]
    assert found.note == "the samples of 2 of 4 events are not here"
    nothing, empty = ask_flame(tables, LocalEngine(), ("oom-kill",), (BEGIN_US, END_US))
    assert (nothing.note, empty.samples) == ("no such event in this time", 0)


WINDOWS = st.builds(
    lambda begin, length, cpus: Selection(begin, begin + length, cpus=cpus),
    st.integers(0, 29),
    st.integers(1, 8),
    st.sampled_from([(), (0,), (1,)]),
)


@given(st.lists(WINDOWS, min_size=1, max_size=7))
def test_windows_apart_cover_the_same_once(windows: list[Selection]) -> None:
    made = Counter(
        (moment, core)
        for one in apart(windows)
        for moment in range(one.begin_ns, one.end_ns)
        for core in (one.cpus or (0, 1))
    )
    wanted = {
        (moment, core)
        for one in windows
        for moment in range(one.begin_ns, one.end_ns)
        for core in (one.cpus or (0, 1))
    }
    assert made.keys() == wanted
    assert set(made.values()) == {1}

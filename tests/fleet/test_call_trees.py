"""Merged call trees against a plain fold in Python: every count, however the work is divided."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from necroscope import _native
from necroscope.fleet.call_trees import CallTrees, ProfilePart, merge_call_trees, parts_of
from necroscope.fleet.engine.engine import LocalEngine
from necroscope.profiles.export import FORMATS
from necroscope.profiles.export.title import Title
from necroscope.profiles.idle import idle_rule
from necroscope.profiles.import_ import import_file
from necroscope.profiles.window import Selection, flame
from necroscope.store.store import Store

T = TypeVar("T")
U = TypeVar("U")
SECOND_NS = 10**9
SECONDS = 12
COMMS = ("server", "kubelet", "java")


@dataclass(frozen=True, slots=True)
class Sample:
    second: int
    core: int
    comm: str
    frames: tuple[str, ...]  # outermost first


class Divided(LocalEngine):
    """One process that does as many do: few items at a time, results put together three at a time."""

    workers = 3

    def reduce(self, work: Callable[[T], U], merge: Callable[[Sequence[U]], U], items: Sequence[T]) -> U:
        parts = [merge([work(item)]) for item in items]
        while len(parts) > 1:
            parts = [merge(parts[begin : begin + 3]) for begin in range(0, len(parts), 3)]
        return parts[0]


def drawn_samples(seed: int) -> list[Sample]:
    """What a host did: the functions are those of all hosts, the order in which they come its own."""
    draw = random.Random(seed)
    return [
        Sample(
            second,
            draw.randrange(4),
            draw.choice(COMMS),
            tuple(f"level{level}_{draw.randrange(2 + level)}" for level in range(draw.randint(1, 6))),
        )
        for second in range(SECONDS)
        for _ in range(40)
    ]


def text_of(samples: Sequence[Sample]) -> str:
    """As `perf script` prints them."""
    lines = []
    for number, one in enumerate(samples):
        frames = "".join(f"\t47a3c1 {name}+0x11 (/usr/bin/thing)\n" for name in reversed(one.frames))
        pid = 1000 + COMMS.index(one.comm)
        when = f"{one.second}.{number % 40 * 20_000:06d}"
        lines.append(f"{one.comm} {pid}/{pid} [{one.core:03d}] {when}: 1 cpu-clock:\n{frames}\n")
    return "".join(lines)


def import_drawn(folder: Path, seed: int) -> list[Sample]:
    """A sealed profile, and what is in it."""
    rule, samples = idle_rule(), drawn_samples(seed)
    folder.mkdir(parents=True)
    (folder / "text").write_text(text_of(samples))
    _native.import_perf_script(folder / "text", folder, idle=list(rule.idle), interrupt=list(rule.interrupt))
    return samples


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, list[Sample]]:
    folder = tmp_path_factory.mktemp("hosts")
    return {folder / str(seed): import_drawn(folder / str(seed), seed) for seed in range(11)}


def folded(
    hosts: dict[Path, list[Sample]], wanted: Callable[[Sample], bool], *, by_comm: bool = False
) -> dict[str, int]:
    """The plain fold."""
    counts: Counter[str] = Counter()
    for samples in hosts.values():
        for one in filter(wanted, samples):
            counts[";".join((one.comm, *one.frames) if by_comm else one.frames)] += 1
    return dict(counts)


def found(trees: CallTrees) -> dict[str, int]:
    return {";".join(stack): count for stack, count in trees.window().stacks.folded()}


def parts(
    hosts: dict[Path, list[Sample]], begin: float = 0, end: float = SECONDS, **filters: Any
) -> list[ProfilePart]:
    return [ProfilePart(one, int(begin * SECOND_NS), int(end * SECOND_NS), **filters) for one in hosts]


def test_all_samples_of_all_hosts(hosts: dict[Path, list[Sample]]) -> None:
    trees = merge_call_trees(LocalEngine(), parts(hosts))
    assert found(trees) == folded(hosts, lambda _: True)
    assert trees.samples == sum(found(trees).values()) == 11 * SECONDS * 40
    assert (trees.profiles, trees.unreadable, trees.unknown, trees.idle) == (11, (), 0, 0)


@given(
    ends=st.lists(st.integers(0, SECONDS), min_size=2, max_size=2, unique=True),
    some_cores=st.sets(st.integers(0, 3), max_size=3),
    by_comm=st.booleans(),
)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])  # which is only read
def test_any_window_core_and_root(
    hosts: dict[Path, list[Sample]], ends: list[int], some_cores: set[int], by_comm: bool
) -> None:
    (begin, end), cores = sorted(ends), tuple(some_cores)
    wish = parts(hosts, begin, end, cpus=cores)
    trees = merge_call_trees(LocalEngine(), wish, "comm" if by_comm else "whole")

    def wanted(one: Sample) -> bool:
        return begin <= one.second < end and (not cores or one.core in cores)

    assert found(trees) == folded(hosts, wanted, by_comm=by_comm)
    assert trees == merge_call_trees(Divided(), wish, "comm" if by_comm else "whole")


def test_the_order_does_not_matter_to_the_last_byte(hosts: dict[Path, list[Sample]]) -> None:
    wish = parts(hosts)
    shuffled = random.Random(1).sample(wish, len(wish))
    assert merge_call_trees(LocalEngine(), wish, "comm") == merge_call_trees(Divided(), shuffled, "comm")


def test_threads_do_not_matter(hosts: dict[Path, list[Sample]], monkeypatch: pytest.MonkeyPatch) -> None:
    some = []
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("NECROSCOPE_FLEET_THREADS", threads)
        some.append(merge_call_trees(LocalEngine(), parts(hosts), "thread"))
    assert some[0] == some[1] == some[2]


@pytest.mark.parametrize("engine", [LocalEngine(), Divided()])
def test_what_cannot_be_read_is_told_and_counted_nowhere(
    hosts: dict[Path, list[Sample]], tmp_path: Path, engine: LocalEngine
) -> None:
    wish = parts(hosts)
    bad = tmp_path / "bad"
    bad.mkdir()
    for path in wish[3].folder.glob("*.parquet"):
        content = path.read_bytes()
        (bad / path.name).write_bytes(
            content[: len(content) // 2] if path.name == "stacks.parquet" else content
        )
    missing = tmp_path / "missing"
    spoiled = [*wish[:3], replace(wish[3], folder=bad), replace(wish[3], folder=missing), *wish[4:]]
    trees = merge_call_trees(engine, spoiled)
    assert {one.folder for one in trees.unreadable} == {bad, missing}
    assert all(one.why for one in trees.unreadable)
    assert trees.profiles == 10
    rest = {folder: samples for folder, samples in hosts.items() if folder != wish[3].folder}
    assert found(trees) == folded(rest, lambda _: True)


def test_nothing_is_an_empty_tree() -> None:
    trees = merge_call_trees(LocalEngine(), [])
    assert (trees.samples, trees.profiles, found(trees)) == (0, 0, {})


def test_every_format_can_be_written(hosts: dict[Path, list[Sample]]) -> None:
    tree = flame(merge_call_trees(LocalEngine(), parts(hosts), "comm").window(seconds=SECONDS))
    assert tree.window.total[0] == 11 * SECONDS * 40
    for encode in FORMATS.values():
        assert len(encode(tree, Title("a fleet"))) > 1000
    lines = FORMATS[".folded"](tree, Title("a fleet")).decode().splitlines()
    assert {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines} == folded(
        hosts, lambda _: True, by_comm=True
    )


def test_segments_of_a_store(hosts: dict[Path, list[Sample]], tmp_path: Path) -> None:
    store = Store(tmp_path)
    for folder in list(hosts)[:2]:
        import_file(store, folder / "text")
    segments = store.segments()
    everything = Selection(min(s.begin_ns for s in segments), max(s.end_ns for s in segments) + 1)
    chosen = {folder: hosts[folder] for folder in list(hosts)[:2]}
    trees = merge_call_trees(LocalEngine(), parts_of(segments, everything))
    assert found(trees) == folded(chosen, lambda _: True)
    later = replace(everything, begin_ns=everything.end_ns, end_ns=everything.end_ns + SECOND_NS)
    assert parts_of(segments, later) == []


def test_bytes_that_are_none_are_an_error() -> None:
    with pytest.raises(ValueError, match="not the bytes of a window"):
        _native.merge_windows([b"nws1 but not really"])

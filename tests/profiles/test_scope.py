"""The subsecond-offset heatmap across segments, with a search."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

import pytest

from necroscope.errors import UsageError
from necroscope.profiles.scope import Scope, scope
from necroscope.profiles.search import Search
from necroscope.profiles.window import Selection, window
from necroscope.store.store import Store
from tests.diagnosis.sampled_seconds import HERTZ, Work, sampled_segment
from tests.stored import SECOND_NS, UTC_NS

WALK = "kubelet: seq_read > mem_cgroup_nr_lru_pages"


def work(core: int, second: int) -> Work:
    """Core 0 trains half of every second; kubelet walks on core 1 in seconds 2 and 3, for a fifth of each."""
    return {"python": 0.5} if core == 0 else {WALK: 0.2} if second in (2, 3) else {}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two segments of three seconds."""
    sampled_segment(tmp_path, work, seconds=range(3))
    sampled_segment(tmp_path, work, seconds=range(3, 6))
    return tmp_path


def found(root: Path, rows: int = 10, begin: float = 0, end: float = 6, **more: Any) -> Scope:
    begin_ns, end_ns = (UTC_NS + int(second * SECOND_NS) for second in (begin, end))
    return scope(Store(root).segments(), Selection(begin_ns, end_ns, **more), rows)


def columns(cells: bytes | None, rows: int = 10) -> list[list[int]]:
    assert cells is not None
    counts = array("H", cells).tolist()
    return [counts[begin : begin + rows] for begin in range(0, len(counts), rows)]


def test_every_sample_is_in_its_second_and_fraction(root: Path) -> None:
    all_of_it = found(root)
    training, walking = [5] * 5 + [0] * 5, [10, 10] + [5] * 3 + [0] * 5
    assert columns(all_of_it.counts) == [training, training, walking, walking, training, training]
    assert (all_of_it.begin_ns, all_of_it.columns, all_of_it.rows, all_of_it.most) == (UTC_NS, 6, 10, 10)
    assert (all_of_it.samples, all_of_it.idle, all_of_it.unknown) == (170, 12 * HERTZ - 170, 0)
    assert all_of_it.cpus == [(0, 150), (1, 20)]
    assert all_of_it.processes == all_of_it.threads == [("python", 150), ("kubelet", 20)]
    assert all_of_it.matched is None


def test_it_agrees_with_the_window(root: Path) -> None:
    selection = Selection(UTC_NS + SECOND_NS // 2, UTC_NS + 4 * SECOND_NS, cpus=(1,), idle=True)
    segments = Store(root).segments()
    one, other = scope(segments, selection), window(segments, selection)
    assert (one.samples, one.idle, one.unknown, one.lost) == (
        other.samples,
        other.idle,
        other.unknown,
        other.lost,
    )
    assert sum(array("H", one.counts)) == one.samples == 3.5 * HERTZ


def test_a_selection_begins_anywhere(root: Path) -> None:
    assert columns(found(root, begin=0.4, end=2.4).counts) == [
        [5, 0, 0, 0, 0, 0, 5, 5, 5, 5],
        [5, 0, 0, 0, 0, 0, 10, 10, 5, 5],
    ]


@pytest.mark.parametrize(
    "search", [Search("NR_LRU"), Search("kubelet"), Search("^mem_.*pages$", is_regexp=True)]
)
def test_what_matches_is_counted_beside_the_rest(root: Path, search: Search) -> None:
    lit = found(root, search=search)
    walking = [5, 5] + [0] * 8
    assert columns(lit.matched) == [[0] * 10] * 2 + [walking] * 2 + [[0] * 10] * 2
    assert (lit.counts, lit.samples) == (found(root).counts, 170)


def test_only_what_matches(root: Path) -> None:
    only = Search("lru", only_matching=True)
    lit = found(root, search=only)
    assert (lit.samples, lit.counts, lit.processes) == (20, lit.matched, [("kubelet", 20)])
    segments = Store(root).segments()
    stacks = window(segments, Selection(UTC_NS, UTC_NS + 6 * SECOND_NS, search=only))
    assert [stack[-1] for stack, _ in stacks.stacks.folded()] == ["mem_cgroup_nr_lru_pages"]


def test_a_filter_does_not_hide_what_could_be_chosen(root: Path) -> None:
    one = found(root, cpus=(1,))
    assert (one.samples, one.processes, one.cpus) == (20, [("kubelet", 20)], [(0, 150), (1, 20)])
    other = found(root, processes=("python",))
    assert (other.samples, other.cpus) == (150, [(0, 150)])
    assert other.processes == [("python", 150), ("kubelet", 20)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [("a(b", "unclosed group"), ("(a{999}){999}", "too large"), (r"(a)\1", "backreference")],
)
def test_a_bad_expression_is_an_error_that_says_so(root: Path, text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as error:
        found(root, search=Search(text, is_regexp=True))
    assert "\n" not in error.value.what
    assert found(root, search=Search(text)).matched == bytes(6 * 10 * 2), "as a text it is one"


def test_without_samples_all_cells_are_empty(tmp_path: Path) -> None:
    nothing = found(tmp_path, rows=2, end=1.5, search=Search("x"))
    assert (nothing.counts, nothing.matched, nothing.most) == (bytes(8), bytes(8), 0)
    assert (nothing.samples, nothing.cpus, nothing.processes) == (0, [], [])


def test_more_cells_than_a_day_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="too large"):
        found(tmp_path, rows=100, end=86_400)

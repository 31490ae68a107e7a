"""What was staged already, and from when on which facts held."""

from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.fleet.ship.state import FILE, Memory, read_memory


def test_it_comes_back_as_it_was(tmp_path: Path) -> None:
    memory = Memory("s3://b", {"segment-20260415T100000Z-5c1f5f0e"}, {"x"}, {"y"}, [(5, "f")], True, 3, 9)
    memory.save(tmp_path)
    assert read_memory(tmp_path) == memory


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"schema":2}', b'{"schema":1}', b"\xff"])
def test_one_that_cannot_be_read_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    assert read_memory(tmp_path) is None


def test_facts_hold_until_others_do() -> None:
    memory = Memory()
    assert memory.facts_at(50, is_this_boot=True) == ""
    memory.add_facts(100, "a")
    memory.add_facts(200, "a")
    memory.add_facts(300, "b")
    assert memory.facts == [(100, "a"), (300, "b")]
    assert [memory.facts_at(time, is_this_boot=True) for time in (50, 100, 299, 300, 999)] == list("aaabb")
    assert memory.facts_at(50, is_this_boot=False) == "", "another boot may have been another machine"


def test_segments_that_are_gone_are_forgotten() -> None:
    kept = {"segment-20260415T100000Z-1-5c1f5f0e", "files-20260415T100000Z-1-5c1f5f0e", "facts-20260415T10"}
    gone = {"segment-20260415T100000Z-5c1f5f0e", "counters-20260415T110000Z-5c1f5f0e"}
    memory = Memory(staged=kept | gone, given_up={"files-20260415T100000Z-1-5c1f5f0e", *gone})
    memory.forget(["20260415T100000Z-1"])
    assert memory.staged == kept
    assert memory.given_up == {"files-20260415T100000Z-1-5c1f5f0e"}


def test_another_place_knows_nothing() -> None:
    memory = Memory("one", {"a"}, {"b"}, {"c"}, [(1, "f")])
    memory.move_to("one")
    assert memory.staged
    memory.move_to("other")
    assert (memory.place, memory.staged, memory.given_up, memory.sections) == ("other", set(), set(), set())
    assert memory.facts, "what held does not depend on who is told"

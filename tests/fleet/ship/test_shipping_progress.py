"""What was staged already, and from when on which facts held."""

from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.fleet.ship.shipping_progress import FILE, ShippingProgress, read_progress


def test_it_comes_back_as_it_was(tmp_path: Path) -> None:
    progress = ShippingProgress(
        "s3://b", {"segment-20260415T100000Z-5c1f5f0e"}, {"x"}, {"y"}, [(5, "f")], True, 3, 9
    )
    progress.save(tmp_path)
    assert read_progress(tmp_path) == progress


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"schema":2}', b'{"schema":1}', b"\xff"])
def test_one_that_cannot_be_read_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    assert read_progress(tmp_path) is None


def test_facts_hold_until_others_do() -> None:
    progress = ShippingProgress()
    assert progress.facts_at(50, is_this_boot=True) == ""
    progress.add_facts(100, "a")
    progress.add_facts(200, "a")
    progress.add_facts(300, "b")
    assert progress.facts == [(100, "a"), (300, "b")]
    assert [progress.facts_at(time, is_this_boot=True) for time in (50, 100, 299, 300, 999)] == list("aaabb")
    assert progress.facts_at(50, is_this_boot=False) == "", "another boot may have been another machine"


def test_segments_that_are_gone_are_forgotten() -> None:
    kept = {"segment-20260415T100000Z-1-5c1f5f0e", "files-20260415T100000Z-1-5c1f5f0e", "facts-20260415T10"}
    gone = {"segment-20260415T100000Z-5c1f5f0e", "counters-20260415T110000Z-5c1f5f0e"}
    progress = ShippingProgress(staged=kept | gone, given_up={"files-20260415T100000Z-1-5c1f5f0e", *gone})
    progress.forget(["20260415T100000Z-1"])
    assert progress.staged == kept
    assert progress.given_up == {"files-20260415T100000Z-1-5c1f5f0e"}


def test_another_place_knows_nothing() -> None:
    progress = ShippingProgress("one", {"a"}, {"b"}, {"c"}, [(1, "f")])
    progress.move_to("one")
    assert progress.staged
    progress.move_to("other")
    assert (progress.place, progress.staged, progress.given_up, progress.sections) == (
        "other",
        set(),
        set(),
        set(),
    )
    assert progress.facts, "what held does not depend on who is told"

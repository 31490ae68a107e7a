from __future__ import annotations

from array import array
from base64 import b64decode
from pathlib import Path

import pytest

from necroscope.errors import NoSamplesError, NothingRecordedError, UsageError
from necroscope.model.timestamp import SECOND_US
from necroscope.server.questions.recorded_store import RecordedStore
from necroscope.server.questions.scope import ask_scope
from necroscope.server.questions.selection import Filters, Range
from tests.diagnosis.sampled_seconds import HERTZ, sampled_segment
from tests.server.questions.sampled_store import BEGIN_US, RESET, plan, sampled_store, seconds
from tests.stored import HOST, sealed_segment, seconds_of

ROWS = 10


def cells(text: str | None) -> list[int]:
    assert text is not None
    return list(array("H", b64decode(text)))


def test_a_column_a_second_across_segments(tmp_path: Path) -> None:
    found = ask_scope(sampled_store(tmp_path), seconds(30, 60), Filters(), ROWS)
    assert (found.begin_us, found.columns, found.rows) == (BEGIN_US + 30 * SECOND_US, 30, ROWS)
    counts = cells(found.counts)
    assert len(counts) == 30 * ROWS and sum(counts) == found.samples and found.most == max(counts)
    busy = [sum(counts[column * ROWS : (column + 1) * ROWS]) for column in range(30)]
    assert busy == [int(0.8 * HERTZ) + (int(0.6 * HERTZ) if 35 <= 30 + c < RESET else 0) for c in range(30)]
    assert found.matched is None and found.idle == 30 * 2 * HERTZ - found.samples


def test_filters_narrow_it_and_say_what_there_is_to_choose(tmp_path: Path) -> None:
    store = sampled_store(tmp_path)
    found = ask_scope(store, seconds(30, 60), Filters(cpus=(0,), processes=("kubelet",)), ROWS)
    assert found.samples == 5 * 0.6 * HERTZ
    assert {named.name for named in found.processes} == {"kubelet", "python"}
    assert found.cpus[0].name == "0"
    assert ask_scope(store, seconds(30, 60), Filters(idle=True), ROWS).samples == 30 * 2 * HERTZ


def test_what_was_recorded_is_told_with_its_gaps(tmp_path: Path) -> None:
    def told(begin: float, end: float) -> list[tuple[float, float]]:
        found = ask_scope(RecordedStore(tmp_path), seconds(begin, end), Filters(processes=("nobody",)), ROWS)
        return [((b - BEGIN_US) / SECOND_US, (e - BEGIN_US) / SECOND_US) for b, e in found.recorded_us]

    for part in (range(10), range(10, 20), range(40, 50)):  # two that meet, and one after a gap
        sampled_segment(tmp_path, plan, seconds=part)
    assert told(5, 45) == [(5, 20), (40, 45)]
    assert told(-10, 60) == [(0, 20), (40, 50)]
    assert told(12, 18) == [(12, 18)]


def test_a_search_lights_up_what_matches(tmp_path: Path) -> None:
    store = sampled_store(tmp_path)
    found = ask_scope(store, seconds(30, 60), Filters(search="MEMCG_numa"), ROWS)
    matched = cells(found.matched)
    assert sum(matched) == 5 * 0.6 * HERTZ < found.samples
    assert not any(matched[: 5 * ROWS]) and any(matched[5 * ROWS : 6 * ROWS])
    regexp = ask_scope(store, seconds(30, 60), Filters(search="^memcg_.*show$", regexp=True), ROWS)
    assert regexp.matched == found.matched
    only = ask_scope(store, seconds(30, 60), Filters(search="memcg_numa", only_matching=True), ROWS)
    assert only.samples == sum(matched)


def test_a_bad_expression_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="search"):
        ask_scope(sampled_store(tmp_path), seconds(30, 60), Filters(search="(", regexp=True), ROWS)


def test_what_cannot_be_asked(tmp_path: Path) -> None:
    store = sampled_store(tmp_path)
    with pytest.raises(UsageError, match="7200 s"):
        ask_scope(store, seconds(0, 7201), Filters(), ROWS)
    with pytest.raises(NothingRecordedError):
        ask_scope(store, Range("../../etc", 1, 2), Filters(), ROWS)
    with pytest.raises(NoSamplesError):
        ask_scope(store, seconds(5000, 5010), Filters(), ROWS)


def test_a_recording_without_samples_is_not_an_empty_heatmap(tmp_path: Path) -> None:
    from necroscope.server.questions.recorded_store import RecordedStore

    sealed_segment(tmp_path, seconds_of(["idle"] * 10))
    with pytest.raises(NoSamplesError, match="no samples"):
        ask_scope(RecordedStore(tmp_path), Range(HOST, BEGIN_US, BEGIN_US + 5 * SECOND_US), Filters(), ROWS)


def test_a_damaged_segment_is_left_out_and_told(tmp_path: Path) -> None:
    store = sampled_store(tmp_path)
    first = store.segments_of(HOST)[0]
    (first.profile / "samples.parquet").write_bytes(b"no")
    found = ask_scope(store, seconds(30, 60), Filters(), ROWS)
    assert found.samples == 15 * 0.8 * HERTZ
    assert len(found.damaged) == 1 and str(tmp_path) not in found.damaged[0].what

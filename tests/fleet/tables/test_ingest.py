from __future__ import annotations

import hashlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from necroscope.errors import PlaceError, StoreError, StoreHeldError
from necroscope.fleet.place.place import Place
from necroscope.fleet.tables import add_rows, inboxes
from necroscope.fleet.tables import claim as claim_module
from necroscope.fleet.tables.claim import claimed
from necroscope.fleet.tables.index import INDEX, parse_index
from necroscope.fleet.tables.ingest import ingest
from necroscope.model.timestamp import HOUR_US
from tests.fleet.tables.places import AwayError, Elsewhere, Killed
from tests.fleet.tables.shipped import (
    BEGIN_US,
    MINUTE_US,
    inbox,
    put_facts,
    put_files,
    put_part,
    put_segment,
    rows_of,
)

LABELS = {"zone": "us-east-1a"}


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NECROSCOPE_FLEET_CACHE", str(tmp_path / "cache"))


def ship_some(place: Place) -> dict[str, int]:
    """Two hosts, three hours; how many rows must come of it."""
    _, facts = put_facts(place, "a", labels=LABELS, kernel={"release": "6.1", "cmdline": "quiet"})
    put_facts(place, "b", labels=LABELS)
    for number in range(5):
        put_segment(place, "a", BEGIN_US + number * 30 * MINUTE_US, resets=number % 3, facts=facts)
        put_segment(place, "b", BEGIN_US + number * 30 * MINUTE_US)
    put_files(place, "a", {"profile": b"samples", "events": b""})
    return {"segments": 10, "events": 4, "facts": 2, "fact_sets": 3, "sections": 3, "files": 3}


def ship_few(place: Place) -> dict[str, int]:
    """One host, two hours, all kinds of parts."""
    _, facts = put_facts(place, "a", labels=LABELS)
    put_segment(place, "a", BEGIN_US, resets=1, facts=facts)
    put_segment(place, "a", BEGIN_US + HOUR_US)
    put_files(place, "a", {"profile": b"samples"})
    return {"segments": 2, "events": 1, "facts": 1, "fact_sets": 1, "sections": 1, "files": 2}


def counts(place: Place) -> dict[str, int]:
    tables = ("segments", "events", "facts", "fact_sets", "sections", "files")
    return {table: len(rows_of(place, table)) for table in tables}


def test_parts_become_rows_and_leave_their_inboxes(tmp_path: Path) -> None:
    place = Elsewhere(tmp_path / "place")
    truth = ship_some(place)
    done = ingest(place)
    assert (done.parts, dict(done.added)) == (13, truth)
    assert (done.rejected, done.removed.parts, done.made_anew) == ({}, 13, False)
    assert counts(place) == truth
    assert not inbox(place)
    index = parse_index(place.read(INDEX) or b"")
    assert {file.hour for file in index.files if file.table == "segments"} == {
        "20260415T10",
        "20260415T11",
        "20260415T12",
    }
    assert sum(file.rows for file in index.files) == sum(truth.values())
    assert not list(place.below("ingest/")), "the claim is given up"


def test_events_have_the_facts_of_their_segment(tmp_path: Path) -> None:
    place = Elsewhere(tmp_path / "place")
    ship_some(place)
    ingest(place)
    segments = {row["segment"]: row for row in rows_of(place, "segments") if row["host"] == "a"}
    for event in rows_of(place, "events"):
        assert event["facts"] == segments[event["segment"]]["facts"] != ""
        assert (event["kind"], event["stall_seconds"], event["queue"]) == ("nic-reset", 5.5, None)
    assert sum(row["nic_reset"] for row in segments.values()) == 4
    assert {row["oom_kill"] for row in segments.values()} == {0}
    assert {row["wall_level"] for row in segments.values()} == {None}


def test_rows_are_in_order(tmp_path: Path) -> None:
    place = Elsewhere(tmp_path / "place")
    for host in ("c", "a", "b"):
        for minute in (30, 2, 14):
            put_segment(place, host, BEGIN_US + minute * MINUTE_US)
        ingest(place)
    rows = [(row["host"], row["begin_us"]) for row in rows_of(place, "segments")]
    assert rows == sorted(rows)
    assert len(rows) == 9


def test_what_comes_again_is_not_counted_again(tmp_path: Path) -> None:
    place = Elsewhere(tmp_path / "place")
    truth = ship_some(place)
    ingest(place)
    index = place.read(INDEX)
    ship_some(place)
    done = ingest(place)
    assert (done.parts, sum(done.added.values()), done.hours_written) == (13, 0, 0)
    assert counts(place) == truth
    assert place.read(INDEX) == index, "nothing new: nothing written"
    assert not inbox(place)


def test_the_same_event_in_two_segments_is_one(tmp_path: Path) -> None:
    place = Elsewhere(tmp_path / "place")
    put_segment(place, "a", resets=1)
    name = put_segment(place, "a", BEGIN_US + MINUTE_US, resets=1)
    document = json.loads(place.read(name) or b"")
    place.remove(name)
    document["events"][0] |= {"time_us": BEGIN_US, "time_ns": BEGIN_US * 1000}
    put_part(place, "a", "segment-again", document)
    ingest(place)
    assert counts(place)["events"] == 1


def test_late_parts_go_to_their_own_hour(tmp_path: Path) -> None:
    place = Elsewhere(tmp_path / "place")
    put_segment(place, "a", BEGIN_US + 3 * HOUR_US)
    ingest(place)
    before = parse_index(place.read(INDEX) or b"").files
    put_segment(place, "b", BEGIN_US)
    ingest(place)
    index = parse_index(place.read(INDEX) or b"")
    assert [file.hour for file in index.of("segments", 0, BEGIN_US * 2)] == ["20260415T10", "20260415T13"]
    assert before[0] in index.files, "the other hour is as it was"


def test_a_kill_between_any_two_changes_loses_nothing(tmp_path: Path) -> None:
    whole = Elsewhere(tmp_path / "whole")
    truth = ship_few(whole)
    before = len(whole.changes)
    ingest(whole)
    for number in range(len(whole.changes) - before):
        place = Elsewhere(tmp_path / str(number))
        ship_few(place)
        place.fail_at = len(place.changes) + number
        with pytest.raises(Killed):
            ingest(place)
        place.fail_at = None
        for stored in place.below("ingest/"):  # whoever was killed has no process any more
            place.folder.remove(stored.name)
        put_segment(place, "late")
        ingest(place)
        assert counts(place) == {**truth, "segments": truth["segments"] + 1}, number
        assert not inbox(place)


def test_a_place_that_goes_away_at_any_moment_loses_nothing(tmp_path: Path) -> None:
    number = 0
    while True:
        place = Elsewhere(tmp_path / str(number), error=AwayError)
        truth = ship_few(place)
        place.fail_at = len(place.changes) + number
        try:
            ingest(place)
            break
        except PlaceError:
            place.fail_at = None
        for stored in place.below("ingest/"):
            place.folder.remove(stored.name)
        ingest(place)
        assert counts(place) == truth, number
        number += 1
    assert number > 10


def test_ingests_at_once_count_everything_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim_module, "PAUSE_SECONDS", (0.001, 0.02))
    place = Elsewhere(tmp_path / "place")
    done = threading.Event()

    def keep_on() -> int:
        parts = 0
        while not done.is_set():
            parts += ingest(Elsewhere(tmp_path / "place")).removed.parts
        return parts

    with ThreadPoolExecutor(3) as threads:
        rounds = [threads.submit(keep_on) for _ in range(3)]
        for number in range(60):
            put_segment(place, f"host-{number % 7}", BEGIN_US + number * 10 * MINUTE_US, resets=1)
        done.set()
        removed = sum(one.result() for one in rounds)
    removed += ingest(place).removed.parts
    assert (removed, counts(place)["segments"], counts(place)["events"]) == (60, 60, 60)


def test_only_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Elsewhere(tmp_path / "place")
    with claimed(place, 0) as claim:
        with pytest.raises(StoreHeldError, match="another ingest"):
            ingest(place, wait_seconds=0)
        claim.confirm()
    place.write("ingest/other-1-x.json", b"not JSON")
    with pytest.raises(StoreHeldError, match="other-1-x"):
        ingest(place, wait_seconds=0)
    monkeypatch.setattr(claim_module, "DEAD_SECONDS", -1)
    ingest(place, wait_seconds=0)  # that one is dead


def test_a_claim_that_others_held_for_dead_writes_no_index(tmp_path: Path) -> None:
    place = Elsewhere(tmp_path / "place")
    with claimed(place, 0) as claim:
        for stored in place.below("ingest/"):
            place.remove(stored.name)
        with pytest.raises(StoreError, match="taken over"):
            claim.confirm()


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda content: content[:-1], "damaged"),
        (lambda content: content.replace(b'"schema":1', b'"schema":2'), "newer"),
        (lambda content: content.replace(b'"host":"a"', b'"host":"b"'), "another host"),
        (lambda content: content.replace(b'"kind":"segment"', b'"kind":"poem"'), "unknown kind"),
        (lambda content: content.replace(b'"cores":4', b'"cores":"4"'), "cores cannot be '4'"),
        (lambda content: content.replace(b'"cores":4', b'"cores":true'), "cores cannot be 'True'"),
        (lambda content: content.replace(b'"samples":100', b'"samples":1e300'), "samples cannot be"),
        (lambda content: content.replace(b'"begin_us":1', b'"begin_us":-1'), "begin_us is no time"),
        (lambda content: content.replace(b'"begin_us":1', b'"begin_us":91'), "begin_us is no time"),
        (lambda content: content.replace(b'"boot_id"', b'"boat_id"'), "has no boot_id"),
        (lambda content: content.replace(b'"counts"', b'"county"'), "it has no 'counts'"),
        (lambda content: content.replace(b'"rule":"ena-reset"', b'"rule":"\\ud800"'), "rule cannot be"),
        (lambda content: content.replace(b'"stall_seconds":5.5', b'"stall_seconds":NaN'), "stall_seconds"),
        (lambda content: b"[" * 100000, ""),
        (lambda content: b"\xff\xfe", ""),
        (lambda content: b"[]", ""),
        (lambda content: b"{}", "it has no 'schema'"),
    ],
)
def test_what_is_no_part_is_told_and_stays(tmp_path: Path, spoil: object, why: str) -> None:
    place = Elsewhere(tmp_path / "place")
    name = put_segment(place, "a", resets=1)
    content = spoil(place.read(name))  # type: ignore[operator]
    assert content != place.read(name)
    place.remove(name)
    digest = "0" * 16 if why == "damaged" else hashlib.sha256(content).hexdigest()[:16]
    bad = f"{name[: -len('0' * 16 + '.json')]}{digest}.json"
    place.write(bad, content)
    put_segment(place, "good")
    done = ingest(place)
    assert list(done.rejected) == [bad]
    assert why in done.rejected[bad]
    assert (done.parts, counts(place)["segments"]) == (1, 1)
    assert inbox(place) == [bad]
    assert parse_index(place.read(INDEX) or b"").rejected == done.rejected
    place.remove(bad)
    ingest(place)
    assert not parse_index(place.read(INDEX) or b"").rejected


def test_names_that_are_none_are_told(tmp_path: Path) -> None:
    place = Elsewhere(tmp_path / "place")
    place.write("hosts/a/inbox/readme.txt", b"hello")
    place.write("hosts/a b/inbox/x-0123456789abcdef.json", b"{}")
    assert set(ingest(place).rejected.values()) == {"its name is not that of a part"}


@pytest.mark.parametrize("name", ["../../evil", "/etc/passwd", "a/../../b", ""])
def test_a_file_outside_of_its_segment_is_rejected(tmp_path: Path, name: str) -> None:
    place = Elsewhere(tmp_path / "place")
    put_files(place, "a", {name: b"x"})
    (why,) = ingest(place).rejected.values()
    assert "outside" in why


def test_facts_whose_sections_are_missing_or_damaged_wait_for_them(tmp_path: Path) -> None:
    place = Elsewhere(tmp_path / "place")
    put_facts(place, "a", labels=LABELS)
    (blob,) = [stored.name for stored in place.below("hosts/a/blobs/")]
    content = place.read(blob) or b""
    place.write(blob, content.replace(b"1a", b"1b"))
    assert "damaged" in next(iter(ingest(place).rejected.values()))
    place.remove(blob)
    assert "not there" in next(iter(ingest(place).rejected.values()))
    assert counts(place)["facts"] == 0
    place.write(blob, content)
    assert not ingest(place).rejected
    assert [(row["name"], row["value"]) for row in rows_of(place, "sections")] == [("zone", "us-east-1a")]


def test_a_section_that_is_known_is_not_read_again(tmp_path: Path) -> None:
    place = Elsewhere(tmp_path / "place")
    put_facts(place, "a", labels=LABELS, nothing={})
    ingest(place)
    put_facts(place, "b", labels=LABELS, nothing={})
    put_facts(place, "c", labels=LABELS, kernel={"release": "6.1"}, nothing={})
    known = {row["section_id"] for row in rows_of(place, "fact_sets")}
    for stored in list(place.below("hosts/")):
        if stored.name.rpartition("/")[2] in known:
            place.remove(stored.name)
    assert not ingest(place).rejected
    assert counts(place) == {
        "segments": 0,
        "events": 0,
        "facts": 3,
        "fact_sets": 5,
        "sections": 2,
        "files": 0,
    }


def test_many_files_of_facts_become_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(add_rows, "MOST_FILES", 3)
    place = Elsewhere(tmp_path / "place")
    for number in range(8):
        put_facts(place, "a", BEGIN_US + number, labels={"zone": str(number)})
        ingest(place)
        files = [file for file in parse_index(place.read(INDEX) or b"").files if file.table == "sections"]
        assert len(files) <= 3
        assert counts(place)["sections"] == counts(place)["fact_sets"] == number + 1


def test_many_parts_take_several_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inboxes, "PARTS_AT_ONCE", 3)
    place = Elsewhere(tmp_path / "place")
    truth = ship_some(place)
    told: list[tuple[int, int]] = []
    done = ingest(place, tell=lambda number, total: told.append((number, total)))
    assert told == [(3, 13), (6, 13), (9, 13), (12, 13), (13, 13)]
    assert (dict(done.added), counts(place), done.removed.parts) == (truth, truth, 13)


def test_an_empty_place(tmp_path: Path) -> None:
    place = Elsewhere(tmp_path / "place")
    done = ingest(place)
    assert (done.parts, done.added, done.made_anew) == (0, {}, False)
    assert place.read(INDEX) is None


def test_clocks_in_doubt_are_told(tmp_path: Path) -> None:
    place = Elsewhere(tmp_path / "place")
    put_segment(place, "fine")
    put_segment(place, "unsynchronised", synchronised=False)
    put_segment(place, "epoch", 10**6)
    put_segment(place, "future", 4_000_000_000 * 10**6)
    put_segment(place, "future", 4_000_003_600 * 10**6)
    done = ingest(place)
    assert done.odd_times == {"unsynchronised": 1, "epoch": 1, "future": 2}
    assert counts(place)["segments"] == 5, "they are kept in the hours they claim"

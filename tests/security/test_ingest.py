"""Attack: one host writes what stops `fleet ingest` or `fleet ship` for all, or fills memory."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from necroscope.errors import StoreError, StoreHeldError
from necroscope.fleet.place.canonical import canonical
from necroscope.fleet.place.folder import FolderPlace
from necroscope.fleet.ship.requests import read_requests
from necroscope.fleet.tables import inboxes, parts
from necroscope.fleet.tables import ingest as ingest_module
from necroscope.fleet.tables.index import INDEX, MAX_INDEX_BYTES
from necroscope.fleet.tables.ingest import ingest
from necroscope.fleet.tables.read_tables import read_tables
from necroscope.model.timestamp import HOUR_US
from tests.fleet.tables.shipped import BEGIN_US, put_facts, put_files, put_part, put_segment, rows_of


@pytest.fixture
def place(tmp_path: Path) -> FolderPlace:
    """A bucket in which a host that means well has a part that waits."""
    (tmp_path / "bucket").mkdir()
    place = FolderPlace(tmp_path / "bucket")
    put_segment(place, "good")
    return place


def put_forged(place: FolderPlace, change: dict[str, Any], **segment: Any) -> str:
    """A part of a segment by `evil` that differs from a true one."""
    name = put_segment(place, "evil", resets=1, **segment)
    document = json.loads(place.read(name) or b"")
    place.remove(name)
    for key, value in change.items():
        document[key] = {**document[key], **value} if isinstance(value, dict) else value
    content = canonical(document)
    name = f"hosts/evil/inbox/segment-forged-{hashlib.sha256(content).hexdigest()[:16]}.json"
    place.write(name, content)
    return name


def ingest_good(place: FolderPlace, bad: str = "") -> str:
    """Ingest twice: the good host's rows are there, and why the bad part is rejected comes back."""
    done = ingest(place)
    assert "good" in {row["host"] for row in rows_of(place, "segments")}
    assert ingest(place).rejected == done.rejected
    assert list(done.rejected) == ([bad] if bad else [])
    return done.rejected.get(bad, "")


def test_a_reason_does_not_fill_the_index(place: FolderPlace) -> None:
    name = put_forged(place, {"schema": "A" * (17 << 20)})
    assert len(ingest_good(place, name)) <= 200
    assert read_tables(place).index.of("segments", 0, BEGIN_US * 2)


def test_the_name_of_a_section_does_not_fill_the_index(place: FolderPlace) -> None:
    document = {"kind": "facts", "time_us": BEGIN_US, "sections": {"A" * (17 << 20): "0" * 64}}
    document["facts"] = hashlib.sha256(canonical(document["sections"])).hexdigest()
    name = put_part(place, "evil", "facts-1", document)
    assert len(ingest_good(place, name)) <= 200


def test_an_index_that_is_too_large_is_made_again(place: FolderPlace) -> None:
    ingest(place)
    with (place.root / INDEX).open("wb") as file:
        file.truncate(MAX_INDEX_BYTES + 1)
    assert ingest(place).made_anew
    assert [row["host"] for row in rows_of(place, "segments")] == ["good"]


def test_an_index_that_nobody_could_read_is_not_written(
    place: FolderPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(place)
    before = place.read(INDEX)
    put_segment(place, "good", BEGIN_US + HOUR_US)
    monkeypatch.setattr(ingest_module, "MAX_INDEX_BYTES", len(before or b""))
    with pytest.raises(StoreError, match="larger"):
        ingest(place)
    assert place.read(INDEX) == before


def test_a_whole_number_that_is_not_a_fraction(place: FolderPlace) -> None:
    event = {"id": "x", "kind": "nic-reset", "time_us": BEGIN_US, "time_ns": 1, "sequence": 0}
    put_forged(place, {"events": [{**event, "stall_seconds": 2**53 + 1, "seconds": 2**61}]})
    ingest_good(place)
    assert [row["stall_seconds"] for row in rows_of(place, "events")] == [2.0**53]


def test_a_value_that_no_table_takes(place: FolderPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should the checks ever let one through, only its part is rejected."""
    unchecked = tuple((name, lambda value: True) for name, _ in parts.CHECKS["segments"])
    monkeypatch.setitem(parts.CHECKS, "segments", unchecked)
    for value in ("many", 2**70):
        name = put_forged(place, {"segment": {"cores": value}})
        assert ingest_good(place, name)
        place.remove(name)


def test_a_host_speaks_only_of_itself(place: FolderPlace) -> None:
    put_forged(place, {"segment": {"host": "good"}})
    name = put_files(place, "evil", {})
    document = json.loads(place.read(name) or b"")
    place.remove(name)
    document["files"][0]["host"] = "good"
    put_part(place, "evil", "files-1", document)
    ingest_good(place)
    assert [row["host"] for row in rows_of(place, "segments")] == ["evil", "good"]
    assert [row["host"] for row in rows_of(place, "files")] == ["evil"]
    assert {row["host"] for row in rows_of(place, "events")} == {"evil"}


def test_facts_without_an_end_are_not_read(place: FolderPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MAX_FACTS", 1000)
    monkeypatch.setattr(inboxes, "MAX_FACTS", 1000)
    name, _ = put_facts(
        place, "evil", BEGIN_US, **{f"s{i}": dict.fromkeys(map(str, range(400)), "") for i in range(3)}
    )
    assert "more than 1,000 facts" in ingest_good(place, name)


def test_large_blobs_are_not_read(place: FolderPlace) -> None:
    """Each may be small enough; all of a host are bounded, and one that is too large stops nobody."""
    name, _ = put_facts(place, "evil", BEGIN_US, **{f"s{i}": {"a": str(i) * (7 << 20)} for i in range(3)})
    assert "larger" in ingest_good(place, name)
    for stored in list(place.below("hosts/evil/blobs/")):
        with (place.root / stored.name).open("wb") as file:
            file.truncate(1 << 40)
    assert "larger" in ingest_good(place, name)


def test_sections_without_an_end_are_not_read(place: FolderPlace) -> None:
    name, _ = put_facts(place, "evil", BEGIN_US, **{f"s{i}": {"a": str(i)} for i in range(101)})
    assert "100 sections" in ingest_good(place, name)


def test_what_takes_much_memory_waits_for_the_rest(
    place: FolderPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        put_facts(place, "evil", BEGIN_US + number, one={str(i): str(number) for i in range(200)})
    monkeypatch.setattr(inboxes, "HELD_AT_ONCE", 400_000)
    held: list[int] = []
    read_batch = inboxes.read_batch

    def counted(*given: Any) -> inboxes.Batch:
        batch = read_batch(*given)
        held.append(sum(map(len, batch.sections.values())))
        return batch

    monkeypatch.setattr(ingest_module, "read_batch", counted)
    told: list[tuple[int, int]] = []
    ingest(place, tell=lambda *done: told.append(done))
    assert sum(held) == 40 * 200 and max(held) <= (2 + ingest_module.READ_AT_ONCE) * 200
    assert told[-1] == (41, 41)
    assert len(rows_of(place, "facts")) == 40 and not list(place.below("hosts/evil/inbox/"))


def test_events_of_many_hours_are_not_one_segment(place: FolderPlace) -> None:
    event = {"id": "x", "kind": "nic-reset", "time_ns": 1, "sequence": 0}
    events = [{**event, "time_us": BEGIN_US + hour * HOUR_US} for hour in range(800)]
    name = put_forged(place, {"events": events})
    assert "is not of its segment" in ingest_good(place, name)
    place.remove(name)
    name = put_forged(place, {"events": events, "segment": {"end_us": BEGIN_US + 900 * HOUR_US}})
    assert "48 hours" in ingest_good(place, name)
    place.remove(name)
    name = put_forged(place, {"events": [events[0]] * (parts.MAX_ROWS + 1)})
    assert "100,000 rows" in ingest_good(place, name)


def test_files_of_a_segment_are_of_its_hour(place: FolderPlace) -> None:
    name = put_files(place, "evil", {str(number): b"" for number in range(100)})
    document = json.loads(place.read(name) or b"")
    place.remove(name)
    for number, file in enumerate(document["files"]):
        file["begin_us"] = BEGIN_US + number * HOUR_US
    put_part(place, "evil", "files-1", document)
    ingest_good(place)
    assert len(read_tables(place).index.of("files", 0, BEGIN_US * 2)) == 1


def test_hours_of_all_years_do_not_fill_the_index(
    place: FolderPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inboxes, "MAX_ODD_HOURS", 5)
    for number in range(20):
        put_segment(place, "evil", number * HOUR_US + 1)
    done = ingest(place)
    assert len(done.rejected) == 15 and all("last year" in why for why in done.rejected.values())
    assert len(read_tables(place).index.of("segments", 0, 20 * HOUR_US)) == 5
    assert "good" in {row["host"] for row in rows_of(place, "segments")}


def test_an_inbox_that_is_a_link_stops_nobody(place: FolderPlace, tmp_path: Path) -> None:
    (place.root / "hosts/evil").mkdir()
    (place.root / "hosts/evil/inbox").symlink_to(tmp_path)
    assert "link" in ingest_good(place, "hosts/evil/inbox/")


def test_folders_without_an_end_stop_nobody(place: FolderPlace) -> None:
    """Each level takes a descriptor while it is listed."""
    (place.root / "hosts/evil/inbox").mkdir(parents=True)
    folder = os.open(place.root / "hosts/evil/inbox", os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("x", dir_fd=folder)
        inner = os.open("x", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    try:
        ingest_good(place)
    finally:
        _remove_deep(place.root / "hosts/evil/inbox/x")


def _remove_deep(path: Path) -> None:
    """Pytest removes folders by recursion."""
    aside = path.parent.parent
    while (path / "x").exists():
        (path / "x").rename(aside / "next")
        path.rmdir()
        (aside / "next").rename(path)


def test_a_claim_of_brackets_is_a_claim(place: FolderPlace) -> None:
    place.write("ingest/x.json", b"[" * 200_000)
    with pytest.raises(StoreHeldError, match=r"ingest/x\.json"):
        ingest(place, wait_seconds=0)
    with (place.root / "ingest/x.json").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(StoreHeldError, match=r"ingest/x\.json"):
        ingest(place, wait_seconds=0)


@pytest.mark.parametrize("begin", ["1e999", "1.5", "-1", "true", '"1"', "9" * 30, "NaN", "[]"])
def test_a_request_that_is_none_stops_no_shipping(place: FolderPlace, begin: str) -> None:
    text = '{"schema":1,"begin_us":%s,"end_us":9007199254740993,"made_us":1}'
    place.write("hosts/victim/requests/x.json", (text % begin).encode())
    requests, refused = read_requests(place, "victim")
    assert (requests, len(refused)) == ([], 1)
    place.write("hosts/victim/requests/x.json", (text % 1).replace("9007199254740993", "2").encode())
    assert len(read_requests(place, "victim")[0]) == 1

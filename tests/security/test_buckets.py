"""Attack: another host that may write to the fleet's bucket plants links, pipes and endless objects in it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from necroscope.errors import PlaceError, StoreError
from necroscope.fleet.place.folder import FolderPlace
from necroscope.fleet.tables import parquet
from necroscope.fleet.tables.cache import Wanted, fetch_checked
from necroscope.fleet.tables.download_segments import bring_files
from necroscope.fleet.tables.index import DamagedIndexError, Index, TableFile, index_bytes, parse_index
from necroscope.fleet.tables.ingest import ingest
from necroscope.fleet.tables.read_tables import read_tables

NAME = "hosts/victim/inbox/part.json"
NAME_OF_TABLE = "tables/events/20261119T02-0123456789abcdef.parquet"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "part.json").write_bytes(b"secret")
    (folder / ".part.json.0.partial").write_bytes(b"not ours")
    os.utime(folder / ".part.json.0.partial", (0, 0))
    return folder


@pytest.fixture
def place(tmp_path: Path, elsewhere: Path) -> FolderPlace:
    """A bucket in which the inbox of a host leads elsewhere."""
    (tmp_path / "bucket/hosts/victim").mkdir(parents=True)
    (tmp_path / "bucket/hosts/victim/inbox").symlink_to(elsewhere)
    return FolderPlace(tmp_path / "bucket")


def test_no_link_in_a_bucket_is_followed(place: FolderPlace, elsewhere: Path, tmp_path: Path) -> None:
    attempts: list[Callable[[], object]] = [
        lambda: place.read(NAME),
        lambda: place.write(NAME, b"x"),
        lambda: place.write_file(NAME, Path(__file__)),
        lambda: place.fetch(NAME, tmp_path / "copy", 100),
        lambda: place.remove(NAME),
        lambda: place.size(NAME),
        lambda: list(place.below("hosts/victim/inbox/")),
        lambda: place.folders("hosts/victim/inbox/"),
    ]
    for attempt in attempts:
        with pytest.raises(PlaceError, match="link"):
            attempt()
    assert {path.name for path in elsewhere.iterdir()} == {"part.json", ".part.json.0.partial"}
    assert (elsewhere / "part.json").read_bytes() == b"secret"
    assert list(place.below("")) == []
    assert place.folders("hosts/victim/") == []


@pytest.mark.parametrize("plant", [os.mkfifo, lambda path: path.symlink_to("/etc/passwd")])
def test_nothing_but_files_is_opened(tmp_path: Path, plant: Callable[[Path], object]) -> None:
    (tmp_path / "hosts").mkdir()
    plant(tmp_path / "hosts/object")
    place = FolderPlace(tmp_path)
    assert list(place.below("")) == []
    assert place.size("hosts/object") is None
    for attempt in (
        lambda: place.read("hosts/object"),
        lambda: place.fetch("hosts/object", tmp_path / "c", 9),
    ):
        with pytest.raises(PlaceError):
            attempt()


def test_objects_without_an_end_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "hosts").mkdir()
    with (tmp_path / "hosts/object").open("wb") as file:
        file.truncate(1 << 40)
    place = FolderPlace(tmp_path)
    with pytest.raises(PlaceError, match="larger"):
        place.read("hosts/object", 1000)
    with pytest.raises(PlaceError, match="larger"):
        fetch_checked(place, Wanted("hosts/object", 1000, "0" * 64), tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hosts"]


def test_a_pipe_among_the_tables_does_not_block_a_question(tmp_path: Path) -> None:
    file = TableFile("events", "20261119T02", NAME_OF_TABLE, 1, 100, "0" * 64)
    (tmp_path / "tables/events").mkdir(parents=True)
    os.mkfifo(tmp_path / file.name)
    place = FolderPlace(tmp_path)
    place.write("index.json", index_bytes(Index(1, (file,))))
    with pytest.raises(StoreError, match="not there"):
        read_tables(place).bring([file])


HOUR = {
    "table": "events",
    "hour": "20261119T02",
    "name": NAME_OF_TABLE,
    "rows": 1,
    "bytes": 1,
    "sha256": "0" * 64,
}


def index_with(**changes: object) -> bytes:
    document = {"schema": 1, "made_us": 1, "rejected": {}, "replaced": {}, "files": [HOUR]}
    file = {**HOUR, **{name: changes.pop(name) for name in [*changes] if name in HOUR}}
    return json.dumps({**document, "files": [file], **changes}).encode()


@pytest.mark.parametrize(
    "changes",
    [
        {"sha256": "/etc/cron.d/root"},
        {"sha256": "../" * 21 + "a"},
        {"sha256": 7},
        {"hour": "../../x"},
        {"hour": "20261119T99"},
        {"rows": -1},
        {"bytes": 1 << 70},
        {"bytes": "9"},
        {"name": ["x"]},
        {"name": "tables/l*/a.parquet"},
        {"name": "tables/events/20261119T03-0123456789abcdef.parquet"},
        {"table": "even*", "name": NAME_OF_TABLE.replace("events", "even*")},
        {"bytes": (1 << 30) + 1},
        {"made_us": "now"},
        {"rejected": [1]},
        {"replaced": {"x": "y"}},
    ],
)
def test_an_index_leads_nowhere_else(tmp_path: Path, changes: dict[str, object]) -> None:
    """Its hashes become paths of the cache: root would make folders anywhere."""
    assert parse_index(index_with()).files[0].sha256 == "0" * 64
    place = FolderPlace(tmp_path)
    place.write("index.json", index_with(**changes))
    with pytest.raises(DamagedIndexError):
        read_tables(place)


def test_a_large_index_is_not_read(tmp_path: Path) -> None:
    """A list of empty lists takes twenty times as much memory as on disk."""
    place = FolderPlace(tmp_path)
    place.write("index.json", b"[" + b"[]," * (6 << 20) + b"[]]")
    with pytest.raises(PlaceError, match="larger"):
        read_tables(place)


def test_a_table_of_endless_equal_rows_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are all the same take next to nothing in a file."""
    monkeypatch.setattr(parquet, "MAX_BYTES", 1 << 20)
    rows = pa.table({"host": pa.array(["evil"] * 100_000)})
    content = io.BytesIO()
    pq.write_table(rows, content)
    assert len(content.getvalue()) < 10_000
    with pytest.raises(pa.ArrowException, match="100,000 rows"):
        parquet.decoded("segments", content.getvalue())


@pytest.mark.parametrize(
    "files",
    [
        [("segment.json", 1 << 60, "0" * 64)],
        [("segment.json", 10**6, "0" * 64), ("a", (1 << 30) - 10**5, "0" * 64)],
        [("segment.json", 10**6, "0" * 64), ("a", -1, "0" * 64)],
        [("segment.json", 10**6, "0" * 64), *((str(number), 1, "0" * 64) for number in range(1000))],
    ],
)
def test_a_segment_of_any_size_is_not_fetched(tmp_path: Path, files: list[tuple[str, int, str]]) -> None:
    class Watched(FolderPlace):
        def fetch(self, name: str, path: Path, max_bytes: int) -> bool:
            raise AssertionError(f"{name} is fetched")

    (tmp_path / "bucket/hosts/evil/blobs").mkdir(parents=True)
    place = Watched(tmp_path / "bucket")
    with pytest.raises(StoreError, match="is not fetched"):
        bring_files(place, "evil", "20261119T100000Z", files, tmp_path / "store")
    assert [path for path in (tmp_path / "store").rglob("*") if path.is_file()] == []


def test_a_table_behind_a_star_is_not_opened(tmp_path: Path) -> None:
    """DuckDB expands it, and follows a link to a folder that root alone may read."""
    (tmp_path / "secret").mkdir()
    place = FolderPlace(tmp_path / "bucket")
    (tmp_path / "bucket/tables/l*").mkdir(parents=True)
    (tmp_path / "bucket/tables/l*/a.parquet").write_bytes(b"")
    (tmp_path / "bucket/tables/lnk").symlink_to(tmp_path / "secret")
    pq.write_table(pa.table({"host": ["secret"]}), tmp_path / "secret/a.parquet")
    place.write("index.json", index_with(name="tables/l*/a.parquet"))
    with pytest.raises(DamagedIndexError):
        read_tables(place).paths("events")


def test_a_planted_table_does_not_keep_the_index_from_being_made(tmp_path: Path) -> None:
    (tmp_path / "tables/events").mkdir(parents=True)
    with (tmp_path / "tables/events/huge").open("wb") as file:
        file.truncate(1 << 40)
    assert ingest(FolderPlace(tmp_path)).made_anew


@pytest.mark.parametrize("option", ["--control", "--hosts"])
def test_a_pipe_for_a_list_of_hosts(tmp_path: Path, option: str) -> None:
    (tmp_path / "bucket").mkdir()
    os.mkfifo(tmp_path / "hosts")
    command = [sys.executable, "-m", "necroscope", "fleet", "fixed", "--fleet", str(tmp_path / "bucket")]
    command += ["--at", "1d", "--hosts", "a", option, str(tmp_path / "hosts")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (2, 3) and "Traceback" not in done.stderr

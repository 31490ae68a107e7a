"""Fifty recorders ship to one store for minutes, some are killed, and so is who ingests: counts are exact.

The recordings are built once and replayed under fifty names, a few more with every turn; everything that is
started is the real program, against a real S3, each host with credentials for its own prefix alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from necroscope.fleet.place.place import open_place
from necroscope.fleet.tables.cache import Cache
from necroscope.fleet.tables.read_tables import read_tables
from necroscope.model.timestamp import hour_of
from necroscope.sources.host import Host
from necroscope.store.store import StoredSegment
from necroscope.store.store_place import host_name
from tests.fleet.seaweed import ADMIN, Seaweed, host_identity, needs_seaweed, seaweed
from tests.fleet.ship.stores import add_segment

HOSTS = 50
WITH_FACTS = 5  # take the facts of this machine under another name, which takes longer
KILLED = 0.25  # of the runs
EVENTS = {2: "nic-reset", 5: "core-saturated", 6: "cgroup-leak"}  # by the number of the segment, of ten


@dataclass(slots=True)
class Recorder:
    """A host: what it has recorded comes from elsewhere, what it ships it ships itself."""

    name: str
    folder: Path
    recorded: list[StoredSegment]
    environment: dict[str, str]
    address: str
    has_facts: bool
    dice: random.Random
    turns: int = 0
    kills: int = 0

    def record(self, count: int) -> None:
        """A few more segments."""
        own = host_name(Host(Path("/"))) if self.has_facts else self.name
        parent = self.folder / "store" / own
        parent.mkdir(parents=True, exist_ok=True)
        for segment in self.recorded[self.turns * count : (self.turns + 1) * count]:
            made = parent / f".making-{segment.folder.name}"
            shutil.copytree(segment.folder, made)
            path = made / "segment.json"
            document = json.loads(path.read_text())
            document["host"]["hostname"] = own
            path.write_text(json.dumps(document))
            made.rename(parent / segment.folder.name)
        self.turns += 1

    def ship(self, *, may_be_killed: bool) -> int:
        """One run of the program; minus nine where it was killed."""
        config = self.folder / "config.toml"
        config.write_text(f'[fleet]\nname = "{self.name}"\n' if self.has_facts else "")
        words = [
            "ship",
            "--fleet",
            self.address,
            "--store",
            str(self.folder / "store"),
            "--config",
            str(config),
        ]
        words += [] if self.has_facts else ["--host", self.name]
        with started(words, self.environment) as process:
            if may_be_killed and self.dice.random() < KILLED:
                try:
                    process.wait(self.dice.uniform(0.2, 3))
                except subprocess.TimeoutExpired:
                    process.kill()
                    self.kills += 1
            return process.wait()


@contextmanager
def started(words: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """The program, which is ended with the test."""
    process = subprocess.Popen(
        [sys.executable, "-m", "necroscope", "fleet", *words],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def ingest_and_be_killed(
    words: list[str], environment: dict[str, str], seed: int, done: threading.Event
) -> int:
    """Ingest again and again, each time until it is killed; how often it was."""
    dice = random.Random(seed)
    kills = 0
    while not done.is_set():
        with started([*words, "--every", "1s"], environment) as process:
            if not done.wait(dice.uniform(2, 12)):
                kills += 1
            else:
                process.send_signal(signal.SIGTERM)
                process.wait(60)
    return kills


def live(recorder: Recorder, end: float, pause_seconds: float, count: int) -> None:
    """Record and ship until the end, then ship what is left, which must succeed."""
    time.sleep(recorder.dice.uniform(0, pause_seconds))
    code = -1
    while time.monotonic() < end and recorder.turns * count < len(recorder.recorded):
        recorder.record(count)
        code = recorder.ship(may_be_killed=True)
        time.sleep(recorder.dice.uniform(0.5, 1) * pause_seconds)
    assert code == 0 or recorder.ship(may_be_killed=False) == 0, recorder.name


def play(folder: Path, s3: Seaweed, seconds: float, pause_seconds: float, count: int) -> list[Recorder]:
    """All of it; the recorders come back with what they have shipped."""
    turns = int(seconds / (0.75 * pause_seconds)) + 1
    recorded = [
        add_segment(folder / "recorded", number - 60, EVENTS.get(number % 10, ""))
        for number in range(min(turns * count, 115))
    ]
    recorders = [
        Recorder(
            name,
            folder / name,
            recorded,
            {**os.environ, **s3.environment(name)},
            s3.address("fleet"),
            number < WITH_FACTS,
            random.Random(number),
        )
        for number, name in enumerate(names())
    ]
    done = threading.Event()
    words = ["ingest", "--fleet", s3.address("fleet")]
    environment = {**os.environ, **s3.environment(), "NECROSCOPE_FLEET_CACHE": str(folder / "cache")}
    end = time.monotonic() + seconds
    with ThreadPoolExecutor(HOSTS + 2) as threads:
        ingests = [threads.submit(ingest_and_be_killed, words, environment, n, done) for n in range(2)]
        try:
            lives = [threads.submit(live, one, end, pause_seconds, count) for one in recorders]
            for one in lives:
                one.result()
        finally:
            done.set()
        assert sum(one.result() for one in ingests) > 0
    assert sum(recorder.kills for recorder in recorders) > 0
    with started(words, environment) as process:
        assert process.wait(120) == 0
    return recorders


def names() -> list[str]:
    return [f"node-{number:02d}" for number in range(HOSTS)]


def check(folder: Path, s3: Seaweed, recorders: list[Recorder], count: int) -> None:
    """The tables against what was recorded."""
    place = open_place(s3.address("fleet"))
    objects = s3.objects("fleet")
    tables = read_tables(place, Cache(folder / "cache"))
    assert not [name for name in objects if "/inbox/" in name or name.startswith("ingest/")]
    assert not tables.index.rejected
    for file in tables.index.files:
        assert hashlib.sha256(objects[file.name]).hexdigest() == file.sha256
    truth = {
        (recorder.name, segment.folder.name): segment
        for recorder in recorders
        for segment in recorder.recorded[: recorder.turns * count]
    }
    assert len({host for host, _ in truth}) == HOSTS
    segments = all_rows(tables, "segments")
    assert Counter((row["host"], row["segment"]) for row in segments) == Counter(truth.keys())
    for row in segments:
        segment = truth[row["host"], row["segment"]]
        assert (row["begin_us"], row["end_us"]) == (segment.begin_ns // 1000, segment.end_ns // 1000)
    events = Counter((row["host"], row["segment"], row["kind"]) for row in all_rows(tables, "events"))
    assert events == Counter(
        (host, name, kind)
        for (host, name), segment in truth.items()
        for kind, number in (segment.description.events or {}).items()
        for _ in range(number)
    )
    assert sum(row["nic_reset"] for row in segments) == sum(
        number for (_, _, kind), number in events.items() if kind == "nic-reset"
    )
    check_hours(tables)
    check_files(tables, objects, events)
    hosts_with_facts = {row["host"] for row in all_rows(tables, "facts")}
    assert hosts_with_facts == {recorder.name for recorder in recorders if recorder.has_facts}


def check_hours(tables: Any) -> None:
    """Every file has the rows that the index says, all of them of its hour."""
    for file in tables.index.files:
        (path,) = tables.bring([file])
        rows = duckdb.read_parquet(str(path))
        assert len(rows) == file.rows
        for column in {"segments": "begin_us", "events": "time_us", "files": "begin_us"}.get(
            file.table, ""
        ).split():
            hours = {hour_of(time_us) for (time_us,) in rows.project(column).fetchall()}
            assert hours == {file.hour}


def check_files(tables: Any, objects: dict[str, bytes], events: Counter[tuple[str, str, str]]) -> None:
    """Every segment with a reset came whole."""
    files = all_rows(tables, "files")
    assert len({(row["host"], row["segment"], row["name"]) for row in files}) == len(files)
    for row in files:
        content = objects[f"hosts/{row['host']}/blobs/{row['sha256']}"]
        assert (len(content), hashlib.sha256(content).hexdigest()) == (row["bytes"], row["sha256"])
    whole = {(row["host"], row["segment"]) for row in files if row["name"] == "segment.json"}
    assert {(host, segment) for host, segment, kind in events if kind == "nic-reset"} <= whole


def all_rows(tables: Any, table: str) -> list[dict[str, Any]]:
    paths = [str(path) for path in tables.paths(table)]
    return duckdb.read_parquet(paths).to_arrow_table().to_pylist() if paths else []


def run(folder: Path, seconds: float, pause_seconds: float, count: int) -> None:
    identities = [ADMIN, *(host_identity(name) for name in names())]
    with seaweed(folder, identities) as s3, pytest.MonkeyPatch.context() as patch:
        for name, value in s3.environment().items():
            patch.setenv(name, value)
        s3.make_bucket("fleet")
        recorders = play(folder, s3, seconds, pause_seconds, count)
        check(folder, s3, recorders, count)


@needs_seaweed
@pytest.mark.servers
def test_fifty_recorders_are_counted_exactly(tmp_path: Path) -> None:
    run(tmp_path, seconds=20, pause_seconds=15, count=4)


@needs_seaweed
@pytest.mark.long
def test_fifty_recorders_for_ten_minutes(tmp_path: Path) -> None:
    run(tmp_path, seconds=600, pause_seconds=60, count=8)

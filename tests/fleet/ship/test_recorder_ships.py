"""A real recorder that ships: it tells how that goes, and nothing of it holds up the recording."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from tests.fleet.seaweed import WEED
from tests.fleet.ship.stores import objects_in
from tests.real.recorders import metrics, recording, segments_of, wait_until


def config(tmp_path: Path, place: str | Path, **more: str) -> Path:
    path = tmp_path / "config.toml"
    lines = [f'{name} = "{value}"' for name, value in {"place": str(place), "every": "5s", **more}.items()]
    path.write_text("\n".join(["[fleet]", *lines]))
    return path


def parts_in(place: Path) -> set[str]:
    return {name.rpartition("/")[2][:-22] for name in objects_in(place) if "/inbox/" in name}


def words(path: Path) -> tuple[str, ...]:
    return ("--rate", "0", "--segment", "2s", "--config", str(path), "--listen", "127.0.0.1:0")


def test_all_that_was_recorded_has_arrived_when_it_ends(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    path = config(tmp_path, place, name="node-1")
    with recording(tmp_path / "store", *words(path), samples=False) as one:
        wait_until(lambda: parts_in(place), 60, "the first parts")
        wait_until(lambda: metrics(one).get("necroscope_ship_sent_parts_total"), 30, "its metrics")
        seen = metrics(one)
        assert seen["necroscope_ship_waiting_parts"] == seen["necroscope_ship_errors_total"] == 0
        assert seen["necroscope_ship_seconds_since_success"] < 60
        code, body = one.end()
    assert code == 0
    assert (body["ship"]["error"], body["ship"]["waiting"]) == ("", 0)
    assert body["costs"]["shipping"]["cpu_seconds"] > 0
    sealed = {f"segment-{one.folder.name}-{one.boot_id[:8]}" for one in segments_of(tmp_path / "store")}
    parts = parts_in(place)
    assert {name for name in parts if name.startswith("segment-")} == sealed, "the last one too"
    assert any(name.startswith("facts-") for name in parts)
    assert {name.split("/")[1] for name in objects_in(place)} == {"node-1"}


def test_a_place_that_is_away_is_told_once(tmp_path: Path) -> None:
    place = tmp_path / "not mounted"
    path = config(tmp_path, place)
    with recording(tmp_path / "store", *words(path), samples=False) as one:
        one.wait_for("shipping: ", 60)
        assert f"shipping: {place} is not there" in one.said()
        wait_until(lambda: metrics(one).get("necroscope_ship_errors_total"), 30, "its metrics")
        assert metrics(one)["necroscope_recorder_moments_total"] > 1
        place.mkdir()
        code, body = one.end()
    said = one.said()
    assert (code, body["frames_dropped"]) == (0, 0)
    assert said.count("shipping: ") == 1, "and no last attempt after a failure"
    assert body["ship"]["waiting"] > 0
    assert not place.is_dir() or not objects_in(place)


@pytest.mark.servers
@pytest.mark.skipif(not WEED.exists(), reason="needs what the tests with servers need")
def test_a_place_that_takes_and_says_nothing_holds_up_nobody(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs pyarrow: make fleet")
    with socket.create_server(("127.0.0.1", 0), backlog=50) as silent:
        port = silent.getsockname()[1]
        path = config(tmp_path, f"s3://fleet?endpoint=http://127.0.0.1:{port}")
        with recording(tmp_path / "store", *words(path), samples=False) as one:
            wait_until(lambda: one.child("ship"), 60, "a child that ships")
            time.sleep(3)
            begin = time.monotonic()
            code, body = one.end()
    assert code == 0
    assert time.monotonic() - begin < 25, "the last attempt is bounded"
    assert body["frames_dropped"] == 0
    assert body["ship"]["sent"] == 0

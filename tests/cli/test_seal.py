"""seal as people run it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from necroscope.findings.node_state_json import parse_state
from necroscope.store.journal import LOCK
from necroscope.store.process_lock import LOCK_MODE, locked
from necroscope.store.segment import Moment
from tests.cli.conftest import Document, Run
from tests.cli.test_recorded_verbs import build
from tests.stored import BOOT_ID, open_segment, sealed_segment, seconds_of

MOMENTS = seconds_of(["idle"] * 20)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("stored") / "store")


@pytest.fixture
def damaged(built: Path, tmp_path: Path) -> Path:
    return shutil.copytree(built, tmp_path / "store")


def test_sealing_what_is_open_changes_nothing_that_is_shown(document: Document, damaged: Path) -> None:
    before = [document(verb, "--store", damaged) for verb in ("timeline", "events")]
    body = document("seal", "--store", damaged, exit_code=0)
    assert body["sealed"] == [str(damaged / "node-17/20260415T100100Z")]
    assert [document(verb, "--store", damaged) for verb in ("timeline", "events")] == before
    assert document("seal", "--store", damaged)["sealed"] == []


def test_sealing_makes_room_where_that_is_wanted(document: Document, damaged: Path) -> None:
    folder = damaged / "node-17/20260415T100100Z"
    body = document("seal", "--store", damaged, "--budget", "1", folder, exit_code=0)
    assert body["sealed"] == [str(folder)]
    assert list((damaged / "node-17").glob("2*")) == [folder], "the one that was open is not removed"
    assert body["store_bytes"] > 0


def test_one_that_is_being_written_does_not_hold_up_the_others(
    necroscope: Run, document: Document, tmp_path: Path
) -> None:
    busy = open_segment(tmp_path, MOMENTS[:6])
    left = open_segment(tmp_path, MOMENTS[5:])
    empty = open_segment(tmp_path, (), host="node-18")
    (damaged := tmp_path / "node-18/20260415T110000Z").mkdir()
    (damaged / "segment.json").write_text("{")
    with locked(busy.folder / LOCK, LOCK_MODE):
        body = document("seal", "--store", tmp_path, exit_code=0)
    assert (body["sealed"], body["removed"]) == ([str(left.folder)], [str(empty.folder)])
    assert sorted(one["folder"] for one in body["refused"]) == [str(busy.folder), str(damaged)]
    assert any("still being written" in one["what"] for one in body["refused"])
    done = necroscope("seal", "--store", tmp_path)
    assert done.stdout.startswith(f"sealed {busy.folder}\nrefused: {damaged}")


def test_one_that_is_named_and_refused_is_exit_2(necroscope: Run, document: Document, tmp_path: Path) -> None:
    busy, left = open_segment(tmp_path, MOMENTS[:6]), open_segment(tmp_path, MOMENTS[5:])
    with locked(busy.folder / LOCK, LOCK_MODE):
        body = document("seal", busy.folder, left.folder, exit_code=2)
        assert body["sealed"] == [str(left.folder)]
        assert [one["folder"] for one in body["refused"]] == [str(busy.folder)]
        body = document("seal", busy.folder, exit_code=2)
        assert "still being written" in body["error"]["what"], "the recorder reads it"


def test_room_is_made_for_every_host(document: Document, tmp_path: Path) -> None:
    for host in ("node-17", "node-18"):
        sealed_segment(tmp_path, MOMENTS[:6], host=host)
        open_segment(tmp_path, MOMENTS[5:], host=host)
    body = document("seal", "--store", tmp_path, "--budget", "1")
    assert len(body["sealed"]) == 2
    assert sorted(path.parent.name for path in tmp_path.glob("*/2*")) == ["node-17", "node-18"]


def test_sealing_also_says_what_is_wrong_now(document: Document, tmp_path: Path) -> None:
    sealed_segment(tmp_path, seconds_of(["system"] * 5 + ["idle"] * 15))
    folder = open_segment(tmp_path, later(20)).folder
    body = document("seal", "--examine", BOOT_ID, "--config", "/dev/null", folder, exit_code=0)
    state = parse_state(body["state"])
    assert [(one.id, one.subject) for one in state.findings] == [("core-saturated", "0")]
    assert "core-saturated" in state.checked and "state_error" not in body
    assert "state" not in document("seal", "--examine", BOOT_ID, folder), "nothing was sealed"


def test_of_another_boot_nothing_is_said(document: Document, tmp_path: Path) -> None:
    folder = open_segment(tmp_path, MOMENTS).folder
    body = document("seal", "--examine", "another", "--config", "/dev/null", folder, exit_code=0)
    assert body["sealed"] and "state" not in body and "state_error" not in body


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("a broken configuration", "there is no threshold 'core-saturated.secnods'"),
        ("a damaged segment", "20260415T100000Z/counters"),
        ("a mistake of ours", "ZeroDivisionError: division by zero"),
    ],
)
def test_sealing_does_not_fail_with_the_examination(
    document: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, told: str
) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[thresholds.core-saturated]\nsecnods = 3\n" if "configuration" in how else "")
    before = sealed_segment(tmp_path, MOMENTS[:6])
    if "damaged" in how:
        (before.folder / "counters/readings.parquet").write_bytes(b"PAR1")
    if "mistake" in how:
        monkeypatch.setattr("necroscope.findings.standing.read_memory", lambda *_: 1 / 0)
    folder = open_segment(tmp_path, later(6)).folder
    body = document("seal", "--examine", BOOT_ID, "--config", config, folder, exit_code=0)
    assert body["sealed"] == [str(folder)] and "state" not in body
    assert told in body["state_error"]


def later(second: int) -> list[Moment]:
    """Twenty idle seconds that begin so long after the first."""
    return [replace(moment, time_ns=moment.time_ns + second * 10**9) for moment in MOMENTS]
